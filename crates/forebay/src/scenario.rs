//! What is to be simulated, from files: a study's folder, a workload with a site and
//! rules, or a run that is done again.

mod rerun_scenario;
mod workload_input;

pub(crate) use workload_input::read_workload;

use clap::value_parser;

use crate::exit::CommandError;
use crate::placement;
use forebay_model::{ConfigError, Prices, Rules, Seconds, Site, Study, TierId, Workload};
use forebay_plan::{Choice, ForebayOverhead, POLICIES, Policy, PolicyId, choice};
use std::path::{Path, PathBuf};

/// A workload on a site, and how it is run.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) site: Site,
    pub(crate) workload: Workload,
    pub(crate) choice: Choice,
    /// The study that it is of.
    pub(crate) study: Option<Study>,
    /// Its own price sheet.
    pub(crate) prices: Option<Prices>,
    /// What Forebay costs where rules put files elsewhere: known of a run that Forebay recorded. In
    /// a study something else may have moved the files.
    pub(crate) own: Option<ForebayOverhead>,
}

/// What differs from what the files say.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ScenarioChanges {
    /// The site: tiers with their profiles, and nodes
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::site_file())]
    pub(crate) site: Option<PathBuf>,
    /// Where files live
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::rules_file())]
    pub(crate) rules: Option<PathBuf>,
    /// What there is to do, other than the study's own workload
    #[arg(long, value_name = "FILE")]
    pub(crate) workload: Option<PathBuf>,
    /// The tier where the project's directory is
    #[arg(long, value_name = "TIER")]
    pub(crate) project: Option<String>,
    /// Which waiting task gets a free slot: fifo, low-priority, capacity, reserve,
    /// backfill or locality
    #[arg(long)]
    pub(crate) policy: Option<String>,
    /// A kind of task that the policy lets wait for all others (may be given several times)
    #[arg(long, value_name = "TASK")]
    pub(crate) low: Vec<String>,
    /// How many times the workload runs at once
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) pipelines: Option<u32>,
    /// From the start of one to that of the next, such as 5m
    #[arg(long, value_name = "TIME")]
    pub(crate) stagger: Option<Seconds>,
    /// Nodes that are used
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) nodes: Option<u32>,
}

const NEXT: &str = "`forebay manual formats` describes sites, rules, workloads and studies";

fn scenario_error(message: impl ToString) -> CommandError {
    CommandError::new(1, message.to_string(), NEXT)
}

fn read_text(path: &Path) -> Result<String, CommandError> {
    let read = std::fs::read(path)
        .map_err(|error| scenario_error(format!("cannot read {}: {error}", path.display())))?;
    String::from_utf8(read).map_err(|_| scenario_error(format!("{} is no text", path.display())))
}

fn read_site(path: &Path) -> Result<Site, CommandError> {
    placement::parse_site(&read_text(path)?, path).map_err(flaw_error)
}

fn read_rules(path: &Path, site: &Site) -> Result<Rules, CommandError> {
    let rules =
        Rules::parse(&read_text(path)?, &path.display().to_string(), site).map_err(flaw_error)?;
    placement::note_old_names(rules.old_names());
    Ok(rules)
}

fn read_prices(path: &Path) -> Result<Prices, CommandError> {
    Prices::parse(&read_text(path)?, &path.display().to_string()).map_err(flaw_error)
}

fn flaw_error(flaw: ConfigError) -> CommandError {
    scenario_error(flaw)
}

impl Scenario {
    /// Reads what is at `path`, with changes.
    pub(crate) fn from_path(path: &Path, changes: &ScenarioChanges) -> Result<Self, CommandError> {
        if rerun_scenario::is_run_file(path) {
            return Self::from_run(path, changes);
        }
        let folder = path.is_dir().then(|| path.to_owned());
        let study = match &folder {
            None => None,
            Some(folder) => {
                let file = folder.join("study.toml");
                let study = Study::parse(&read_text(&file)?, &file.display().to_string());
                Some(study.map_err(flaw_error)?)
            }
        };
        let in_folder = |name: &str| folder.as_ref().map(|folder| folder.join(name));
        let workload = read_workload(changes.workload.as_deref().unwrap_or(path))?;
        let Some(file) = changes.site.clone().or_else(|| in_folder("site.toml")) else {
            return Err(scenario_error("a workload is simulated on a site: name one with --site"));
        };
        let site = read_site(&file)?;
        let named = study.as_ref().and_then(|study| study.rules.as_deref()).and_then(in_folder);
        let rules = match changes.rules.clone().or(named) {
            None => Rules::none(),
            Some(file) => read_rules(&file, &site)?,
        };
        let sheet = study.as_ref().and_then(|study| study.prices.as_deref()).and_then(in_folder);
        let prices = sheet.map(|file| read_prices(&file)).transpose()?;
        let project = project_tier(&site, changes, study.as_ref())?;
        let Some(mut choice) = Choice::all_in_place(&site, &workload, project) else {
            return Err(scenario_error("the site file has no table [nodes]"));
        };
        choice.placements = choice::placements_by_rules(&rules, &workload);
        let mut scenario = Self { site, workload, choice, study, prices, own: None };
        if let Some(study) = scenario.study.clone() {
            scenario.choice.policy = find_policy(&study.policy)?;
            scenario.choice.stagger = study.stagger;
            scenario.choice.pipelines = study.pipelines;
            scenario.set_low_priority(&study.low)?;
        }
        scenario.apply_changes(changes)?;
        Ok(scenario)
    }

    fn apply_changes(&mut self, changes: &ScenarioChanges) -> Result<(), CommandError> {
        if let Some(name) = &changes.policy {
            self.choice.policy = find_policy(name)?;
        }
        if !changes.low.is_empty() {
            self.set_low_priority(&changes.low)?;
        }
        self.choice.pipelines = changes.pipelines.unwrap_or(self.choice.pipelines);
        self.choice.stagger = changes.stagger.unwrap_or(self.choice.stagger);
        self.choice.nodes = changes.nodes.unwrap_or(self.choice.nodes);
        Ok(())
    }

    fn set_low_priority(&mut self, names: &[String]) -> Result<(), CommandError> {
        let kinds = &self.workload.kinds;
        let find = |name: &String| {
            let place = kinds.iter().position(|kind| kind.name == *name);
            let place = place.map(|place| forebay_model::workload::TaskKindId(place as u32));
            place.ok_or_else(|| scenario_error(format!("the workload has no task {name:?}")))
        };
        self.choice.low = names.iter().map(find).collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// The policy of this name.
fn find_policy(name: &str) -> Result<PolicyId, CommandError> {
    Policy::find_by_name(name).map(Policy::id).ok_or_else(|| {
        let all = POLICIES.iter().map(|policy| format!("{}: {}", policy.name, policy.about));
        let all: Vec<String> = all.collect();
        CommandError::new(2, format!("there is no policy {name:?}"), all.join("; "))
    })
}

/// Where the project is: as asked, as the study says, or the only tier.
fn project_tier(
    site: &Site,
    changes: &ScenarioChanges,
    study: Option<&Study>,
) -> Result<TierId, CommandError> {
    if let Some(name) = changes.project.as_ref().or(study.map(|study| &study.project)) {
        return Ok(TierId(name.clone()));
    }
    let whole: Vec<&TierId> =
        site.tiers().filter(|tier| tier.pool_of.is_none()).map(|tier| &tier.id).collect();
    match whole[..] {
        [only] => Ok(only.clone()),
        _ => Err(scenario_error(
            "the site has several tiers: say with --project on which the project is",
        )),
    }
}
