//! What is shown: of which daemon, in which order, from which line on.

use forebay_volume::live::{FileStatus, LiveStatus};

use super::hosts::HostLoad;
use super::view::DaemonView;

/// In which order files are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum FileOrder {
    /// As the daemon has them: open ones first, then by bytes and opens.
    #[default]
    Hot,
    Opens,
    Name,
}

impl FileOrder {
    pub(super) const fn column_title(self) -> &'static str {
        match self {
            FileOrder::Hot => "file (hottest)",
            FileOrder::Opens => "file (most opens)",
            FileOrder::Name => "file (by name)",
        }
    }

    pub(super) const fn next_order(self) -> FileOrder {
        match self {
            FileOrder::Hot => FileOrder::Opens,
            FileOrder::Opens => FileOrder::Name,
            FileOrder::Name => FileOrder::Hot,
        }
    }

    pub(super) fn sort_files(self, files: &mut [FileStatus]) {
        match self {
            FileOrder::Hot => {}
            FileOrder::Opens => files.sort_by_key(|file| std::cmp::Reverse(file.opens)),
            FileOrder::Name => files.sort_by(|a, b| a.path.cmp(&b.path)),
        }
    }
}

/// What is shown.
#[derive(Debug)]
pub(super) struct DisplayState {
    pub(super) views: Vec<DaemonView>,
    /// Machines, this one first; empty: they were not looked at.
    pub(super) hosts: Vec<HostLoad>,
    pub(super) shown: usize,
    pub(super) sort: FileOrder,
    pub(super) scroll: usize,
    pub(super) help: bool,
    pub(super) colour: bool,
    /// Keys work.
    pub(super) keys: bool,
}

impl DisplayState {
    pub(super) fn new(views: Vec<DaemonView>, colour: bool) -> DisplayState {
        let (shown, sort, scroll) = (0, FileOrder::default(), 0);
        let hosts = Vec::new();
        DisplayState { views, hosts, shown, sort, scroll, help: false, colour, keys: false }
    }

    /// Takes in what daemons say now; those that are new come last.
    pub(super) fn update_views(&mut self, mut lives: Vec<LiveStatus>) {
        for view in &mut self.views {
            let at = lives.iter().position(|live| live.pid == view.now.pid);
            view.update_live(at.map(|at| lives.remove(at)));
        }
        self.views.extend(lives.into_iter().map(DaemonView::from_first_look));
    }
}
