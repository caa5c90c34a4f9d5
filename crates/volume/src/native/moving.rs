//! A file changes its place while nobody uses it: its bytes are carried where its rule sends it
//! (`tiers::moving`), and one rename gives the new file the old one's name. To programs it stays the
//! file that it was, with its number.
//!
//! Whoever opens or changes the file meanwhile ends the move, which begins anew after the last
//! close. So a file is moved as it was when nobody had it open, or not at all.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{Mode, OFlags, Statx, ftruncate, openat};
use rustix::io::Errno;

use super::lease::{self, Leased};
use super::{Identity, Native, Node, Result, device_of, reopen, stat_of};
use crate::tiers::{Cargo, Carried, Goal, Passage, Placed, Tiers};

/// A move under way, as those who use the file know it.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The file that is read, with the lease.
    file: OwnedFd,
    leased: bool,
    ended: AtomicBool,
}

impl Ticket {
    /// Somebody uses the file: the move ends, and nobody waits for it.
    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
        if self.leased {
            lease::give_up(self.file.as_fd());
        }
    }

    /// Whether nobody has come, from inside or outside.
    fn is_good(&self) -> bool {
        if self.leased && !lease::is_kept(self.file.as_fd()) {
            self.end();
        }
        !self.ended.load(Relaxed)
    }
}

/// A file that is being moved.
#[derive(Debug)]
pub(crate) struct Moving {
    node: Arc<Node>,
    parent: u64,
    pub(crate) cargo: Cargo,
    ticket: Arc<Ticket>,
}

/// A file that has moved, and what is to go when its name is safe.
#[derive(Debug)]
pub(crate) struct Moved {
    /// Its directory.
    pub(crate) dir: Arc<OwnedFd>,
    pub(crate) safe: bool,
    from: Option<Arc<Placed>>,
    to: Option<Arc<Placed>>,
    ticket: Arc<Ticket>,
    bytes: u64,
}

/// What came of the wish to move a file.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is where it belongs, or has to stay; or the last who closes it will ask again.
    No,
    /// Somebody uses it.
    Later,
    /// On its way.
    Yes(Box<Moving>),
}

impl Native {
    /// Begins to move a file, if its rule sends it elsewhere and nobody uses it.
    ///
    /// # Errors
    /// Its file systems'.
    pub(crate) fn begin_move(&self, id: u64) -> Result<Begun> {
        let (Some(tiers), Ok(node)) = (&self.tiers, self.node(id)) else { return Ok(Begun::No) };
        let Some((parent, name)) = node.name() else { return Ok(Begun::No) };
        let Some(_alone) = self.still.alone(id, parent) else { return Ok(Begun::Later) };
        if node.name().as_ref() != Some(&(parent, name.clone())) {
            return Ok(Begun::Later);
        }
        let mut open = node.open.lock();
        let special = node.kind == libc::S_IFDIR || node.packed.get().is_some();
        if special || open.shared.is_open() || node.foreign.load(Relaxed) {
            return Ok(Begun::No);
        }
        let placed = node.placed.get();
        let path = self.path_of(&node);
        let Some((goal, safe)) = tiers.goal(&path, placed.as_deref()) else { return Ok(Begun::No) };
        let dir = self.dir_fd(parent)?;
        if !self.may_move(&node, dir.as_fd(), &name)? || self.posix_locks.has(id) {
            return Ok(Begun::No);
        }
        let (file, mode) = match &placed {
            Some(placed) if !tiers.is_synced(placed) => return Ok(Begun::Later),
            Some(placed) => Cargo::body(tiers, placed)?,
            None => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = self.with_room(|| openat(&dir, &name, flags, Mode::empty()))?;
                let mode = u32::from(stat_of(file.as_fd(), c"")?.stx_mode) & 0o7777;
                (file, mode)
            }
        };
        let leased = match lease::alone(file.as_fd()) {
            Leased::Alone => true,
            Leased::Busy => return Ok(Begun::Later),
            // Without passthrough nobody inside has a mapping that we do not know of. But nothing
            // tells of those outside who write a file in place.
            Leased::Unknown if self.passthrough.load(Relaxed) || placed.is_none() => {
                return Ok(Begun::No);
            }
            Leased::Unknown => false,
        };
        if leased && goal == Goal::Place {
            lease::let_readers(file.as_fd());
        }
        let stat = stat_of(file.as_fd(), c"")?;
        let held = self.with_room(|| rustix::io::fcntl_dupfd_cloexec(&file, 0))?;
        let ticket = Arc::new(Ticket { file: held, leased, ended: AtomicBool::new(false) });
        open.moving = Some(Arc::clone(&ticket));
        drop(open);
        let cargo = Cargo { file, stat, mode, path, name, from: placed, goal, safe };
        Ok(Begun::Yes(Box::new(Moving { node, parent, cargo, ticket })))
    }

    /// Whether a file is what we know under its name, and has no other.
    fn may_move(
        &self,
        node: &Node,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &std::ffi::CStr,
    ) -> Result<bool> {
        let up = stat_of(dir, c"")?;
        let here = stat_of(dir, name)?;
        let kind = u32::from(here.stx_mode) & libc::S_IFMT;
        let wanted = if node.placed.is_some() { libc::S_IFLNK } else { libc::S_IFREG };
        let place = node.place.lock();
        Ok(Identity::of(&here) == node.identity()
            && kind == wanted
            && here.stx_nlink == 1
            && place.names.len() == 1
            && place.pin.is_none()
            // The way home does not enter other parts of a file system.
            && device_of(&up) == self.table.device()
            && !super::placing::inherits_list(dir))
    }

    /// Carries the bytes. `over`: nothing is to be begun or gone on with any more.
    ///
    /// # Errors
    /// The file systems'; ECANCELED when somebody uses the file.
    pub(crate) fn carry(
        tiers: &Tiers,
        passage: &Passage,
        moving: &Moving,
        over: &dyn Fn() -> bool,
    ) -> Result<Carried> {
        let step = |_| match moving.ticket.is_good() && !over() {
            true => Ok(()),
            false => Err(Errno::CANCELED),
        };
        tiers.carry(passage, &moving.cargo, &step)
    }

    /// Gives what was carried the name of the file, in one step for whoever looks.
    ///
    /// # Errors
    /// ECANCELED when somebody uses the file or has changed it; else the file system's. What was
    /// carried is gone then.
    pub(crate) fn land(
        &self,
        passage: &Passage,
        moving: &Moving,
        carried: &Carried,
    ) -> Result<Moved> {
        let tiers = self.tiers.as_ref().ok_or(Errno::STALE)?;
        let done = self.try_land(tiers, passage, moving, carried);
        if done.is_err() {
            tiers.drop_carried(passage, carried);
        }
        done
    }

    fn try_land(
        &self,
        tiers: &Tiers,
        passage: &Passage,
        moving: &Moving,
        carried: &Carried,
    ) -> Result<Moved> {
        let Moving { node, parent, cargo, ticket } = moving;
        let to = tiers.identity_of(passage, carried)?;
        let _alone = self.still.alone(node.id, *parent).ok_or(Errno::CANCELED)?;
        // From the rename on until the table knows of it, nobody is to think that it was made outside.
        let _naming = self.naming.read_recursive();
        let mut open = node.open.lock();
        let mine = open.moving.take().is_some_and(|now| Arc::ptr_eq(&now, ticket));
        if !mine || open.shared.is_open() || !ticket.is_good() {
            return Err(Errno::CANCELED);
        }
        let dir = self.dir_fd(*parent)?;
        let same_name = node.name().as_ref() == Some(&(*parent, cargo.name.clone()));
        let now = stat_of(ticket.file.as_fd(), c"")?;
        if !same_name
            || self.path_of(node) != cargo.path
            || !self.may_move(node, dir.as_fd(), &cargo.name)?
            || !is_same(&cargo.stat, &now)
            || ticket.leased && lease::alone(ticket.file.as_fd()) != Leased::Alone
        {
            return Err(Errno::CANCELED);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let was = self.with_room(|| openat(&dir, &cargo.name, flags, Mode::empty()));
        tiers.forget_copy(node.identity());
        let placed = tiers.name_carried(passage, carried, dir.as_fd(), &cargo.name)?.map(Arc::new);
        node.placed.set(placed.clone());
        if self.table.moved(node, to)
            && let Ok(was) = was
        {
            self.table.keep_number(node, was);
        }
        open.fresh = None;
        Ok(Moved {
            dir,
            safe: cargo.safe || cargo.from.is_none(),
            from: cargo.from.clone(),
            to: placed,
            ticket: Arc::clone(ticket),
            bytes: cargo.stat.stx_size,
        })
    }

    /// The new name is safe: what the file was before goes.
    pub(crate) fn leave_behind(&self, moved: &Moved) {
        let Some(tiers) = &self.tiers else { return };
        match &moved.from {
            Some(from) => tiers.leave_behind(from, moved.to.as_deref(), moved.bytes),
            None => {
                // Its inode is kept for its number, and not for its bytes. Nobody else has it open:
                // the lease says so still.
                let kept = moved.ticket.file.as_fd();
                let path = super::proc_path(kept);
                let _ = rustix::fs::chmodat(
                    rustix::fs::CWD,
                    path,
                    Mode::RUSR | Mode::WUSR,
                    rustix::fs::AtFlags::empty(),
                );
                lease::give_up(kept);
                if let Ok(file) = reopen(kept, OFlags::WRONLY | OFlags::NONBLOCK) {
                    let _ = ftruncate(file, 0);
                }
            }
        }
    }

    /// A move has come to nothing.
    pub(super) fn end_move(&self, moving: &Moving) {
        moving.ticket.end();
        let mut open = moving.node.open.lock();
        if open.moving.as_ref().is_some_and(|now| Arc::ptr_eq(now, &moving.ticket)) {
            open.moving = None;
        }
    }

    /// Somebody is about to use a file, or to change it: it does not move now.
    pub(crate) fn disturb(&self, node: &Node) {
        if let Some(ticket) = node.open.lock().moving.take() {
            ticket.end();
        }
    }
}

/// Whether nothing of a file has changed.
fn is_same(before: &Statx, now: &Statx) -> bool {
    let key = |stat: &Statx| {
        let (m, c) = (&stat.stx_mtime, &stat.stx_ctime);
        let links = u64::from(stat.stx_nlink);
        (stat.stx_size, links, m.tv_sec, m.tv_nsec, c.tv_sec, c.tv_nsec)
    };
    key(before) == key(now)
}

impl Moving {
    /// The file, for a message.
    pub(super) fn path(&self) -> String {
        self.cargo.shown()
    }
}

impl Moved {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
pub(super) mod tests;
