//! What a plan stands on: the workload of the runs, the site, the prices, and how sure all that is.

use std::path::Path;

use forebay_model::workload::Workload;
use forebay_model::{Flaw, Prices, Site, TierId};
use forebay_plan::Learnt;

use super::{Args, NO_PLAN};
use crate::exit::Stop;
use crate::storages::{Filled, fill, learnt, measured, own_prices};

/// The error of a model about which nobody has a doubt.
const ERROR_MIN: f64 = 0.05;
/// By which share one more run differs at least, on machines that others use, too: runs in a row
/// may agree better, those of another hour did not (rnaSPAdes, 8.4 to 11.5 s).
const SCATTER_MIN: f64 = 0.1;
/// Standard deviation over range for 2 to 6 values of a normal distribution (1 over the d2 of
/// control charts; W. A. Shewhart).
const OF_RANGE: [f64; 5] = [0.886, 0.591, 0.486, 0.430, 0.395];
/// Nine of ten values are within so many standard deviations.
const NINE_OF_TEN: f64 = 1.645;
/// On Fugaku a second pipeline of Genomon made each take 17 % more of the slots' time than alone:
/// what is not known of a storage under load is of that size.
const UNSEEN_LOAD: f64 = 0.17;

pub(super) struct Ground {
    pub(super) workload: Workload,
    pub(super) site: Site,
    pub(super) project: TierId,
    pub(super) prices: Prices,
    /// By which share predictions may be wrong, compared with each other.
    pub(super) error: f64,
    /// By which share one more run may differ from those that there are.
    pub(super) scatter: f64,
    /// Of the tasks' time in the run, the part that was seen to be waits for storage, 0 to 1.
    pub(super) waits_known: f64,
    /// Doubts beside the workload's.
    pub(super) notes: Vec<String>,
}

impl Ground {
    pub(super) fn read(args: &Args) -> Result<Self, Stop> {
        let (learnt, fs_types, scatter) = workload(args)?;
        let named = args.project.as_ref().map(|name| TierId(name.clone()));
        let filled = fill(site(&args.site)?, &learnt, &fs_types, named);
        let Filled { site, project, mut notes } = filled;
        let project = project.ok_or_else(|| {
            Stop::new(
                NO_PLAN,
                "the run does not say how its storage behaved, and no tier has a profile",
                "record it with `forebay run --trace every-read`, or give a tier of the site a profile",
            )
        })?;
        if site.tier(&project).is_none() {
            let known: Vec<&str> = site.tiers().map(|tier| tier.id.as_str()).collect();
            let (name, known) = (project.as_str(), known.join(", "));
            let message = format!("there is no tier {name:?}; there are {known}");
            return Err(Stop::new(NO_PLAN, message, "name one of them with --project"));
        }
        let mut load = 0.0;
        if args.samples > 1 && project == measured() {
            load = UNSEEN_LOAD;
            notes.push(
                "how the storage in place behaves under several pipelines, one run can't show"
                    .to_owned(),
            );
        }
        let squares: f64 = learnt.workload.doubts.iter().map(|doubt| doubt.share.powi(2)).sum();
        notes.push(match scatter {
            None => {
                "one run does not show by how much runs differ: several can be given".to_owned()
            }
            Some(share) => {
                format!("as the runs differ, one more may be {:.0} % off", share * 100.0)
            }
        });
        Ok(Self {
            error: (squares + f64::powi(load, 2)).sqrt().max(ERROR_MIN),
            scatter: scatter.unwrap_or(0.0).max(SCATTER_MIN),
            waits_known: learnt.measured.waited_share,
            workload: learnt.workload,
            site,
            project,
            prices: prices(args.prices.as_deref())?,
            notes,
        })
    }
}

/// Learns all runs; the middle one, its file systems, and by which share one more may differ from
/// it, which a single run does not show.
fn workload(args: &Args) -> Result<(Learnt, Vec<String>, Option<f64>), Stop> {
    let mut all = Vec::new();
    for path in &args.runs {
        let hint = "`forebay run -o FILE -- COMMAND` makes a run file";
        let stop = |error: String| Stop::new(NO_PLAN, error, hint);
        all.push(learnt(path).map_err(stop)?);
    }
    let time = |one: &(Learnt, Vec<String>)| one.0.measured.makespan.get();
    all.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let (first, last) = (all.first().map_or(0.0, time), all.last().map_or(0.0, time));
    let count = all.len();
    let (learnt, types) = all.swap_remove(count / 2);
    let middle = learnt.measured.makespan.get();
    let scatter = (count > 1 && middle > 0.0).then(|| {
        let deviation = OF_RANGE[(count - 2).min(OF_RANGE.len() - 1)] * (last - first);
        NINE_OF_TEN * deviation * (1.0 + 1.0 / count as f64).sqrt() / middle
    });
    Ok((learnt, types, scatter))
}

fn site(path: &Path) -> Result<Site, Stop> {
    let variable = |name: &str| std::env::var(name).ok();
    let source = path.display().to_string();
    Site::parse(&read(path)?, &source, &variable).map_err(wrong)
}

fn prices(path: Option<&Path>) -> Result<Prices, Stop> {
    match path {
        Some(path) => Prices::parse(&read(path)?, &path.display().to_string()).map_err(wrong),
        None => own_prices().map_err(wrong),
    }
}

fn wrong(flaw: Flaw) -> Stop {
    Stop::new(NO_PLAN, flaw.to_string(), "FORMATS.md has all keys")
}

fn read(path: &Path) -> Result<String, Stop> {
    std::fs::read_to_string(path).map_err(|error| {
        Stop::new(
            NO_PLAN,
            format!("{}: {error}", path.display()),
            "give the path of a file that is there",
        )
    })
}
