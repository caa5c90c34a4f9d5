//! Packed names and files in place that were about to replace each other when a run or a homecoming
//! was killed. Which of the two counts is told by the file in place, so it is looked at before any
//! file comes home: one that does is another file from then on.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, Statx, syncfs, unlinkat};

use super::packed::{SettledName, remove_from_pack};
use super::packed_dirs::{self, OpenedDirectory};
use super::packed_names::PackedFileName;
use super::{WriteBackJob, tiered_links};
use crate::tiers::walk::WalkMode;
use crate::tiers::{TierDirectory, is_trusted_link};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::DirKey;

impl WriteBackJob<'_> {
    /// Ends what was cut short, and takes away the bodies that were replaced before.
    pub(super) fn settle_interrupted(&self) {
        let yielded = self.settle_marked_names(tiered_links::may_have_links(self.tiers));
        // What replaced them is safe before they go.
        if syncfs(&self.root).is_err() {
            return;
        }
        self.tiers.rooms.iter().for_each(TierDirectory::remove_retired);
        if let Some(pack) = self.tiers.pack() {
            remove_from_pack(pack, &yielded);
        }
    }

    /// The packed names that files in place have now. A link that a packed name was to replace goes.
    fn settle_marked_names(&self, links: bool) -> Vec<SettledName> {
        let Some(pack) = self.tiers.pack() else { return Vec::new() };
        let dirs = pack.list_marked_names(links);
        if dirs.is_empty() {
            return Vec::new();
        }
        let places = packed_dirs::find_in_place(&self.root, &dirs, WalkMode::OpenUp);
        let mut yielded = Vec::new();
        for dir in &dirs {
            let place = places.get(&dir.key);
            let place = place.and_then(|path| OpenedDirectory::open(&self.root, path, dir.key));
            let Some(place) = place else { continue };
            for bytes in &dir.names {
                let Some(found) = pack.lookup_name(dir.key, bytes) else { continue };
                let Ok(name) = CString::new(&**bytes) else { continue };
                let Ok(there) = statx_nofollow(place.fd.as_fd(), &name) else { continue };
                let key = Some(DirKey::from_statx(&there));
                if [found.yields, found.lands].contains(&key) {
                    yielded.push(SettledName::from_name(&PackedFileName {
                        place: Arc::clone(&place),
                        name,
                        found,
                    }));
                } else if links && found.over == key {
                    self.remove_hidden(&place, &name, &there);
                }
            }
        }
        yielded
    }

    /// Removes a link of ours, and its body when that is safe. A plain file is replaced by the
    /// packed one when that comes home.
    fn remove_hidden(&self, place: &OpenedDirectory, name: &CStr, link: &Statx) {
        let Some(placed) = self.tiers.recognise_link(place.fd.as_fd(), name) else { return };
        let Ok(body) = self.tiers.stat_data_file(&placed) else { return };
        if !is_trusted_link(link, &body) {
            return;
        }
        let _opened = place.lend_permissions();
        match unlinkat(&place.fd, name, AtFlags::empty()) {
            // It had another name: that one leads there still.
            Ok(()) if link.stx_nlink > 1 => {}
            Ok(()) => self.tiers.retire_data_file(&placed, 0),
            Err(error) => {
                let path: PathBuf = place.path.join(OsStr::from_bytes(name.to_bytes()));
                tracing::warn!("{}: what was replaced stays there: {error}", path.display());
            }
        }
    }
}

#[cfg(test)]
mod tests;
