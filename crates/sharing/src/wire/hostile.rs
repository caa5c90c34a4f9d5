//! Nodes that lie, or send what another version means. If these fail, one of them ends the daemons of
//! the others, takes all their memory, or makes names that no folder can have.

use forebay_book::{
    Entry, EntryName, FileBytes, FileKind, FileRecord, FolderId, InodeNumber, NodeId,
};
use forebay_os::seeds::{run_reporting_seed, seeds_from_env};

use super::{WireAnswer, WireFile, WirePlace, WireQuestion, pack};
use super::{decode_answer, decode_question, encode_answer, encode_question};
use crate::locks::{Lock, LockFamily, LockKind};
use crate::messages::{Answer, Question};

const SEEDS: u64 = 300;
const CHANGES: u64 = 200;

/// xorshift64: the same on all machines.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn file(bytes: FileBytes) -> FileRecord {
    FileRecord {
        inode: InodeNumber(7),
        kind: FileKind::Regular,
        mode: 0o644,
        uid: 1,
        gid: 2,
        mtime_ns: 3,
        size: 2,
        rdev: 0,
        bytes,
        attributes: vec![(b"user.a".to_vec(), b"1".to_vec())],
    }
}

fn name(text: &str) -> EntryName {
    EntryName::new(text).expect("a name")
}

/// Messages of all kinds, as bytes.
fn messages() -> Vec<Vec<u8>> {
    let lock = Lock {
        family: LockFamily::Range,
        kind: LockKind::Exclusive,
        start: 0,
        end: 9,
        owner: 1,
        pid: 2,
    };
    let (folder, inode) = (FolderId(3), InodeNumber(4));
    let questions = [
        Question::Look { folder, name: Some(name("reads.bam")) },
        Question::List { folder },
        Question::Bytes { file: inode, offset: 1, length: 2 },
        Question::Locks { of: NodeId(1), file: inode, wanted: lock, waits: true },
    ];
    let bucket = FileBytes::InBucket { object: "files/1".into(), sums: vec![1, 2] };
    let found = |bytes| Answer::Found { file: Box::new(file(bytes)), is_known: true };
    let names = ["a", "b", "c"].map(|at| Entry { name: name(at), file: file(FileBytes::None) });
    let answers = [
        found(FileBytes::InBook(b"12".to_vec())),
        found(bucket),
        found(FileBytes::OnNode(NodeId(5))),
        Answer::Names(names.into()),
        Answer::Bytes(vec![7; 40]),
        Answer::Busy("why".into()),
        Answer::Locks { in_the_way: Some(lock), has_others: false },
    ];
    questions.iter().map(encode_question).chain(answers.iter().map(encode_answer)).collect()
}

/// Changes a message as damage, another version, or somebody who plays would.
fn change(dice: &mut Dice, message: &mut Vec<u8>) {
    let at = dice.below(message.len() + 1);
    match dice.below(6) {
        0 => message.truncate(at),
        1 if at < message.len() => message[at] ^= 1 << dice.below(8),
        2 if at < message.len() => message[at] = dice.below(256) as u8,
        // A number that says of much that it comes.
        3 => drop(message.splice(at..at, [0xff; 8].into_iter().chain([0x7f]))),
        4 => message.insert(at, [b'/', 0, b'.', 0xff][dice.below(4)]),
        _ => {
            let all = messages();
            let other = &all[dice.below(all.len())];
            message.truncate(at);
            message.extend_from_slice(&other[dice.below(other.len())..]);
        }
    }
}

/// What is believed of an answer is no more than what came, and what a file can be.
fn check(answer: &Answer, came: usize) {
    let is_possible = |file: &FileRecord| {
        let bytes = match &file.bytes {
            FileBytes::InBook(body) => body.len(),
            FileBytes::InBucket { object, sums } => object.len() + sums.len(),
            FileBytes::None | FileBytes::OnNode(_) => 0,
        };
        let attributes: usize = file.attributes.iter().map(|(n, v)| n.len() + v.len()).sum();
        assert!(bytes + attributes <= came, "{file:?}");
        assert!(
            file.inode.0 > 0 && file.mode <= 0o7777 && file.size <= i64::MAX as u64,
            "{file:?}"
        );
    };
    match answer {
        Answer::Found { file, .. } => is_possible(file),
        Answer::Names(names) => {
            assert!(names.len() <= came, "{} names", names.len());
            for entry in names {
                let bytes = entry.name.as_bytes();
                let is_odd = bytes.is_empty() || bytes == b"." || bytes == b"..";
                assert!(!is_odd && !bytes.contains(&b'/') && !bytes.contains(&0), "{bytes:?}");
                is_possible(&entry.file);
            }
        }
        Answer::Bytes(bytes) => assert!(bytes.len() <= came),
        Answer::Busy(why) => assert!(why.len() <= came),
        _ => {}
    }
}

#[test]
fn no_message_ends_a_node_or_makes_what_can_not_be() {
    let (mut refused, mut taken) = (0u32, 0u32);
    for seed in seeds_from_env(1..SEEDS + 1) {
        run_reporting_seed(seed, || {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            for _ in 0..CHANGES {
                let all = messages();
                let mut message = all[dice.below(all.len())].clone();
                for _ in 0..1 + dice.below(3) {
                    change(&mut dice, &mut message);
                }
                if let Some(Question::Look { name: Some(name), .. }) = decode_question(&message) {
                    assert!(!name.as_bytes().contains(&b'/') && !name.as_bytes().contains(&0));
                }
                match decode_answer(&message) {
                    Some(answer) => {
                        taken += 1;
                        check(&answer, message.len());
                    }
                    None => refused += 1,
                }
            }
        });
    }
    // Else these would be changes that change nothing, or that nothing survives.
    assert!(refused > 1000 && taken > 1000, "{refused} refused, {taken} taken");
}

#[test]
fn names_and_files_that_can_not_be_are_no_messages() {
    for odd in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b", &[b'x'; 256]] {
        let question = pack(&WireQuestion::Look(3, Some(odd.to_vec())));
        assert_eq!(decode_question(&question), None, "{odd:?}");
        let wire = || super::to_wire(&file(FileBytes::None));
        let answer =
            pack(&WireAnswer::Names(vec![(b"fine".to_vec(), wire()), (odd.to_vec(), wire())]));
        assert_eq!(decode_answer(&answer), None, "{odd:?}");
    }
    let wire = || super::to_wire(&file(FileBytes::None));
    let long = WirePlace::InBook(vec![0; forebay_book::MAX_BODY + 1]);
    let odd = [
        WireFile { kind: 7, ..wire() },
        WireFile { inode: 0, ..wire() },
        WireFile { inode: -1, ..wire() },
        WireFile { size: 1 << 63, ..wire() },
        WireFile { place: long, ..wire() },
    ];
    for (number, file) in odd.into_iter().enumerate() {
        assert_eq!(decode_answer(&pack(&WireAnswer::Found(file, true))), None, "{number}");
    }
    let mut more = encode_answer(&Answer::Absent);
    more.push(0);
    assert_eq!(decode_answer(&more), None, "something comes behind it");
}
