//! What a plan stands on: the workload of the runs, the site, the prices, and how sure all that is.

use std::path::Path;

use forebay_model::workload::{TimePart, Workload};
use forebay_model::{ConfigError, Prices, Site, TierId};
use forebay_plan::ForebayOverhead;
use forebay_plan::report::LearntFrom;

use super::runs::LearntRuns;
use super::{Args, NO_PLAN};
use crate::exit::CommandError;
use crate::storages::{FilledSite, fill_site, load_prices, measured_tier_id};

/// The error of a model about which nobody has a doubt.
const ERROR_MIN: f64 = 0.05;
/// On Fugaku a second pipeline of Genomon made each take 17 % more of the slots' time than alone:
/// what is not known of a storage under load is of that size.
const UNSEEN_LOAD: f64 = 0.17;

pub(super) struct PlanInputs {
    pub(super) workload: Workload,
    pub(super) site: Site,
    pub(super) project: TierId,
    pub(super) prices: Prices,
    /// By which share predictions may be wrong, compared with each other.
    pub(super) error: f64,
    /// By which share one more run may differ from those that there are.
    pub(super) scatter: f64,
    /// By which share the time may be wrong in which tasks compute.
    pub(super) computing_error: f64,
    /// How the run went.
    pub(super) learnt_from: LearntFrom,
    /// What Forebay costs where files are placed.
    pub(super) own: ForebayOverhead,
    /// Folders that may be on a tier as a whole.
    pub(super) emptied_folders: Vec<String>,
    /// Doubts beside the workload's.
    pub(super) notes: Vec<String>,
}

impl PlanInputs {
    pub(super) fn read_inputs(args: &Args) -> Result<Self, CommandError> {
        let site = read_site(&args.site)?;
        let LearntRuns { learnt, fs_types, scatter, told } =
            LearntRuns::learn_runs(&args.runs, site.nodes().map(|nodes| nodes.slots))?;
        let named = args.project.as_ref().map(|name| TierId(name.clone()));
        let filled = fill_site(site, &learnt, &fs_types, named);
        let FilledSite { site, project, mut notes } = filled;
        let project = project.ok_or_else(|| {
            CommandError::new(
                NO_PLAN,
                "the run does not say how its storage behaved, and no tier has a profile",
                "record it with `forebay run --trace every-read`, or give a tier of the site a profile",
            )
        })?;
        if site.tier(&project).is_none() {
            let known: Vec<&str> = site.tiers().map(|tier| tier.id.as_str()).collect();
            let (name, known) = (project.as_str(), known.join(", "));
            let message = format!("there is no tier {name:?}; there are {known}");
            return Err(CommandError::new(NO_PLAN, message, "name one of them with --project"));
        }
        let mut load = 0.0;
        if args.samples > 1 && project == measured_tier_id() {
            load = UNSEEN_LOAD;
            notes.push(
                "how the storage in place behaves under several pipelines, one run can't show"
                    .to_owned(),
            );
        }
        let squares = |part: TimePart| {
            let doubts = learnt.workload.doubts.iter().filter(move |doubt| doubt.concerns == part);
            doubts.map(|doubt| doubt.share.powi(2)).sum::<f64>()
        };
        notes.extend(told);
        Ok(Self {
            error: (squares(TimePart::Whole) + f64::powi(load, 2)).sqrt().max(ERROR_MIN),
            computing_error: squares(TimePart::Computing).sqrt(),
            scatter,
            learnt_from: LearntFrom::from_learnt(&learnt),
            own: learnt.own,
            emptied_folders: learnt.emptied_folders,
            workload: learnt.workload,
            site,
            project,
            prices: load_prices(args.prices.as_deref(), NO_PLAN)?,
            notes,
        })
    }
}

fn read_site(path: &Path) -> Result<Site, CommandError> {
    crate::placement::parse_site(&read_text(path)?, path).map_err(flaw_error)
}

fn flaw_error(flaw: ConfigError) -> CommandError {
    CommandError::new(NO_PLAN, flaw.to_string(), "`forebay manual formats` has all keys")
}

fn read_text(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandError::new(
            NO_PLAN,
            format!("{}: {error}", path.display()),
            "give the path of a file that is there",
        )
    })
}
