//! Several nodes in one process over a bucket in memory: what each reads is right whatever its peers
//! do, and the bucket is asked once. If these fail, a program reads another file's bytes, waits for
//! ever for a node that is gone, or four nodes fetch four times.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use bytes::Bytes;

use super::super::block_checksums::{BlockChecksummer, matches_checksums};
use super::super::file_blocks::BLOCK;
use super::super::memory::{Memory, version_of};
use super::bytes_verb::BytesQuestion;
use super::part_id::{PART, PartId};
use super::*;
use forebay_objstore::RequestError;
use forebay_peers::{
    AnswerStream, PeerAnswer, PeerErrorKind, PeerRequest, PeerVerb, Refusal, RefusalKind,
    parse_peers, rank_peers,
};

const URL: &str = "s3://lab/refs";
const KEY: &str = "hg38.fa";
/// Long enough for a busy machine where an answer is to come, and for what never comes.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

fn waits(answer: Duration) -> PeerWaits {
    PeerWaits { connect: answer, answer, piece: answer, whole: LONG }
}

fn token() -> PeerToken {
    PeerToken::parse("token-of-the-tests-0123456789").expect("a token")
}

/// An object of some parts, and its checksums.
struct Object {
    bytes: Bytes,
    version: String,
    sums: Vec<u8>,
}

impl Object {
    fn of_parts(parts: u64) -> Object {
        let size = parts * PART - PART / 2 - 17;
        let mut state = 1_u64;
        let mut bytes = Vec::with_capacity(size as usize + 8);
        while bytes.len() < size as usize {
            // Knuth's MMIX generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        bytes.truncate(size as usize);
        let mut sums = BlockChecksummer::default();
        sums.add_bytes(&bytes);
        Object { version: version_of(&bytes), sums: sums.into_checksums(), bytes: bytes.into() }
    }

    fn bucket(&self) -> Arc<Memory> {
        let bucket = Memory::new();
        bucket.objects.lock().insert(KEY.to_owned(), (self.bytes.clone(), String::new()));
        bucket
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Bytes that were asked of a bucket.
fn asked_bytes(bucket: &Memory) -> u64 {
    let length = |range: &str| {
        let (from, to) = range.split_once("..").expect("a range");
        to.parse::<u64>().expect("a number") - from.parse::<u64>().expect("a number")
    };
    let asked = bucket.asked.lock();
    asked.iter().map(|asked| length(asked.rsplit_once(' ').expect("a range").1)).sum()
}

/// A node that answers, before it is started.
struct Door {
    listener: TcpListener,
    name: PeerName,
}

fn doors(count: usize) -> (Vec<Door>, Vec<PeerName>) {
    let doors: Vec<Door> = (0..count)
        .map(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
            let at = listener.local_addr().expect("an address").to_string();
            Door { listener, name: parse_peers(&at, 1).expect("one").remove(0) }
        })
        .collect();
    let names = doors.iter().map(|door| door.name.clone()).collect();
    (doors, names)
}

/// The same, where each node is the home of so many parts of an object at least.
fn doors_for(count: usize, object: &Object, least: usize) -> (Vec<Door>, Vec<PeerName>) {
    loop {
        let (doors, names) = doors(count);
        let mut homes = vec![0; count];
        for number in 0..object.size().div_ceil(PART) {
            let id = part_id(object, number);
            let ranked = rank_peers(&names, &id.as_bytes());
            homes[names.iter().position(|name| name == ranked[0]).expect("one of them")] += 1;
        }
        if homes.iter().all(|parts| *parts >= least) {
            return (doors, names);
        }
    }
}

fn part_id(object: &Object, number: u64) -> PartId {
    PartId {
        bucket: "s3://lab".to_owned(),
        key: "refs/hg38.fa".to_owned(),
        version: object.version.clone(),
        number,
    }
}

struct Node {
    group: Arc<PeerGroup>,
    shared: Arc<dyn Bucket>,
    bucket: Arc<Memory>,
    folder: tempfile::TempDir,
}

impl Node {
    fn start(door: Option<Door>, peers: &[PeerName], object: &Object, answer: Duration) -> Node {
        Node::with_space(door, peers, object, answer, 1 << 30)
    }

    fn with_space(
        door: Option<Door>,
        peers: &[PeerName],
        object: &Object,
        answer: Duration,
        space: u64,
    ) -> Node {
        let folder = tempfile::tempdir().expect("a directory");
        let parts = folder.path().join("parts");
        let (listener, own) = match door {
            Some(Door { listener, name }) => {
                let listen = listener.local_addr().expect("an address");
                (Some(listener), Some(OwnPeer { name, listen, parts, space }))
            }
            None => (None, None),
        };
        let options = PeerOptions { peers: peers.to_vec(), token: token(), own };
        let setup = PeerSetup { options, listener };
        let group =
            PeerGroup::start_with_waits(setup, Vec::new(), waits(answer)).expect("it starts");
        let bucket = object.bucket();
        let shared = group.share_bucket(URL, Arc::clone(&bucket) as Arc<dyn Bucket>);
        Node { group, shared, bucket, folder }
    }

    /// Reads as `evicted_files` do: in requests of up to 8 MiB that begin anywhere, each block
    /// looked at, and wrong ones asked for again.
    fn read(&self, object: &Object) -> Result<Vec<u8>, RequestError> {
        let mut all = Vec::new();
        let mut tries = 0;
        while (all.len() as u64) < object.size() {
            let start = all.len() as u64;
            let first = if start == 0 { 3 * BLOCK } else { PART };
            let end = (start + first).min(object.size());
            match self.read_range(object, start..end) {
                Ok(bytes) => all.extend_from_slice(&bytes),
                Err(failed) if failed.kind == io::ErrorKind::InvalidData && tries < 3 => tries += 1,
                Err(failed) => return Err(failed),
            }
        }
        Ok(all)
    }

    fn read_range(
        &self,
        object: &Object,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<u8>, RequestError> {
        let mut came = Vec::new();
        let wrong = || RequestError { kind: io::ErrorKind::InvalidData, why: "wrong".to_owned() };
        let mut take = |bytes: Bytes| {
            came.extend_from_slice(&bytes);
            if came.len() as u64 > range.end - range.start {
                return Err(wrong());
            }
            let whole = came.len() / BLOCK as usize * BLOCK as usize;
            let right = matches_checksums(&object.sums, &range, &came[..whole]);
            if right { Ok(()) } else { Err(wrong()) }
        };
        self.shared.stream_range(KEY, Some(&object.version), range.clone(), &mut take)?;
        match matches_checksums(&object.sums, &range, &came) {
            true => Ok(came),
            false => Err(wrong()),
        }
    }

    fn kept_files(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(self.folder.path().join("parts")).expect("a directory");
        let entries = entries.map(|entry| entry.expect("an entry"));
        let files = entries.filter(|entry| entry.file_name() != "lock");
        files.map(|entry| entry.metadata().expect("a file").len()).collect()
    }
}

fn nodes(count: usize, object: &Object, answer: Duration) -> Vec<Node> {
    let parts = object.size().div_ceil(PART) as usize;
    let (doors, names) = doors_for(count, object, usize::from(parts > count));
    let start = |(number, door)| {
        // Each has the list in another order.
        let mut names = names.clone();
        names.rotate_left(number);
        Node::start(Some(door), &names, object, answer)
    };
    doors.into_iter().enumerate().map(start).collect()
}

fn assert_reads(node: &Node, object: &Object) {
    let read = node.read(object).expect("the bytes can be had");
    assert!(read == object.bytes, "they are those of the object");
}

fn all_asked(nodes: &[Node]) -> u64 {
    nodes.iter().map(|node| asked_bytes(&node.bucket)).sum()
}

#[test]
fn four_nodes_fetch_an_object_once_together() {
    let object = Object::of_parts(6);
    let nodes = nodes(4, &object, LONG);
    std::thread::scope(|scope| {
        for node in &nodes {
            let object = &object;
            scope.spawn(move || assert_reads(node, object));
        }
    });
    assert_eq!(all_asked(&nodes), object.size(), "each byte once");
    let status: Vec<_> = nodes.iter().map(|node| node.group.status()).collect();
    let sum = |figure: fn(&PeerStatus) -> u64| status.iter().map(figure).sum::<u64>();
    assert_eq!(sum(|status| status.from_bucket), object.size());
    assert_eq!(sum(|status| status.kept), object.size());
    assert!(sum(|status| status.from_peers) > 2 * object.size());
    assert_eq!(sum(|status| status.from_peers), sum(|status| status.to_peers));
    assert!(status.iter().all(|status| status.away.is_empty() && status.troubles.is_empty()));
    // Whoever reads again, or comes late, asks nobody but the homes.
    assert_reads(&nodes[2], &object);
    assert_eq!(all_asked(&nodes), object.size());
    for node in &nodes {
        node.group.stop();
        assert!(node.kept_files().is_empty(), "nothing is left of it");
    }
}

#[test]
fn who_only_asks_is_nobodys_home_and_asks_the_others() {
    let object = Object::of_parts(3);
    let (doors, names) = doors(2);
    let start = |door| Node::start(Some(door), &names, &object, LONG);
    let homes: Vec<Node> = doors.into_iter().map(start).collect();
    let reader = Node::start(None, &names, &object, LONG);
    assert_reads(&reader, &object);
    assert_eq!((asked_bytes(&reader.bucket), all_asked(&homes)), (0, object.size()));
}

#[test]
fn few_bytes_come_from_who_has_them_and_fetch_no_part() {
    let object = Object::of_parts(2);
    let nodes = nodes(3, &object, LONG);
    let block = |node: &Node, at: u64| {
        let range = at..at + BLOCK;
        let right = |bytes: &[u8]| matches_checksums(&object.sums, &range, bytes);
        let version = Some(object.version.as_str());
        let bytes = node.shared.get_version_range(KEY, version, range.clone(), &right);
        assert!(bytes.expect("they are there") == object.bytes[at as usize..][..BLOCK as usize]);
    };
    nodes.iter().for_each(|node| block(node, 5 * BLOCK));
    assert_eq!(all_asked(&nodes), 3 * BLOCK, "nobody has it: each asks for as much as it needs");
    assert_reads(&nodes[0], &object);
    let before = all_asked(&nodes);
    nodes.iter().for_each(|node| block(node, 7 * BLOCK));
    assert_eq!(all_asked(&nodes), before);
}

#[test]
fn an_object_without_a_version_and_bytes_within_blocks_are_not_shared() {
    let object = Object::of_parts(2);
    let nodes = nodes(2, &object, LONG);
    for (version, start) in [(None, 0), (Some(object.version.as_str()), 5)] {
        let mut came = Vec::new();
        let mut take = |bytes: Bytes| {
            came.extend_from_slice(&bytes);
            Ok(())
        };
        let range = start..start + 2 * BLOCK;
        nodes[0].shared.stream_range(KEY, version, range, &mut take).expect("they are there");
        assert!(came == object.bytes[start as usize..][..2 * BLOCK as usize]);
    }
    assert_eq!(all_asked(&nodes[1..]), 0);
    assert!(nodes.iter().all(|node| node.kept_files().is_empty()));
}

#[test]
fn an_object_that_was_changed_is_not_mixed_with_what_it_was() {
    let object = Object::of_parts(2);
    let nodes = nodes(2, &object, LONG);
    nodes.iter().for_each(|node| assert_reads(node, &object));
    let other = Bytes::from(vec![7; object.bytes.len()]);
    for node in &nodes {
        node.bucket.objects.lock().insert(KEY.to_owned(), (other.clone(), String::new()));
        let mut came = 0;
        let mut take = |bytes: Bytes| {
            assert!(bytes.iter().all(|byte| *byte == 7));
            came += bytes.len();
            Ok(())
        };
        let version = version_of(&other);
        let read = node.shared.stream_range(KEY, Some(&version), 0..object.size(), &mut take);
        read.expect("it is there");
        assert_eq!(came, other.len());
    }
    // A new node that still knows the old one is told the truth of it.
    let gone = nodes[0].shared.stream_range(KEY, Some("never"), 0..BLOCK, &mut |_| Ok(()));
    assert_eq!(gone.expect_err("it never was").kind, io::ErrorKind::StaleNetworkFileHandle);
}

/// What a peer does in place of what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    WrongBytes,
    TooFew,
    TooMany,
    CutOff,
    NoLength,
    NotServed,
    Busy,
    Failed,
    Garbage,
    NeverAnswers,
    NeverEnds,
}

const LIES: [Lie; 11] = [
    Lie::WrongBytes,
    Lie::TooFew,
    Lie::TooMany,
    Lie::CutOff,
    Lie::NoLength,
    Lie::NotServed,
    Lie::Busy,
    Lie::Failed,
    Lie::Garbage,
    Lie::NeverAnswers,
    Lie::NeverEnds,
];

impl Lie {
    /// Whether a peer that does this is left alone.
    fn is_trouble(self) -> bool {
        !matches!(self, Lie::Busy | Lie::Failed)
    }
}

/// A peer that answers otherwise than it should.
#[derive(Debug)]
struct Liar {
    lie: Lie,
    asked: AtomicUsize,
}

impl PeerVerb for Liar {
    fn answer(&self, question: PeerRequest) -> Result<PeerAnswer, Refusal> {
        self.asked.fetch_add(1, Relaxed);
        let question: BytesQuestion = serde_json::from_slice(&question.body).expect("a question");
        let length = question.to - question.from;
        let mut left = length;
        let zeros = move || {
            let some = left.min(BLOCK);
            left -= some;
            Ok((some > 0).then(|| Bytes::from(vec![0; some as usize])))
        };
        let refused = |kind| Err(Refusal::new(kind, "no\u{1b}[2J"));
        let stream = |length, next| Ok(PeerAnswer::Stream(AnswerStream::new(length, next)));
        match self.lie {
            Lie::WrongBytes => stream(Some(length), zeros),
            Lie::TooFew => Ok(PeerAnswer::Whole(Bytes::from(vec![0; length as usize - 1]))),
            Lie::TooMany => Ok(PeerAnswer::Whole(Bytes::from(vec![0; length as usize + 1]))),
            Lie::NoLength => Ok(PeerAnswer::Stream(AnswerStream::new(None, zeros))),
            Lie::CutOff => {
                let no_more = || Err(io::Error::other("no more"));
                Ok(PeerAnswer::Stream(AnswerStream::new(Some(length), no_more)))
            }
            Lie::NotServed => refused(RefusalKind::NotServed),
            Lie::Busy => refused(RefusalKind::Busy),
            Lie::Failed => refused(RefusalKind::Failed),
            Lie::Garbage => Ok(PeerAnswer::Whole(Bytes::from_static(b"<html>"))),
            Lie::NeverAnswers => {
                std::thread::sleep(LONG);
                refused(RefusalKind::Failed)
            }
            Lie::NeverEnds => {
                let never = || {
                    std::thread::sleep(LONG);
                    Ok(None)
                };
                Ok(PeerAnswer::Stream(AnswerStream::new(Some(length), never)))
            }
        }
    }
}

#[test]
fn whatever_a_peer_does_the_bytes_are_right_and_it_costs_once() {
    let object = Object::of_parts(9);
    for lie in LIES {
        let (mut doors, names) = doors_for(2, &object, 2);
        let Door { listener, name } = doors.remove(1);
        let liar = Arc::new(Liar { lie, asked: AtomicUsize::new(0) });
        let verbs: VerbTable = vec![(BYTES, Arc::<Liar>::clone(&liar))];
        let _server = PeerServer::start(listener, &token(), verbs).expect("a server");
        let answer = match lie {
            Lie::NeverAnswers | Lie::NeverEnds => SHORT,
            _ => LONG,
        };
        let node = Node::start(Some(doors.remove(0)), &names, &object, answer);
        assert_reads(&node, &object);
        let status = node.group.status();
        let asked = liar.asked.load(Relaxed);
        if lie.is_trouble() {
            assert_eq!(asked, 1, "{lie:?}: it is left alone");
            assert_eq!(status.troubles.len(), 1, "{lie:?}");
            assert_eq!(status.troubles[0].peer, name.to_string(), "{lie:?}");
            assert_eq!(status.troubles[0].times, 1, "{lie:?}: {status:?}");
        } else {
            assert!(asked > 1, "{lie:?}: it is well");
            assert_eq!((status.troubles, status.away), (Vec::new(), Vec::new()), "{lie:?}");
        }
        // The part of which it lied was asked for twice where it began before.
        let most = object.size() + if lie.is_trouble() { PART } else { 0 };
        let asked = asked_bytes(&node.bucket);
        assert!((object.size()..=most).contains(&asked), "{lie:?}: {asked}");
    }
}

#[test]
fn a_peer_that_is_gone_costs_once_and_the_next_in_rank_takes_its_place() {
    let object = Object::of_parts(9);
    // A node that is behind has parts in its own store of which it is the next in rank, since the other
    // asked for them: each has to ask the one that is gone for a part whose next in rank is the other.
    let nodes = loop {
        let nodes = nodes(3, &object, LONG);
        let names: Vec<PeerName> =
            nodes.iter().filter_map(|n| n.group.own_name().cloned()).collect();
        let is_next = |name: &PeerName| {
            (0..object.size().div_ceil(PART)).any(|number| {
                let id = part_id(&object, number).as_bytes();
                let ranked = rank_peers(&names, &id);
                *ranked[0] == names[0] && ranked[1] == name
            })
        };
        if names[1..].iter().all(is_next) {
            break nodes;
        }
    };
    let (gone, rest) = nodes.split_first().expect("three");
    gone.group.stop();
    std::thread::scope(|scope| {
        for node in rest {
            let object = &object;
            scope.spawn(move || assert_reads(node, object));
        }
    });
    for node in rest {
        let status = node.group.status();
        assert_eq!(status.away.len(), 1, "{status:?}");
        assert!(status.away[0].contains("can't be reached"), "{status:?}");
    }
    // What was asked of the peer before each knew came from the bucket itself.
    let most = object.size() + 2 * 2 * PART;
    assert!(all_asked(rest) <= most, "{} of {}", all_asked(rest), object.size());
}

#[test]
fn a_peer_that_goes_in_the_middle_of_an_answer_is_made_good_by_the_bucket() {
    let object = Object::of_parts(9);
    let (doors, names) = doors_for(2, &object, 2);
    let start = |door| Node::start(Some(door), &names, &object, LONG);
    let nodes: Vec<Node> = doors.into_iter().map(start).collect();
    let mut all = Vec::new();
    let mut take = |bytes: Bytes| {
        all.extend_from_slice(&bytes);
        // In the middle of the first part of its own.
        if nodes[0].group.status().from_peers > 0 {
            nodes[1].group.stop();
        }
        Ok(())
    };
    let version = Some(object.version.as_str());
    nodes[0].shared.stream_range(KEY, version, 0..object.size(), &mut take).expect("it is there");
    assert!(all == object.bytes);
    assert_eq!(nodes[0].group.status().troubles.len(), 1);
}

#[test]
fn nodes_that_take_each_other_for_the_home_wait_for_nobody() {
    let object = Object::of_parts(4);
    let (mut doors, names) = doors(2);
    let (one, other) = (doors.remove(0), doors.remove(0));
    // Each has a list in which the other alone is.
    let nodes = [
        Node::start(Some(one), &names[1..], &object, LONG),
        Node::start(Some(other), &names[..1], &object, LONG),
    ];
    std::thread::scope(|scope| {
        for node in &nodes {
            let object = &object;
            scope.spawn(move || assert_reads(node, object));
        }
    });
    assert!(nodes.iter().all(|node| node.group.status().troubles.is_empty()));
}

#[test]
fn parts_take_no_more_than_their_space_and_a_full_store_fails_nobody() {
    let object = Object::of_parts(12);
    let (doors, names) = doors(2);
    let space = 2 * PART;
    let start = |door| Node::with_space(Some(door), &names, &object, LONG, space);
    let nodes: Vec<Node> = doors.into_iter().map(start).collect();
    std::thread::scope(|scope| {
        for node in &nodes {
            let object = &object;
            scope.spawn(move || assert_reads(node, object));
        }
        for node in &nodes {
            let kept: u64 = node.kept_files().iter().sum();
            assert!(kept <= space, "{kept}");
        }
    });
    for node in &nodes {
        assert!(node.group.status().kept <= space);
        assert!(node.group.status().troubles.is_empty());
    }
    // No room at all.
    let (doors, names) = self::doors(2);
    let start = |door| Node::with_space(Some(door), &names, &object, LONG, PART - 1);
    let nodes: Vec<Node> = doors.into_iter().map(start).collect();
    nodes.iter().for_each(|node| assert_reads(node, &object));
    assert_eq!(all_asked(&nodes), 2 * object.size());
    assert!(nodes.iter().all(|node| node.group.status().troubles.is_empty()));
}

#[test]
fn what_rots_on_the_disk_is_served_to_nobody() {
    let object = Object::of_parts(3);
    let nodes = nodes(2, &object, LONG);
    nodes.iter().for_each(|node| assert_reads(node, &object));
    for node in &nodes {
        for entry in std::fs::read_dir(node.folder.path().join("parts")).expect("a directory") {
            let path = entry.expect("an entry").path();
            let mut bytes = std::fs::read(&path).expect("a file");
            if let Some(byte) = bytes.get_mut(100_000) {
                *byte ^= 1;
                // Over the same file: who has it open reads this.
                std::fs::write(&path, bytes).expect("written");
            }
        }
    }
    let mut all = Vec::new();
    let mut take = |bytes: Bytes| {
        all.extend_from_slice(&bytes);
        Ok(())
    };
    // As of an attached prefix, of which there are no checksums.
    let version = Some(object.version.as_str());
    nodes[0].shared.stream_range(KEY, version, 0..object.size(), &mut take).expect("it is there");
    assert!(all == object.bytes);
}

#[test]
fn a_peer_gives_bytes_of_what_it_has_mounted_alone() {
    let object = Object::of_parts(2);
    let (mut doors, names) = doors(1);
    let node = Node::start(doors.pop(), &names, &object, LONG);
    let client = PeerClient::new(&token(), waits(LONG)).expect("a client");
    let part = part_id(&object, 0);
    let good = BytesQuestion { part: part.clone(), from: 0, to: BLOCK, only_here: false };
    let ask = |question: &BytesQuestion| {
        let body = serde_json::to_vec(question).expect("plain data");
        let asked = client.ask_whole(&names[0], BYTES, body.into(), PART as usize);
        asked.map_err(|failed| failed.kind)
    };
    assert!(ask(&good).expect("it is there") == object.bytes[..BLOCK as usize]);
    let with = |change: &dyn Fn(&mut BytesQuestion)| {
        let mut question = good.clone();
        change(&mut question);
        ask(&question)
    };
    let refused = |kind| Err(PeerErrorKind::Refused(kind));
    let not_served = refused(RefusalKind::NotServed);
    assert_eq!(with(&|asked| asked.part.bucket = "s3://other".to_owned()), not_served);
    for key in ["elsewhere/x", "refs2/hg38.fa", "hg38.fa"] {
        assert_eq!(with(&|asked| asked.part.key = key.to_owned()), not_served, "{key}");
    }
    let bad = refused(RefusalKind::BadQuestion);
    for key in ["refs/../secret", "refs/./x", "/refs/x", "refs//x", "", "refs/x\0"] {
        assert_eq!(with(&|asked| asked.part.key = key.to_owned()), bad, "{key:?}");
    }
    assert_eq!(with(&|asked| asked.part.version.clear()), bad);
    assert_eq!(with(&|asked| asked.part.number = u64::MAX), bad);
    for (from, to) in [(5, 10), (BLOCK, BLOCK), (BLOCK, 0), (0, PART + 1), (0, u64::MAX), (0, 5)] {
        let asked = with(&|asked| (asked.from, asked.to) = (from, to));
        assert_eq!(asked, bad, "{from}..{to}");
    }
    assert!(with(&|asked| asked.part.number = 7).is_err(), "the object ends before");
    assert!(with(&|asked| asked.part.key = "refs/no-such".to_owned()).is_err());
    let gone = with(&|asked| asked.part.version = "never".to_owned());
    assert_eq!(gone, refused(RefusalKind::Failed));
    for body in ["", "{}", "[1,2", "null"] {
        let asked = client.ask_whole(&names[0], BYTES, body.into(), 100);
        assert_eq!(asked.map_err(|failed| failed.kind), bad, "{body}");
    }
    drop(node);
}

#[test]
fn a_peer_with_another_token_is_named_and_left_alone() {
    let object = Object::of_parts(6);
    let (mut doors, names) = doors_for(2, &object, 1);
    let Door { listener, name } = doors.remove(1);
    let other = PeerToken::parse("another-token-of-the-tests-987").expect("a token");
    let _server = PeerServer::start(listener, &other, Vec::new()).expect("a server");
    let node = Node::start(Some(doors.remove(0)), &names, &object, LONG);
    assert_reads(&node, &object);
    let away = node.group.status().away;
    assert_eq!(away, [format!("peer {name} has another token")]);
    let told = node.group.finish();
    assert!(told[0].contains("came from peers"), "{told:?}");
    assert_eq!(told[1], format!("peer {name} has another token"));
}

#[test]
fn a_directory_that_another_uses_is_not_taken_and_leftovers_go() {
    let folder = tempfile::tempdir().expect("a directory");
    std::fs::write(folder.path().join("17"), "a part of before").expect("written");
    std::fs::write(folder.path().join("notes"), "somebody's").expect("written");
    let open = || PartStore::open_empty(folder.path(), PART, Arc::default());
    let store = open().expect("it is free");
    assert!(!folder.path().join("17").exists() && folder.path().join("notes").exists());
    assert_eq!(open().expect_err("it is used").kind(), io::ErrorKind::ResourceBusy);
    drop(store);
    assert!(open().is_ok());
}
