//! A run that is done again: its workload on the storage that it was on, or on other tiers.

use super::{Scenario, ScenarioChanges, read_rules, read_site, scenario_error};
use crate::exit::CommandError;
use crate::storages;
use forebay_model::workload::{Assumption, TimePart};
use forebay_model::{Rules, TierId};
use forebay_plan::{Choice, ForebayOverhead, choice};
use std::io::Read;
use std::path::Path;

/// Whether this is a run file, by its first bytes.
pub(super) fn is_run_file(path: &Path) -> bool {
    let mut first = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"SQLite format 3\0"
}

impl Scenario {
    /// What a run did, done again: on the storage that it was on, or on other tiers.
    pub(super) fn from_run(path: &Path, changes: &ScenarioChanges) -> Result<Self, CommandError> {
        let (learnt, fs_types) = storages::learn_from_run(path).map_err(scenario_error)?;
        let given = match &changes.site {
            Some(file) => read_site(file)?,
            None => learnt.fitted_site(),
        };
        let named = changes.project.as_ref().map(|name| TierId(name.clone()));
        let filled = storages::fill_site(given, &learnt, &fs_types, named);
        let Some(project) = filled.project else {
            return Err(scenario_error(
                "the run does not say how its storage behaved: name a tier, --project",
            ));
        };
        let rules = match &changes.rules {
            None => Rules::none(),
            Some(file) => read_rules(file, &filled.site)?,
        };
        let (site, mut workload) = (filled.site, learnt.workload);
        let note = |what| Assumption { what, share: 0.0, concerns: TimePart::Whole };
        workload.doubts.extend(filled.notes.into_iter().map(note));
        let Some(mut choice) = Choice::all_in_place(&site, &workload, project) else {
            return Err(scenario_error("the site file has no table [nodes]"));
        };
        choice.placements = choice::placements_by_rules(&rules, &workload);
        let remembers_answers = rules.has_metadata_cache();
        let own = Some(ForebayOverhead { remembers_answers, ..learnt.own });
        let mut scenario = Self { site, workload, choice, study: None, prices: None, own };
        scenario.apply_changes(changes)?;
        Ok(scenario)
    }
}
