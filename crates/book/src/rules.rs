//! What is so for each book, wherever it is kept: when a call is refused, and in which words.

use std::time::Duration;

use super::error::{Error, ErrorKind, Result};
use super::ids::{Epoch, FolderId, InodeNumber, NodeId, PublicationNumber, Term};
use super::lease::Membership;
use super::publication::Publication;

/// At most so many numbers are lent at a time.
const MAX_BLOCK: u32 = 1_000_000;
/// A renewal tells of so many folders that others want, at most.
pub(crate) const WANTED_MOST: i64 = 100;

pub(crate) fn check_member(member: &Membership, term: Term, alive: bool) -> Result<()> {
    if term != member.term {
        return Err(Error::new(
            ErrorKind::Fenced,
            format!("node {} has registered anew since: registration {term}", member.node),
            "another process uses the same state directory; end one of them",
        ));
    }
    match alive {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::LeaseExpired,
            format!("the lease of node {} is over", member.node),
            "the node registers anew, and keeps what nobody has taken from it",
        )),
    }
}

pub(crate) fn unknown_node(member: &Membership) -> Error {
    Error::new(
        ErrorKind::Fenced,
        format!("the book does not know node {}", member.node),
        "mount the volume anew",
    )
}

/// Whether a node may speak of a folder under this epoch, as the book finds it: its holder and epoch.
///
/// # Errors
/// Fenced: another node holds it by now, or nobody, or this one under another epoch.
pub fn may_speak(
    folder: FolderId,
    (node, epoch): (NodeId, Epoch),
    found: (Option<NodeId>, Epoch),
) -> Result<()> {
    let (holder, now) = found;
    if holder == Some(node) && now == epoch {
        return Ok(());
    }
    let by = match holder {
        Some(holder) if holder == node => "this node, anew,".to_owned(),
        Some(holder) => format!("node {holder}"),
        None => "nobody".to_owned(),
    };
    Err(Error::new(
        ErrorKind::Fenced,
        format!(
            "folder {folder} was held by node {node} under epoch {epoch}; now {by} holds it under \
             epoch {now}"
        ),
        "the node was away for longer than its lease; what it did not publish is kept on it",
    ))
}

/// Whether the publication was taken before.
pub(crate) fn check_number(number: PublicationNumber, last: PublicationNumber) -> Result<bool> {
    match number {
        _ if number == last && number.0 > 0 => Ok(true),
        _ if number == last.next() => Ok(false),
        _ => Err(Error::inconsistent(format!("publication {number} does not follow {last}"))),
    }
}

/// Each file has a name in a folder of the publication, or is one of them.
pub(crate) fn check_named(
    publication: &Publication,
    has_name: impl Fn(InodeNumber) -> bool,
) -> Result<()> {
    for file in &publication.files {
        let own = publication.folders.iter().any(|change| change.folder.inode() == file.inode);
        if !own && !has_name(file.inode) {
            return Err(Error::inconsistent(format!(
                "file {} has no name in a folder of the publication",
                file.inode
            )));
        }
    }
    Ok(())
}

pub(crate) fn check_block(count: u32) -> Result<()> {
    match count {
        1..=MAX_BLOCK => Ok(()),
        _ => Err(Error::invalid(
            format!("{count} inode numbers can't be lent"),
            format!("ask for 1 to {MAX_BLOCK}"),
        )),
    }
}

pub(crate) fn name_taken(name: &str, address: &str, renewed: Duration) -> Error {
    let at = if address.is_empty() {
        "which can't be reached".to_owned()
    } else {
        format!("at {address}")
    };
    Error::new(
        ErrorKind::NameTaken,
        format!(
            "another node is called {name}, {at}; it renewed its lease {} s ago",
            renewed.as_secs()
        ),
        "give this one another name, or wait until the lease of the other is over (15 s)",
    )
}

/// Another process speaks for the node, at another address: of a state directory that was copied.
pub(crate) fn key_taken(address: &str, renewed: Duration) -> Error {
    Error::new(
        ErrorKind::NameTaken,
        format!(
            "the node of this state directory is alive at {address}; it renewed its lease {} s ago",
            renewed.as_secs()
        ),
        "if the directory is a copy of that node's, remove the file `key` in this one; if the node has \
         another address now, wait until its lease is over (15 s)",
    )
}

pub(crate) fn no_folder(folder: FolderId) -> Error {
    Error::inconsistent(format!("there is no folder {folder}"))
}

pub(crate) fn no_file(inode: InodeNumber) -> Error {
    Error::inconsistent(format!("there is no file {inode}"))
}

pub(crate) fn not_empty(folder: FolderId) -> Error {
    Error::inconsistent(format!("folder {folder} is removed and has names"))
}

pub(crate) fn made_twice(folder: FolderId) -> Error {
    Error::inconsistent(format!("folder {folder} was made before"))
}

pub(crate) fn never_lent(number: i64) -> Error {
    Error::inconsistent(format!("number {number} was never lent"))
}
