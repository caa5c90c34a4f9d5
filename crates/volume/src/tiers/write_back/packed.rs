//! Bringing packed files home: each becomes a plain file in place, whole under its name or not there
//! at all, and leaves the pack when it is safe.

use std::ffi::CString;
use std::path::PathBuf;

use forebay_model::RunEndAction;
use rustix::fs::syncfs;
use rustix::io::Errno;

use super::packed_file::make_under_all_names;
use super::packed_names::{PackedFileName, PackedFiles};
use super::{LeftBehindFile, WriteBackJob, WriteBackScope, final_action};
use crate::tiers::lent_permissions::lend_permissions_on_path;
use crate::tiers::workers::{FAR, interleave_by_key, run_in_parallel};
use forebay_packlog::{DirKey, Pack};

/// Files that are made safe together.
const BATCH: usize = 2048;
/// Files that are made before the next ones are looked at.
const WAVE: usize = 256;

/// A name of a packed file that is at home, or must not be any more: its directory need not be open.
pub(super) struct SettledName {
    dir: DirKey,
    name: CString,
    ino: u64,
    bytes: u64,
    path: PathBuf,
}

impl SettledName {
    pub(super) fn from_name(name: &PackedFileName) -> SettledName {
        let (ino, bytes) = (name.found.ino, name.found.attr.size);
        SettledName { dir: name.place.key, name: name.name.clone(), ino, bytes, path: name.path() }
    }
}

impl WriteBackJob<'_> {
    /// Brings all packed files home that are to come.
    pub(super) fn write_back_packed(&mut self, which: WriteBackScope) {
        let tiers = self.tiers;
        let Some(pack) = tiers.pack() else { return };
        let mut files = PackedFiles::for_pack(pack, self);
        let (mut wave, mut batch) = (Vec::new(), Vec::new());
        while let Some(names) = files.next_file(self) {
            self.report_progress();
            let Some(ino) = names.first().map(|name| name.found.ino) else { continue };
            let after = match which {
                WriteBackScope::All => RunEndAction::Restore,
                WriteBackScope::Ruled { succeeded } => final_action::action_for_packed(
                    tiers,
                    ino,
                    names.iter().map(PackedFileName::path),
                    succeeded,
                ),
            };
            let Some(first) = names.first() else { continue };
            let size = first.found.attr.size;
            match after {
                RunEndAction::Keep => {
                    self.publish_packed(pack, &names, false);
                    self.done.kept.0 += 1;
                    self.done.kept.1 += size;
                }
                // Published is its only copy then; if that failed, it stays for the next run.
                RunEndAction::Discard if !self.publish_packed(pack, &names, true) => {}
                RunEndAction::Discard => {
                    remove_from_pack(
                        pack,
                        &names.iter().map(SettledName::from_name).collect::<Vec<_>>(),
                    );
                    self.done.discarded.0 += 1;
                    self.done.discarded.1 += size;
                }
                RunEndAction::Restore => {
                    for name in &names {
                        self.times.remember_stat(&name.place.path, &name.place.stat);
                    }
                    wave.push(names);
                    if wave.len() >= WAVE {
                        self.make_files_in_parallel(pack, &mut wave, &mut batch);
                    }
                    if batch.len() >= BATCH {
                        self.finish_packed_batch(pack, &mut batch);
                    }
                }
            }
        }
        self.make_files_in_parallel(pack, &mut wave, &mut batch);
        self.finish_packed_batch(pack, &mut batch);
        self.times.restore_times(&self.root);
    }

    /// Makes files under all their names, several at a time.
    fn make_files_in_parallel(
        &mut self,
        pack: &Pack,
        wave: &mut Vec<Vec<PackedFileName>>,
        batch: &mut Vec<Vec<SettledName>>,
    ) {
        interleave_by_key(wave, |names| names.first().map(|name| name.place.key));
        let made = run_in_parallel(FAR, wave, |names, _| make_under_all_names(pack, names), |_| ());
        for (names, made) in wave.drain(..).zip(made) {
            // Directories that are closed to writers are opened for one file after the other.
            let made = match made {
                Err(Errno::ACCESS) => {
                    let up = |name: &PackedFileName| {
                        (
                            lend_permissions_on_path(&self.root, &name.path()),
                            name.place.lend_permissions(),
                        )
                    };
                    let _opened: Vec<_> = names.iter().map(up).collect();
                    make_under_all_names(pack, &names)
                }
                made => made,
            };
            match (made, names.first()) {
                (Ok(()), _) => batch.push(names.iter().map(SettledName::from_name).collect()),
                (Err(Errno::EXIST), Some(first)) => {
                    self.leave_packed(first.path(), "another file has its name in place");
                }
                (Err(error), Some(first)) => self.leave_packed(first.path(), error),
                (Err(_), None) => {}
            }
        }
    }

    /// Makes a batch safe, then lets the pack forget it.
    fn finish_packed_batch(&mut self, pack: &Pack, batch: &mut Vec<Vec<SettledName>>) {
        let safe = batch.is_empty() || syncfs(&self.root).is_ok();
        for names in batch.drain(..) {
            let Some(first) = names.first() else { continue };
            if safe {
                self.done.brought.0 += 1;
                self.done.brought.1 += first.bytes;
                remove_from_pack(pack, &names);
                self.report_progress();
            } else {
                let path = first.path.clone();
                self.leave_packed(path, "the file system in place could not make it safe");
            }
        }
    }

    fn leave_packed(&mut self, path: PathBuf, why: impl ToString) {
        self.done.left.push(LeftBehindFile { path, why: why.to_string() });
    }
}

/// Removes a file from the pack.
pub(super) fn remove_from_pack(pack: &Pack, names: &[SettledName]) {
    for name in names {
        pack.remove_written_back_name(name.dir, name.name.to_bytes());
        pack.forget_inode(name.ino);
    }
}
