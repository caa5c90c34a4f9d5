//! Asking whoever knows: the holder of a folder, or the book.

use std::time::Duration;

use forebay_book::{
    EntryName, ErrorKind, FileKind, FileRecord, FolderId, Holder, InodeNumber, NodeId,
};
use rustix::io::Errno;

use super::unreached::NoAnswer;
use super::{Deadline, SharedNode, said_by_book};
use crate::Result;
use crate::environment::Neighbour;
use crate::messages::{Answer, Question};

/// Between two questions, where nobody could answer.
const PAUSE: Duration = Duration::from_millis(10);
/// The same where a node is not reached: its lease has to end.
const PAUSE_AWAY: Duration = Duration::from_millis(250);

/// Who answered.
#[derive(Debug)]
pub(super) enum Source {
    /// The holder.
    Node(Answer),
    /// Nobody holds the folder: the book is right.
    Book,
    /// This node holds it by now.
    Here,
}

impl SharedNode {
    /// Asks the holder of a folder that is not held here. `by_book` reads the same from the book,
    /// with who holds the folder; what is held it may leave out, unless it is told that it counts.
    ///
    /// Where the holder does not answer, the book does as soon as the folder has changed hands since
    /// this request began: whoever gave it up has published all until then.
    pub(super) fn ask_holder<T>(
        &self,
        folder: FolderId,
        question: &Question,
        by_book: &dyn Fn(bool) -> forebay_book::Result<(Option<Holder>, T)>,
    ) -> Result<(Source, Option<T>)> {
        let deadline = self.deadline(self.patience());
        let hint = self.state.lock().hints.get(&folder).cloned();
        if let Some(holder) = hint
            && let Ok(answer) = self.ask_if_reached(&neighbour(&holder), question)
            && !matches!(answer, Answer::NotHeld | Answer::Busy(_))
        {
            return Ok((Source::Node(answer), None));
        }
        let mut own_claims = 0;
        let (mut first, mut asked) = (None, None);
        loop {
            let counts = first.is_some();
            let waits_for = match by_book(counts) {
                Ok((None, found)) => {
                    self.state.lock().hints.remove(&folder);
                    return Ok((Source::Book, Some(found)));
                }
                Ok((Some(holder), found)) => {
                    let mut state = self.state.lock();
                    if holder.node == state.me() {
                        if state.folders.contains_key(&folder) || state.taking.contains(&folder) {
                            return Ok((Source::Here, None));
                        }
                        drop(state);
                        own_claims += 1;
                        if own_claims > 3 {
                            // The book knows of a hold that this node has not heard of.
                            drop(self.pin(&[folder])?);
                            return Ok((Source::Here, None));
                        }
                        drop(found);
                        "this node, which is giving it up".to_owned()
                    } else {
                        state.hints.insert(folder, holder.clone());
                        drop(state);
                        let since = *first.get_or_insert(holder.epoch);
                        match self.ask_or_want(folder, &holder, question, &mut asked) {
                            Ok(answer) => return Ok((Source::Node(answer), None)),
                            Err(NoAnswer::Unreached(_)) if counts && holder.epoch > since => {
                                return Ok((Source::Book, Some(found)));
                            }
                            Err(why) => {
                                if let NoAnswer::Unreached(_) = why {
                                    self.time.wait(PAUSE_AWAY);
                                }
                                format!("node {} ({}): {why}", holder.name, holder.address)
                            }
                        }
                    }
                }
                Err(error) if error.kind == ErrorKind::Inconsistent => return Err(Errno::STALE),
                Err(error) if error.is_passing() => {
                    self.time.wait(PAUSE_AWAY);
                    said_by_book(&error)
                }
                Err(error) => return Err(self.refused(&error)),
            };
            self.pause_or_give_up(deadline, &waits_for)?;
        }
    }

    fn pause_or_give_up(&self, deadline: Deadline, waits_for: &str) -> Result<()> {
        if self.is_over(deadline) {
            return Err(self.give_up_waiting(&waits_for));
        }
        self.time.wait(PAUSE);
        Ok(())
    }

    /// A name in a folder that is not held here, and whether who answers knows the attributes of what
    /// it leads to. `None`: somebody here holds the folder by now.
    pub(super) fn ask_for_name(
        &self,
        folder: FolderId,
        name: &EntryName,
    ) -> Result<Option<Option<(FileRecord, bool)>>> {
        let question = Question::Look { folder, name: Some(name.clone()) };
        let by_book = |_| {
            let look = self.book.look_up(self.volume, folder, name)?;
            Ok((look.holder, look.published.map(|entry| entry.file)))
        };
        match self.ask_holder(folder, &question, &by_book)? {
            (Source::Node(Answer::Found { file, is_known }), _) => {
                Ok(Some(Some((*file, is_known))))
            }
            (Source::Node(Answer::Absent), _) => Ok(Some(None)),
            // Of a folder the book does not say here whether somebody holds it.
            (Source::Book, found) => Ok(Some(found.flatten().map(|file| {
                let is_known = file.kind != FileKind::Folder;
                (file, is_known)
            }))),
            (Source::Here, _) => Ok(None),
            (Source::Node(_), _) => Err(Errno::IO),
        }
    }

    /// A folder that is not held here, itself. As [`SharedNode::ask_for_name`].
    pub(super) fn ask_for_folder(&self, folder: FolderId) -> Result<Option<Option<FileRecord>>> {
        let question = Question::Look { folder, name: None };
        // Any name: who holds the folder is what is asked.
        let any = EntryName::new("-").map_err(|_| Errno::IO)?;
        let by_book = |counts: bool| {
            let holder = self.book.look_up(self.volume, folder, &any)?.holder;
            let file = match holder {
                Some(_) if !counts => None,
                _ => self.book.file(self.volume, folder.inode())?,
            };
            Ok((holder, file))
        };
        match self.ask_holder(folder, &question, &by_book)? {
            (Source::Node(Answer::Found { file, .. }), _) => Ok(Some(Some(*file))),
            (Source::Node(Answer::Absent), _) => Ok(Some(None)),
            (Source::Book, found) => Ok(Some(found.flatten())),
            (Source::Here, _) => Ok(None),
            (Source::Node(_), _) => Err(Errno::IO),
        }
    }

    /// Asks a node for something about a file whose bytes it has.
    pub(super) fn ask_node(&self, node: NodeId, question: &Question) -> Result<Answer> {
        let nodes = self.ask_book(|| self.book.nodes(self.volume))?;
        let Some(found) = nodes.into_iter().find(|other| other.node == node) else {
            tracing::warn!(
                "node {node}, which alone has bytes that are wanted, is not in the book"
            );
            return Err(Errno::IO);
        };
        let asked = Neighbour { node, name: found.name, address: found.address };
        self.messages.ask(&asked, question).map_err(|unanswered| {
            tracing::warn!(
                "node {} ({}) alone has bytes that are wanted: {}",
                asked.name,
                asked.address,
                unanswered.0
            );
            Errno::IO
        })
    }

    /// A file by its number, as the book has it.
    pub(super) fn file_in_book(&self, file: InodeNumber) -> Result<Option<FileRecord>> {
        self.ask_book(|| self.book.file(self.volume, file))
    }
}

fn neighbour(holder: &Holder) -> Neighbour {
    Neighbour { node: holder.node, name: holder.name.clone(), address: holder.address.clone() }
}
