//! Opening a pack that was in use when its run was killed, or the power failed.

use std::collections::BTreeSet;

use super::pack_index::{ContentLocation, Inode};
use super::record::{Attr, Record, Time};
use super::{Pack, Result};

impl Pack {
    /// Takes in what was in working files when a run was killed. After a power failure they may
    /// hold anything, so what the log says stands.
    pub(super) fn recover_after_kill(&self, same_life: bool) -> Result<()> {
        let open: Vec<(u64, u64)> = {
            let mut state = self.state.lock();
            if !same_life {
                state.index.drop_previous_boot_state();
            }
            let all = state.index.inodes.iter();
            all.filter_map(|(ino, inode)| Some((ino, inode.work?))).collect()
        };
        for (ino, number) in open {
            if let Ok(work) = self.works.open(number) {
                // On a full tier the working file keeps the bytes.
                let _ = self.commit_content(ino, &work, false);
            }
        }
        let used = self.measure_data_files()?;
        let mut state = self.state.lock();
        let nameless: Vec<u64> =
            state.index.inodes.iter().filter(|(_, i)| i.links == 0).map(|(ino, _)| ino).collect();
        for ino in nameless {
            state.index.forget_inode(ino);
        }
        drop(state);
        // What the log has dropped may go only when that is safe.
        self.state.lock().log.disk.sync_data()?;
        // Nor may a log come back that was replaced just before a kill: it would name them.
        self.ground.sync_directory()?;
        self.works.remove_all_except(&used)?;
        // Last: what was done so far must not be taken for this life's, should it be cut short.
        let mut state = self.state.lock();
        if state.write_record(&Record::Begin { boot: self.world.boot }, &[]).is_err() {
            // A full tier: what is there can still be read and written back.
            state.index.boot = self.world.boot;
            state.begin_due = true;
        }
        Ok(())
    }

    /// Bodies are written in place, so the log may know an older size of them. Tells which there
    /// are.
    fn measure_data_files(&self) -> Result<BTreeSet<u64>> {
        let state = self.state.lock();
        let named = state.index.inodes.iter().filter(|(_, inode)| inode.links > 0);
        let body = |(ino, inode): (u64, &Inode)| match inode.bytes {
            ContentLocation::Body { work } => Some((ino, work, inode.attr)),
            _ => None,
        };
        let bodies: Vec<(u64, u64, Attr)> = named.filter_map(body).collect();
        drop(state);
        for (ino, number, attr) in &bodies {
            let Ok(work) = self.works.open(*number) else { continue };
            let stat = forebay_os::file_identity::statx_nofollow(
                std::os::fd::AsFd::as_fd(&work.file),
                c"",
            )?;
            if (stat.stx_size, Time::from_timestamp(&stat.stx_mtime)) != (attr.size, attr.mtime) {
                // As above: it is its body that is read.
                let _ = self.commit_content(*ino, &work, false);
            }
        }
        let works =
            self.state.lock().index.inodes.values().filter_map(|inode| inode.work).collect();
        let works: Vec<u64> = works;
        Ok(bodies.into_iter().map(|(_, number, _)| number).chain(works).collect())
    }
}
