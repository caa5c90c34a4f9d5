//! Questions and answers as they travel (postcard). Both sides speak one version: the transport ends
//! a connection between different ones.

use forebay_book::{
    Entry, EntryName, FileBytes, FileKind, FileRecord, FolderId, InodeNumber, MAX_BODY, NodeId,
};
use serde::{Deserialize, Serialize};

use super::locks::{Lock, LockFamily, LockKind};
use super::messages::{Answer, Question};

#[derive(Serialize, Deserialize)]
enum WireQuestion {
    Look(i64, Option<Vec<u8>>),
    List(i64),
    GiveUp(i64),
    IsWritten(i64),
    Bytes(i64, u64, u32),
    Locks { of: i64, file: i64, wanted: WireLock, waits: bool },
}

#[derive(Serialize, Deserialize)]
enum WireAnswer {
    NotHeld,
    Busy(String),
    Found(WireFile, bool),
    Absent,
    Names(Vec<(Vec<u8>, WireFile)>),
    GivenUp,
    Written(bool),
    Bytes(Vec<u8>),
    NoBytes,
    Locks(Option<WireLock>, bool),
}

#[derive(Serialize, Deserialize)]
struct WireLock {
    is_whole: bool,
    is_exclusive: bool,
    start: u64,
    end: u64,
    owner: u64,
    pid: u32,
}

#[derive(Serialize, Deserialize)]
enum WirePlace {
    None,
    InBook(Vec<u8>),
    InBucket(String, Vec<u8>),
    OnNode(i64),
}

#[derive(Serialize, Deserialize)]
struct WireFile {
    inode: i64,
    kind: u8,
    mode: u32,
    uid: u32,
    gid: u32,
    mtime_ns: i64,
    size: u64,
    rdev: u64,
    place: WirePlace,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// In the order of their numbers on the wire.
const KINDS: [FileKind; 7] = [
    FileKind::Regular,
    FileKind::Folder,
    FileKind::Symlink,
    FileKind::Fifo,
    FileKind::Socket,
    FileKind::CharacterDevice,
    FileKind::BlockDevice,
];

fn to_wire(file: &FileRecord) -> WireFile {
    let place = match &file.bytes {
        FileBytes::None => WirePlace::None,
        FileBytes::InBook(body) => WirePlace::InBook(body.clone()),
        FileBytes::InBucket { object, sums } => WirePlace::InBucket(object.clone(), sums.clone()),
        FileBytes::OnNode(node) => WirePlace::OnNode(node.0),
    };
    let kind = KINDS.iter().position(|kind| *kind == file.kind).unwrap_or(0);
    WireFile {
        inode: file.inode.0,
        kind: kind as u8,
        mode: file.mode,
        uid: file.uid,
        gid: file.gid,
        mtime_ns: file.mtime_ns,
        size: file.size,
        rdev: file.rdev,
        place,
        attributes: file.attributes.clone(),
    }
}

/// A message that says what no file can be is none: sizes and bodies go on to kernels and to memory.
fn is_possible(file: &WireFile) -> bool {
    let body = match &file.place {
        WirePlace::InBook(body) => body.len(),
        _ => 0,
    };
    file.inode > 0 && i64::try_from(file.size).is_ok() && body <= MAX_BODY
}

fn from_wire(file: WireFile) -> Option<FileRecord> {
    if !is_possible(&file) {
        return None;
    }
    let bytes = match file.place {
        WirePlace::None => FileBytes::None,
        WirePlace::InBook(body) => FileBytes::InBook(body),
        WirePlace::InBucket(object, sums) => FileBytes::InBucket { object, sums },
        WirePlace::OnNode(node) => FileBytes::OnNode(NodeId(node)),
    };
    Some(FileRecord {
        inode: InodeNumber(file.inode),
        kind: *KINDS.get(usize::from(file.kind))?,
        mode: file.mode & 0o7777,
        uid: file.uid,
        gid: file.gid,
        mtime_ns: file.mtime_ns,
        size: file.size,
        rdev: file.rdev,
        bytes,
        attributes: file.attributes,
    })
}

fn lock_to_wire(lock: &Lock) -> WireLock {
    let Lock { family, kind, start, end, owner, pid } = *lock;
    let is_whole = family == LockFamily::Whole;
    WireLock { is_whole, is_exclusive: kind == LockKind::Exclusive, start, end, owner, pid }
}

fn lock_from_wire(lock: &WireLock) -> Lock {
    let WireLock { is_whole, is_exclusive, start, end, owner, pid } = *lock;
    Lock {
        family: if is_whole { LockFamily::Whole } else { LockFamily::Range },
        kind: if is_exclusive { LockKind::Exclusive } else { LockKind::Shared },
        start,
        end,
        owner,
        pid,
    }
}

fn pack<T: Serialize>(what: &T) -> Vec<u8> {
    postcard::to_stdvec(what).expect("memory is not refused, and all types can be written")
}

/// All of the bytes; numbers of elements that they do not have are believed by nobody.
fn unpack<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Option<T> {
    let (found, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(found)
}

/// A question as bytes.
#[must_use]
pub fn encode_question(question: &Question) -> Vec<u8> {
    pack(&match question {
        Question::Look { folder, name } => {
            WireQuestion::Look(folder.0, name.as_ref().map(|name| name.as_bytes().to_vec()))
        }
        Question::List { folder } => WireQuestion::List(folder.0),
        Question::GiveUp { folder } => WireQuestion::GiveUp(folder.0),
        Question::IsWritten { file } => WireQuestion::IsWritten(file.0),
        Question::Bytes { file, offset, length } => WireQuestion::Bytes(file.0, *offset, *length),
        Question::Locks { of, file, wanted, waits } => WireQuestion::Locks {
            of: of.0,
            file: file.0,
            wanted: lock_to_wire(wanted),
            waits: *waits,
        },
    })
}

/// The question that bytes are; `None`: they are none.
#[must_use]
pub fn decode_question(bytes: &[u8]) -> Option<Question> {
    Some(match unpack(bytes)? {
        WireQuestion::Look(folder, name) => {
            let name = name.map(EntryName::new).transpose().ok()?;
            Question::Look { folder: FolderId(folder), name }
        }
        WireQuestion::List(folder) => Question::List { folder: FolderId(folder) },
        WireQuestion::GiveUp(folder) => Question::GiveUp { folder: FolderId(folder) },
        WireQuestion::IsWritten(file) => Question::IsWritten { file: InodeNumber(file) },
        WireQuestion::Bytes(file, offset, length) => {
            Question::Bytes { file: InodeNumber(file), offset, length }
        }
        WireQuestion::Locks { of, file, wanted, waits } => Question::Locks {
            of: NodeId(of),
            file: InodeNumber(file),
            wanted: lock_from_wire(&wanted),
            waits,
        },
    })
}

/// An answer as bytes.
#[must_use]
pub fn encode_answer(answer: &Answer) -> Vec<u8> {
    pack(&match answer {
        Answer::NotHeld => WireAnswer::NotHeld,
        Answer::Busy(why) => WireAnswer::Busy(why.clone()),
        Answer::Found { file, is_known } => WireAnswer::Found(to_wire(file), *is_known),
        Answer::Absent => WireAnswer::Absent,
        Answer::Names(names) => {
            let name = |entry: &Entry| (entry.name.as_bytes().to_vec(), to_wire(&entry.file));
            WireAnswer::Names(names.iter().map(name).collect())
        }
        Answer::GivenUp => WireAnswer::GivenUp,
        Answer::Written(is) => WireAnswer::Written(*is),
        Answer::Bytes(bytes) => WireAnswer::Bytes(bytes.clone()),
        Answer::NoBytes => WireAnswer::NoBytes,
        Answer::Locks { in_the_way, has_others } => {
            WireAnswer::Locks(in_the_way.as_ref().map(lock_to_wire), *has_others)
        }
    })
}

/// The answer that bytes are; `None`: they are none.
#[must_use]
pub fn decode_answer(bytes: &[u8]) -> Option<Answer> {
    Some(match unpack(bytes)? {
        WireAnswer::NotHeld => Answer::NotHeld,
        WireAnswer::Busy(why) => Answer::Busy(why),
        WireAnswer::Found(file, is_known) => {
            Answer::Found { file: Box::new(from_wire(file)?), is_known }
        }
        WireAnswer::Absent => Answer::Absent,
        WireAnswer::Names(names) => {
            let entry = |(name, file): (Vec<u8>, WireFile)| {
                Some(Entry { name: EntryName::new(name).ok()?, file: from_wire(file)? })
            };
            Answer::Names(names.into_iter().map(entry).collect::<Option<_>>()?)
        }
        WireAnswer::GivenUp => Answer::GivenUp,
        WireAnswer::Written(is) => Answer::Written(is),
        WireAnswer::Bytes(bytes) => Answer::Bytes(bytes),
        WireAnswer::NoBytes => Answer::NoBytes,
        WireAnswer::Locks(in_the_way, has_others) => {
            Answer::Locks { in_the_way: in_the_way.as_ref().map(lock_from_wire), has_others }
        }
    })
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests {
    //! If these fail, a node does something else than it was asked for.
    use super::*;

    fn file(place: FileBytes) -> FileRecord {
        FileRecord {
            inode: InodeNumber(7),
            kind: FileKind::Fifo,
            mode: 0o4755,
            uid: 1,
            gid: 2,
            mtime_ns: -3,
            size: 4,
            rdev: 5,
            bytes: place,
            attributes: vec![(b"user.a".to_vec(), vec![0, 255])],
        }
    }

    #[test]
    fn what_is_sent_is_what_comes() {
        let name = EntryName::new("ä\u{1}").expect("a name");
        let lock = |family, kind| Lock { family, kind, start: 1, end: u64::MAX, owner: 3, pid: 4 };
        let wanted = lock(LockFamily::Whole, LockKind::Shared);
        let questions = [
            Question::Look { folder: FolderId(1), name: Some(name.clone()) },
            Question::Look { folder: FolderId(i64::MAX), name: None },
            Question::List { folder: FolderId(2) },
            Question::GiveUp { folder: FolderId(3) },
            Question::IsWritten { file: InodeNumber(4) },
            Question::Bytes { file: InodeNumber(5), offset: u64::MAX, length: 6 },
            Question::Locks { of: NodeId(6), file: InodeNumber(7), wanted, waits: true },
        ];
        for question in questions {
            assert_eq!(decode_question(&encode_question(&question)), Some(question));
        }
        let bucket = FileBytes::InBucket { object: "o".into(), sums: vec![1] };
        let answers = [
            Answer::NotHeld,
            Answer::Busy("why".into()),
            Answer::Found { file: Box::new(file(FileBytes::InBook(vec![1, 2]))), is_known: true },
            Answer::Absent,
            Answer::Names(vec![
                Entry { name: name.clone(), file: file(bucket) },
                Entry { name, file: file(FileBytes::OnNode(NodeId(9))) },
            ]),
            Answer::GivenUp,
            Answer::Written(true),
            Answer::Bytes(vec![1; 1000]),
            Answer::NoBytes,
            Answer::Locks { in_the_way: None, has_others: true },
            Answer::Locks {
                in_the_way: Some(lock(LockFamily::Range, LockKind::Exclusive)),
                has_others: true,
            },
        ];
        for answer in answers {
            assert_eq!(decode_answer(&encode_answer(&answer)), Some(answer));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bytes in [&b""[..], b"\xff", b"\x00\x02\x01\x01/", b"\x06\x01"] {
            assert_eq!(decode_question(bytes), None, "{bytes:?}");
        }
        assert_eq!(decode_answer(b"\x0a"), None);
    }
}
