//! Bringing files home: when nobody uses a volume any more, each link is replaced by the file that
//! it stands for, or stays, or goes, as the rules say. Bytes first, names later: a body is removed
//! only after its bytes and its name are safe in place, so a kill or a power failure at any moment
//! leaves each file whole, at home or on its tier.

mod completeness_check;
mod final_action;
mod hard_links;
mod link_replacement;
mod litter;
mod packed;
mod packed_dirs;
mod packed_file;
mod packed_marks;
mod packed_names;
mod publishing;
pub(super) mod restored_times;
mod retained_files;
mod stray;
pub(super) mod tiered_links;
mod write_back_report;
mod write_back_totals;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use forebay_model::RunEndAction;
use rustix::fs::{Mode, OFlags, Statx, openat};

use super::arrivals::WriteBackJournal;
use super::publish::Publisher;
use super::walk::WalkMode;
use super::{LeftBehindFile, ProgressReporter, Tiers, staging_path, workers};
pub use completeness_check::{TierCheckReport, TierFinding, check_volume};
use link_replacement::LinkReplacement;
pub(crate) use packed_file::{UnnamedFile, make_packed_file};
use restored_times::RestoredTimes;
pub use stray::{StrayLinks, find_stray_links};
use tiered_links::LinkGroup;
pub use write_back_report::WriteBackOutcome;

/// Which files go home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteBackScope {
    /// As the rules say: the end of a run. Nothing is published of a run that did not succeed.
    Ruled {
        /// Its command succeeded.
        succeeded: bool,
    },
    /// All: `forebay restore`.
    All,
}

/// Brings files home below the covered directory, which must be seen bare. It was at `directory`.
pub fn write_back_files(
    directory: &Path,
    tiers: &Tiers,
    which: WriteBackScope,
    progress: &ProgressReporter<'_>,
) -> WriteBackOutcome {
    let mut done =
        WriteBackOutcome { unsynced: tiers.syncing.finish_all(), ..WriteBackOutcome::default() };
    tiers.end_cache();
    tiers.book.rewrite_if_removed(false);
    forebay_os::descriptors::raise_open_file_limit();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = match openat(tiers.book.root(), c".", flags, Mode::empty()) {
        Ok(root) => root,
        Err(error) => {
            done.left.push(LeftBehindFile { path: PathBuf::from("."), why: error.to_string() });
            return done;
        }
    };
    let mut work = WriteBackJob {
        tiers,
        root,
        done,
        batch: Vec::new(),
        bytes: 0,
        linked: BTreeSet::new(),
        times: RestoredTimes::default(),
        arrivals: WriteBackJournal::open(tiers.book.arrivals_path()),
        publisher: None,
        progress,
        workers: match forebay_os::file_systems::file_system_kind(tiers.book.root()) {
            Ok(kind) if kind.local => workers::NEAR,
            _ => workers::FAR,
        },
    };
    let bare = work.root.try_clone();
    if which == (WriteBackScope::Ruled { succeeded: true }) && tiers.has_publish_rules() {
        match &bare {
            Ok(bare) => work.publisher = Publisher::for_tiers(tiers, (bare, directory), progress),
            // Without it, what is to be published stays where it is.
            Err(error) => {
                work.done
                    .unpublished
                    .push(LeftBehindFile { path: ".".into(), why: error.to_string() });
            }
        }
    }
    work.done.withheld =
        which == WriteBackScope::Ruled { succeeded: false } && tiers.has_publish_rules();
    work.done.brought = tiers.written_back_counts();
    // Of those that are on their way there is no other name: before they go, that is noted.
    work.arrivals.old.extend(staging_path::remove_leftovers(work.root.as_fd()));
    work.settle_interrupted();
    let adopted = tiers.adopt_whole_folders(work.workers);
    work.done.discarded = adopted.discarded;
    work.done.left = adopted.left;
    let (mut closed, mut lost) = (Vec::new(), BTreeSet::new());
    let packed = work.packed_totals();
    // A walk over a million files is not for nothing; who restores wants to know of bodies that are gone.
    let has_looked = which == WriteBackScope::All || tiered_links::may_have_links(tiers);
    if has_looked {
        let found = tiered_links::find_tiered_links(&work.root, tiers, WalkMode::OpenUp);
        work.done.left.extend(found.left);
        closed = found.closed;
        for (left, room) in found.lost {
            work.done.lost.push(left);
            lost.insert(tiers.rooms[room].path.clone());
        }
        let sizes =
            found.groups.iter().filter_map(|group| tiers.stat_data_file(&group.placed).ok());
        let bytes: u64 = sizes.map(|body| body.stx_size).sum();
        progress.begin_phase(false, found.groups.len() as u64 + packed.0, bytes + packed.1);
        for group in found.groups {
            work.handle_group(group, which);
        }
        work.complete_batch();
    } else {
        progress.begin_phase(false, packed.0, packed.1);
    }
    work.write_back_packed(which);
    work.publish_in_place();
    work.remove_leftovers(closed.is_empty());
    work.find_unlinked_data_files(has_looked && closed.is_empty());
    if !work.done.nameless.is_empty() {
        work.done.left.append(&mut closed);
    }
    work.arrivals.remove_list();
    tiers.close_pack();
    tiers.book.close_tier_directories(work.done.left.is_empty(), &lost);
    work.done
}

struct WriteBackJob<'a> {
    tiers: &'a Tiers,
    root: OwnedFd,
    done: WriteBackOutcome,
    batch: Vec<LinkReplacement>,
    bytes: u64,
    /// Bodies to which a link still leads.
    linked: BTreeSet<(usize, CString)>,
    /// Those of directories that files come home to.
    times: RestoredTimes,
    arrivals: WriteBackJournal,
    progress: &'a ProgressReporter<'a>,
    /// Files that are copied and named at a time.
    workers: usize,
    /// Set while files are published, too.
    publisher: Option<Publisher<'a>>,
}

impl WriteBackJob<'_> {
    fn handle_group(&mut self, group: LinkGroup, which: WriteBackScope) {
        let body = match self.tiers.stat_data_file(&group.placed) {
            Ok(body) => body,
            Err(error) => return self.leave_group(&group, error),
        };
        let after = match which {
            WriteBackScope::All => RunEndAction::Restore,
            WriteBackScope::Ruled { succeeded } => {
                final_action::action_for_group(self.tiers, &group, succeeded)
            }
        };
        self.report_progress();
        match after {
            RunEndAction::Keep => {
                add_to_sum(&mut self.done.kept, &body);
                self.linked.insert((group.placed.room, group.placed.key));
            }
            _ if !group.has_all_names() => {
                self.leave_group(&group, "it has another name outside the directory");
            }
            RunEndAction::Discard => self.discard_group(&group, &body),
            RunEndAction::Restore => self.write_back_group(group, &body),
        }
    }
}

fn add_to_sum(sum: &mut (u64, u64), body: &Statx) {
    sum.0 += 1;
    sum.1 += body.stx_size;
}

/// The links of one body: inode number of each, and its names.
type LinksByInode = BTreeMap<u64, Vec<PathBuf>>;
