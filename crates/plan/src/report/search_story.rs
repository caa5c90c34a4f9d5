//! What a search found, with all that is said about it: what a plan is told from.

use super::LearntFrom;
use crate::bound::LowerBounds;
use crate::search::{SearchRequest, SearchResult};
use crate::search_space::SearchSpace;
use crate::whole_folders::ProposedFolder;
use crate::{Cost, Outcome};
use forebay_model::{Site, Workload};

/// All that a plan is told from.
#[derive(Clone, Copy, Debug)]
pub struct ReportContext<'a> {
    /// The names of the runs, and of the site file.
    pub runs: &'a [String],
    /// The name of the site file.
    pub site_name: &'a str,
    /// The storages.
    pub site: &'a Site,
    /// The tasks.
    pub workload: &'a Workload,
    /// What could be chosen.
    pub space: &'a SearchSpace,
    /// Waits, for each class.
    pub bounds: &'a LowerBounds,
    /// What was wanted.
    pub wanted: SearchRequest,
    /// By which share one more run of the same may differ.
    pub scatter: f64,
    /// By which share the time may be wrong in which tasks compute.
    pub computing_error: f64,
    /// The run that the workload was learnt from.
    pub learnt_from: &'a LearntFrom,
    /// What was found.
    pub found: &'a SearchResult,
    /// Folders that the proposal has on a tier as a whole.
    pub whole_folders: &'a [ProposedFolder],
    /// What comes of the proposal, with its cost.
    pub chosen: (&'a Outcome, Option<&'a Cost>),
    /// What comes of everything as it is, if it can be.
    pub as_it_is: Option<(&'a Outcome, Option<&'a Cost>)>,
    /// What the prices are from.
    pub prices: Option<&'a str>,
}
