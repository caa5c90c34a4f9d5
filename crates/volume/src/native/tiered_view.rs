//! Files whose body a rule sent to another tier, shown as the plain files that programs think they
//! are: the link in place gives identity and names, the body all the rest (see `tiers`).

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{AtFlags, Gid, OFlags, Statx, Uid, chownat};
use rustix::io::Errno;

use super::packed_file::PackedFile;
use super::{FileHandle, Native, Node, NodeDescriptor, Result};
use crate::tiers::{RemovalSlot, TieredFile, Tiers, is_trusted_link, merged_attributes};
use forebay_os::file_identity::{FileIdentity, device_number, statx_nofollow};

/// How often a name may be replaced while it is looked at, before the kernel is to ask again.
const REPLACEMENTS: u32 = 1000;

/// What a name leads to.
#[derive(Debug)]
pub(crate) struct ResolvedName {
    /// Attributes to show.
    pub(crate) stat: Statx,
    /// Set when the body is on a tier.
    pub(crate) placed: Option<Arc<TieredFile>>,
    /// Set when it is packed.
    pub(crate) packed: Option<Arc<PackedFile>>,
    /// Device and inode of what holds the bytes.
    pub(crate) body: (u64, u64),
}

/// A placed file that is about to lose its last name, and where that is noted.
#[derive(Debug)]
pub(super) struct PendingRemoval {
    placed: Arc<TieredFile>,
    slot: RemovalSlot,
}

impl ResolvedName {
    pub(crate) fn in_place(stat: Statx) -> ResolvedName {
        ResolvedName { stat, placed: None, packed: None, body: device_and_inode(&stat) }
    }
}

pub(super) fn device_and_inode(stat: &Statx) -> (u64, u64) {
    (device_number(stat), stat.stx_ino)
}

fn is_symlink(stat: &Statx) -> bool {
    u32::from(stat.stx_mode) & libc::S_IFMT == libc::S_IFLNK
}

impl Native {
    /// Gives the tiers to which rules send files of this directory.
    #[must_use]
    pub fn with_tiers(mut self, tiers: Option<Arc<Tiers>>) -> Native {
        self.tiers = tiers;
        self
    }

    pub(crate) fn tiers(&self) -> Option<&Arc<Tiers>> {
        self.tiers.as_ref()
    }

    /// What `name` leads to, a placed file as the plain file that it stands for.
    pub(crate) fn resolve_name(&self, dir: BorrowedFd<'_>, name: &CStr) -> Result<ResolvedName> {
        let mut stat = statx_nofollow(dir, name)?;
        let Some(tiers) = self.tiers.as_ref() else { return Ok(ResolvedName::in_place(stat)) };
        for _ in 0..REPLACEMENTS {
            let found = Some(&stat).filter(|stat| is_symlink(stat));
            let Some(placed) = found.and_then(|_| tiers.recognise_link(dir, name)) else {
                return Ok(ResolvedName::in_place(stat));
            };
            if let Some(body) =
                tiers.stat_data_file(&placed).ok().filter(|body| is_trusted_link(&stat, body))
            {
                placed.charged.store(body.stx_blocks * 512, Relaxed);
                placed.links.store(u64::from(stat.stx_nlink), Relaxed);
                let (body, stat) = (device_and_inode(&body), merged_attributes(&stat, &body));
                return Ok(ResolvedName {
                    stat,
                    placed: Some(Arc::new(placed)),
                    packed: None,
                    body,
                });
            }
            // With a file that is replaced its body goes. If the name still has the same link, its
            // body is gone or somebody else's, and a link that leads there is what is shown.
            let now = statx_nofollow(dir, name)?;
            if FileIdentity::from_statx(&now) == FileIdentity::from_statx(&stat) {
                return Ok(ResolvedName::in_place(stat));
            }
            stat = now;
        }
        Err(Errno::STALE)
    }

    /// The file type to show for a name in a directory listing.
    pub(crate) fn exposed_dirent_type(&self, dir: BorrowedFd<'_>, name: &CStr, kind: u32) -> u32 {
        let link = kind == libc::S_IFLNK >> 12;
        match self.tiers.as_ref().filter(|_| link).and_then(|tiers| tiers.recognise_link(dir, name))
        {
            Some(_) => libc::S_IFREG >> 12,
            None => kind,
        }
    }

    /// Attributes of a node as they are to be shown, given those of whatever holds its bytes.
    pub(crate) fn exposed_stat(&self, node: &Node, body: Statx) -> Statx {
        let mut stat = match node.placed.get() {
            Some(placed) => self.exposed_tiered_stat(node, &placed, body),
            None => body,
        };
        if let Some(folder) = node.folder.get() {
            stat = folder.exposed_stat(stat);
        }
        self.apply_backend_attributes(node, &mut stat, None);
        node.guise.apply_to(&mut stat);
        stat
    }

    fn exposed_tiered_stat(&self, node: &Node, placed: &TieredFile, body: Statx) -> Statx {
        if let Ok(link) = self.verify_link(node, placed) {
            return merged_attributes(&link, &body);
        }
        // It has no name any more.
        let (mut link, identity) = (body, node.identity());
        link.stx_ino = identity.inode;
        link.stx_dev_major = rustix::fs::major(identity.device);
        link.stx_dev_minor = rustix::fs::minor(identity.device);
        link.stx_nlink = placed.links.load(Relaxed) as u32;
        merged_attributes(&link, &body)
    }

    /// Attributes of a placed file that nobody has open, if its name still leads to it.
    pub(super) fn stat_tiered_file(&self, node: &Arc<Node>, placed: &TieredFile) -> Result<Statx> {
        let tiers = self.tiers.as_ref().ok_or(Errno::STALE)?;
        let link = self.verify_link(node, placed)?;
        let mut stat = merged_attributes(&link, &tiers.stat_data_file(placed)?);
        node.guise.apply_to(&mut stat);
        Ok(stat)
    }

    /// The link of a placed file, if its newest name still leads to it.
    fn verify_link(&self, node: &Node, placed: &TieredFile) -> Result<Statx> {
        let (parent, name) = node.newest_name().ok_or(Errno::STALE)?;
        let dir = self.dir_fd(parent)?;
        match statx_nofollow(dir.as_fd(), &name) {
            Ok(link) if FileIdentity::from_statx(&link) == node.identity() => {
                placed.links.store(u64::from(link.stx_nlink), Relaxed);
                Ok(link)
            }
            Ok(_) | Err(Errno::NOENT) => Err(Errno::STALE),
            Err(other) => Err(other),
        }
    }

    /// Opens the body of a placed file, as the caller.
    pub(super) fn open_data_file(
        &self,
        node: &Arc<Node>,
        placed: &TieredFile,
        flags: OFlags,
    ) -> Result<OwnedFd> {
        let tiers = self.tiers.as_ref().ok_or(Errno::STALE)?;
        self.verify_link(node, placed)?;
        self.with_free_descriptors(|| tiers.open_data_file(placed, flags))
    }

    /// A descriptor of a body, without rights.
    pub(super) fn data_file_descriptor(&self, placed: &TieredFile) -> Result<NodeDescriptor> {
        let tiers = self.tiers.as_ref().ok_or(Errno::STALE)?;
        self.with_free_descriptors(|| tiers.open_data_file(placed, OFlags::PATH))
            .map(NodeDescriptor::Fresh)
    }

    /// The placed file that is about to lose its last name at `name`, noted as such: it is for
    /// [`Self::finish_tiered_unlink`] or [`Self::cancel_tiered_unlink`] then.
    pub(super) fn begin_tiered_unlink(
        &self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        node: Option<&Arc<Node>>,
    ) -> Option<PendingRemoval> {
        let tiers = self.tiers.as_ref()?;
        let link = statx_nofollow(dir, name).ok().filter(is_symlink)?;
        let found = tiers.recognise_link(dir, name)?;
        let body = tiers.stat_data_file(&found).ok()?;
        if link.stx_nlink > 1 || !is_trusted_link(&link, &body) {
            return None;
        }
        let known = node.and_then(|node| node.placed.get());
        let placed = known.filter(|placed| placed.key == found.key).unwrap_or_else(|| {
            found.charged.store(body.stx_blocks * 512, Relaxed);
            Arc::new(found)
        });
        let slot = tiers.note_removal(&placed, self.credentials);
        Some(PendingRemoval { placed, slot })
    }

    /// The name could not be removed.
    pub(super) fn cancel_tiered_unlink(&self, body: &Option<PendingRemoval>) {
        if let (Some(tiers), Some(PendingRemoval { placed, slot })) = (&self.tiers, body) {
            tiers.cancel_removal(placed, *slot);
        }
    }

    /// Takes the body of a file away whose last name has just gone; `replaced` by another file.
    pub(super) fn finish_tiered_unlink(&self, body: PendingRemoval, replaced: bool) {
        if let Some(tiers) = &self.tiers {
            let placed = &*body.placed;
            // Whoever has it open sees a file without a name, also while its body is kept.
            placed.links.store(0, Relaxed);
            // The body is its owner's, who need not be the caller.
            self.credentials.revert();
            match replaced {
                true => tiers.retire_data_file(placed, boot_nanos()),
                false => tiers.remove_data_file(placed),
            }
        }
    }

    /// Removes bodies that were replaced long enough ago, and copies that nobody is given.
    pub(crate) fn remove_retired(&self) {
        if let Some(tiers) = &self.tiers {
            tiers.remove_retired(boot_nanos());
            tiers.sweep_copies();
        }
    }

    /// Gives the link to whom the body was given: who owns a file may rename and remove it in a
    /// directory with the sticky bit.
    ///
    /// # Errors
    /// The file system's in place: a link that is not the body's owner's stands for no body.
    pub(super) fn chown_link(&self, node: &Node, uid: Option<Uid>, gid: Option<Gid>) -> Result<()> {
        let Some(placed) = node.placed.get() else { return Ok(()) };
        if self.verify_link(node, &placed).is_ok()
            && let Some((parent, name)) = node.newest_name()
            && let Ok(dir) = self.dir_fd(parent)
        {
            self.credentials.revert();
            chownat(&dir, &name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// Counts what open placed files take, against the capacity of their tiers.
    pub(crate) fn charge_tier_usage(&self, handle: &FileHandle) {
        if let (Some(tiers), Some(placed)) = (&self.tiers, handle.node.placed.get())
            && handle.writes
            && let Ok(body) = statx_nofollow(handle.file.as_fd(), c"")
        {
            tiers.charge_bytes(&placed, body.stx_blocks * 512);
        }
    }
}

pub(super) fn boot_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    #[cfg(test)]
    let now = moved::CLOCK.get().unwrap_or(now);
    now
}

#[cfg(test)]
pub(super) mod moved {
    //! A clock that stands still for this thread until its test moves it.
    use std::cell::Cell;
    use std::time::Duration;

    thread_local!(pub(super) static CLOCK: Cell<Option<u64>> = const { Cell::new(None) });

    /// From now on it stands still.
    pub(in crate::native) fn stop() {
        CLOCK.set(Some(super::boot_nanos()));
    }

    /// So much time passes.
    pub(in crate::native) fn pass(time: Duration) {
        CLOCK.set(CLOCK.get().map(|now| now + time.as_nanos() as u64));
    }
}
