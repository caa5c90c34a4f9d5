//! What there is to do, wherever it is to be done.

use super::{read_text, rerun_scenario, scenario_error};
use crate::exit::CommandError;
use crate::storages;
use forebay_model::Workload;
use std::path::Path;

/// The workload of a run, of a study's folder, or of a workload file.
pub(crate) fn read_workload(path: &Path) -> Result<Workload, CommandError> {
    if rerun_scenario::is_run_file(path) {
        return storages::learn_from_run(path)
            .map(|(learnt, _)| learnt.workload)
            .map_err(scenario_error);
    }
    let file = if path.is_dir() { path.join("workload.toml") } else { path.to_owned() };
    Workload::parse(&read_text(&file)?, &file.display().to_string()).map_err(scenario_error)
}
