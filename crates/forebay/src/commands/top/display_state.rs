//! What is shown: of which daemon, in which order, from which line on.

use forebay_volume::live::{FileNow, Live};

use super::hosts::Host;
use super::view::View;

/// In which order files are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// As the daemon has them: open ones first, then by bytes and opens.
    #[default]
    Hot,
    Opens,
    Name,
}

impl Sort {
    pub(super) const fn column_title(self) -> &'static str {
        match self {
            Sort::Hot => "file (hottest)",
            Sort::Opens => "file (most opens)",
            Sort::Name => "file (by name)",
        }
    }

    pub(super) const fn next_order(self) -> Sort {
        match self {
            Sort::Hot => Sort::Opens,
            Sort::Opens => Sort::Name,
            Sort::Name => Sort::Hot,
        }
    }

    pub(super) fn sort_files(self, files: &mut [FileNow]) {
        match self {
            Sort::Hot => {}
            Sort::Opens => files.sort_by_key(|file| std::cmp::Reverse(file.opens)),
            Sort::Name => files.sort_by(|a, b| a.path.cmp(&b.path)),
        }
    }
}

/// What is shown.
#[derive(Debug)]
pub(super) struct State {
    pub(super) views: Vec<View>,
    /// Machines, this one first; empty: they were not looked at.
    pub(super) hosts: Vec<Host>,
    pub(super) shown: usize,
    pub(super) sort: Sort,
    pub(super) scroll: usize,
    pub(super) help: bool,
    pub(super) colour: bool,
    /// Keys work.
    pub(super) keys: bool,
}

impl State {
    pub(super) fn new(views: Vec<View>, colour: bool) -> State {
        let (shown, sort, scroll) = (0, Sort::default(), 0);
        let hosts = Vec::new();
        State { views, hosts, shown, sort, scroll, help: false, colour, keys: false }
    }

    /// Takes in what daemons say now; those that are new come last.
    pub(super) fn update_views(&mut self, mut lives: Vec<Live>) {
        for view in &mut self.views {
            let at = lives.iter().position(|live| live.pid == view.now.pid);
            view.update_live(at.map(|at| lives.remove(at)));
        }
        self.views.extend(lives.into_iter().map(View::from_first_look));
    }
}
