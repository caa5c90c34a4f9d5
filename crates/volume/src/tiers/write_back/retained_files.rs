//! Files that do not come home: those that go, and those that have to stay where they are.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Statx, unlinkat};
use rustix::io::Errno;

use super::tiered_links::LinkGroup;
use super::{LeftBehindFile, WriteBackJob, add_to_sum};
use crate::tiers::TieredFile;
use crate::tiers::beneath::open_parent;
use crate::tiers::lent_permissions::lend_permissions_on_path;
use crate::tiers::publish::PublishSource;

impl WriteBackJob<'_> {
    /// The only copy that stays is the published one.
    pub(super) fn discard_group(&mut self, group: &LinkGroup, body: &Statx) {
        let from = PublishSource::Body(self.tiers, &group.placed);
        if !self.publish_before_discard(group.link_paths().map(PathBuf::as_path), &from, body) {
            self.linked.insert((group.placed.room, group.placed.key.clone()));
            return;
        }
        let mut gone = true;
        for path in group.link_paths() {
            gone &= match self.remove_name(path) {
                Err(Errno::ACCESS) => {
                    let _opened = lend_permissions_on_path(&self.root, path);
                    self.remove_name(path).is_ok()
                }
                done => done.is_ok(),
            };
        }
        if gone {
            self.tiers.remove_data_file(&group.placed);
            add_to_sum(&mut self.done.discarded, body);
        } else {
            self.leave_group(group, "it could not be removed");
        }
    }

    fn remove_name(&self, path: &Path) -> Result<(), Errno> {
        let (dir, name) = open_parent(&self.root, path)?;
        unlinkat(&dir, name, AtFlags::empty())
    }

    pub(super) fn leave_group(&mut self, group: &LinkGroup, why: impl ToString) {
        self.leave_file(group.first_path(), &group.placed, why);
    }

    pub(super) fn leave_file(&mut self, path: &Path, placed: &TieredFile, why: impl ToString) {
        self.done.left.push(LeftBehindFile { path: path.to_owned(), why: why.to_string() });
        self.linked.insert((placed.room, placed.key.clone()));
    }
}
