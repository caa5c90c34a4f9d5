//! What there is to do, wherever it is to be done.

use super::{learnt, stop, text};
use crate::exit::Stop;
use crate::storages;
use forebay_model::Workload;
use std::path::Path;

/// The workload of a run, of a study's folder, or of a workload file.
pub(crate) fn workload(path: &Path) -> Result<Workload, Stop> {
    if learnt::is_run(path) {
        return storages::learnt(path).map(|(learnt, _)| learnt.workload).map_err(stop);
    }
    let file = if path.is_dir() { path.join("workload.toml") } else { path.to_owned() };
    Workload::parse(&text(&file)?, &file.display().to_string()).map_err(stop)
}
