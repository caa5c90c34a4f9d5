//! Looking: names, attributes, listings.

use std::time::Duration;

use forebay_book::{Entry, EntryName, FileBytes, FileKind, FileRecord, FolderId, InodeNumber};
use parking_lot::MutexGuard;
use rustix::io::Errno;

use super::asking::Source;
use super::names::{ListedName, Seen};
use super::state::{File, Stage, State, root_record};
use super::times::times_of;
use super::{Deadline, SharedNode, TRUST};
use crate::Result;
use crate::messages::{Answer, Question};

/// How long attributes of a folder that another node holds may be believed: so long that one walk
/// along a path asks for them once.
const TRUST_OF_FOLDERS: Duration = Duration::from_millis(5);

/// Where a folder's names are known.
enum Knows {
    /// Here; and how long what is told of them may be believed.
    Here(Duration),
    /// Elsewhere.
    Elsewhere,
}

impl SharedNode {
    /// Where a name leads; `None`: nowhere. Who is told has to say when it forgets the file
    /// ([`SharedNode::forget`]).
    ///
    /// # Errors
    /// ESTALE: there is no such folder. ETIMEDOUT, EIO: who knows does not answer.
    pub fn look_up(&self, folder: FolderId, name: &EntryName) -> Result<Option<Seen>> {
        let deadline = self.deadline(self.patience());
        let mut state = self.state.lock();
        loop {
            if let Knows::Here(trust) = self.who_knows(&mut state, folder, deadline)? {
                let Some(number) = state.held(folder)?.names.get(name).copied() else {
                    return Ok(None);
                };
                let Some(file) = state.files.get_mut(&number) else {
                    tracing::warn!(
                        "folder {folder} has a name for file {number}, which is not known"
                    );
                    return Err(Errno::IO);
                };
                file.kernel += 1;
                return Ok(Some(self.seen(&state, number, trust)?));
            }
            drop(state);
            let asked = self.ask_for_name(folder, name)?;
            state = self.state.lock();
            let Some(found) = asked else { continue };
            let Some((record, is_known)) = found else { return Ok(None) };
            let number = record.inode;
            state.learn(record, Some((folder, name.clone())));
            let file = state.files.get_mut(&number).ok_or(Errno::IO)?;
            file.kernel += 1;
            let seen = self.seen(&state, number, Duration::ZERO)?;
            return Ok(Some(self.with_folder_trust(&state, seen, is_known)));
        }
    }

    /// Attributes of a file that was looked up.
    ///
    /// # Errors
    /// ESTALE: it was never looked up, or is forgotten. Otherwise as [`SharedNode::look_up`].
    pub fn attributes(&self, number: InodeNumber) -> Result<Seen> {
        let deadline = self.deadline(self.patience());
        let mut state = self.state.lock();
        loop {
            let file = state.files.get(&number).ok_or(Errno::STALE)?;
            if file.links == 0 || file.away {
                return self.seen(&state, number, Duration::ZERO);
            }
            let is_folder = file.is_folder();
            let (folder, name) = match (&file.home, is_folder) {
                (_, true) => (FolderId(number.0), None),
                (Some((folder, name)), false) => (*folder, Some(name.clone())),
                (None, false) => return Err(Errno::STALE),
            };
            if let Knows::Here(trust) = self.who_knows(&mut state, folder, deadline)? {
                let file = state.files.get(&number).ok_or(Errno::STALE)?;
                if state.is_ours(file) {
                    return self.seen(&state, number, trust);
                }
                // It has another name by now, or none.
                state = self.refresh_by_number(state, number)?;
                return self.seen(&state, number, Duration::ZERO);
            }
            drop(state);
            let asked = match &name {
                Some(name) => {
                    let asked = self.ask_for_name(folder, name)?;
                    asked.map(|found| found.map(|(record, _)| record))
                }
                None => self.ask_for_folder(folder)?,
            };
            state = self.state.lock();
            match asked {
                None => continue,
                Some(Some(record)) if record.inode == number => state.learn(record, None),
                Some(_) if folder == FolderId::ROOT && is_folder => {
                    state.learn(root_record(self.owner), None);
                }
                Some(_) => state = self.refresh_by_number(state, number)?,
            }
            let seen = self.seen(&state, number, Duration::ZERO)?;
            return Ok(self.with_folder_trust(&state, seen, true));
        }
    }

    /// How long the attributes of a folder count in which this node does not know the names: each step
    /// of a path asks for the permission bits of the folder before it.
    fn with_folder_trust(&self, state: &State, mut seen: Seen, is_known: bool) -> Seen {
        if seen.kind == FileKind::Folder
            && self.caches.get().is_some_and(|caches| caches.can_forget())
        {
            let folder = FolderId(seen.file.0);
            if state.folders.contains_key(&folder) {
                seen.attribute_trust = self.trust_now(state, folder);
            } else if is_known {
                seen.attribute_trust = TRUST_OF_FOLDERS;
            }
        }
        seen
    }

    /// All names of a folder.
    ///
    /// # Errors
    /// As [`SharedNode::look_up`].
    pub fn list(&self, folder: FolderId) -> Result<Vec<ListedName>> {
        let deadline = self.deadline(self.patience());
        let mut state = self.state.lock();
        loop {
            if let Knows::Here(_) = self.who_knows(&mut state, folder, deadline)? {
                let listed = |(name, number): (&EntryName, &InodeNumber)| {
                    let file = state.files.get(number)?;
                    Some(ListedName { name: name.clone(), file: *number, kind: file.record.kind })
                };
                return Ok(state.held(folder)?.names.iter().filter_map(listed).collect());
            }
            drop(state);
            let by_book = |_| {
                let look = self.book.list(self.volume, folder)?;
                Ok((look.holder, look.published))
            };
            let question = Question::List { folder };
            let names = match self.ask_holder(folder, &question, &by_book)? {
                (Source::Node(Answer::Names(names)), _) => names,
                (Source::Book, found) => found.unwrap_or_default(),
                (Source::Node(_), _) => return Err(Errno::IO),
                (Source::Here, _) => {
                    state = self.state.lock();
                    continue;
                }
            };
            let listed =
                |Entry { name, file }| ListedName { name, file: file.inode, kind: file.kind };
            return Ok(names.into_iter().map(listed).collect());
        }
    }

    /// The kernel forgets a file as often as this.
    pub fn forget(&self, number: InodeNumber, times: u64) {
        let mut state = self.state.lock();
        if number == FolderId::ROOT.inode() {
            return;
        }
        let Some(file) = state.files.get_mut(&number) else { return };
        file.kernel = file.kernel.saturating_sub(times);
        state.forget_if_unused(number);
    }

    /// Whether a folder's names are known here, now. It waits while that is about to change.
    fn who_knows(
        &self,
        state: &mut MutexGuard<'_, State>,
        folder: FolderId,
        deadline: Deadline,
    ) -> Result<Knows> {
        loop {
            if state.is_over {
                return Err(Errno::IO);
            }
            let Some(held) = state.folders.get(&folder) else {
                match state.taking.contains(&folder) {
                    true => {
                        let what = format_args!("folder {folder} is being taken");
                        self.nap_until(state, deadline, &what)?;
                        continue;
                    }
                    false => return Ok(Knows::Elsewhere),
                }
            };
            if held.stage == Stage::Sent {
                let what = format_args!("folder {folder} is being given up");
                self.nap_until(state, deadline, &what)?;
            } else if !self.lease.may_change() {
                self.nap_until(state, deadline, &"the book has not renewed this node's lease")?;
            } else {
                return Ok(Knows::Here(self.trust_now(state, folder)));
            }
        }
    }

    /// How long the kernel may believe what it is told of a folder now.
    pub(super) fn trust_now(&self, state: &State, folder: FolderId) -> Duration {
        let forgets = self.caches.get().is_some_and(|caches| caches.can_forget());
        let stays = state.folders.get(&folder).is_some_and(|held| held.stage == Stage::Held);
        if forgets && stays { TRUST } else { Duration::ZERO }
    }

    /// Learns a file by its number, from the book.
    fn refresh_by_number<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        number: InodeNumber,
    ) -> Result<MutexGuard<'s, State>> {
        drop(state);
        let found = self.file_in_book(number)?;
        let mut state = self.state.lock();
        match found {
            Some(record) => state.learn(record, None),
            // As on a disk, a program that was just about to open it does so: it came first.
            None => state.files.get_mut(&number).ok_or(Errno::STALE)?.links = 0,
        }
        Ok(state)
    }

    pub(super) fn seen(&self, state: &State, number: InodeNumber, trust: Duration) -> Result<Seen> {
        let file = state.files.get(&number).ok_or(Errno::STALE)?;
        // What a folder is like its own holder says, and who writes a file elsewhere.
        let elsewhere = file.is_folder()
            && state.folders.get(&FolderId(number.0)).is_none_or(|held| held.stage != Stage::Held);
        let FileRecord { kind, mode, uid, gid, mtime_ns, rdev, .. } = file.record;
        let (atime_ns, ctime_ns) = times_of(&file.record);
        Ok(Seen {
            file: number,
            kind,
            mode,
            uid,
            gid,
            mtime_ns,
            atime_ns,
            ctime_ns,
            size: file.size(),
            rdev,
            links: if file.is_folder() { 1 } else { file.links },
            name_trust: trust,
            attribute_trust: if elsewhere || file.is_elsewhere(state.me()) || file.is_locked() {
                Duration::ZERO
            } else {
                trust
            },
        })
    }
}

impl File {
    /// Another node has its bytes, and may be writing them.
    pub(super) fn is_elsewhere(&self, me: forebay_book::NodeId) -> bool {
        matches!(self.record.bytes, FileBytes::OnNode(node) if node != me)
    }
}
