//! Logs that no writer of a volume writes. If these fail, whoever mounts somebody else's volume
//! makes, follows or removes files of their own, or waits for ever.

use std::io::ErrorKind::InvalidData;

use forebay_model::is_file_name;
use proptest::prelude::*;

use super::super::super::segment::SegmentHeader;
use super::super::super::tree::DEEPEST;
use super::*;

const PLAIN: Kind = Kind::Plain;

fn made(ino: u64, kind: Kind) -> TreeRecord<'static> {
    TreeRecord::File { ino, kind, attr: Attr::default() }
}

/// A bucket with one segment of these records.
fn bucket_of(records: &[TreeRecord<'_>]) -> Arc<Memory> {
    let (bucket, mut draft) = (Memory::new(), SegmentDraft::default());
    records.iter().for_each(|record| draft.append_record(record));
    put(&bucket, draft.encode_segment(0));
    bucket
}

fn put(bucket: &Arc<Memory>, segment: Vec<u8>) {
    bucket.put_if_absent(&super::super::segment_key(0), segment.into(), "somebody").expect("put");
}

/// All that can be reached, each folder once.
fn looks_well(tree: &VolumeTree) -> bool {
    let (mut left, mut met) = (vec![ROOT], std::collections::BTreeSet::new());
    while let Some(ino) = left.pop() {
        let Some(file) = tree.file(ino) else { continue };
        if file.kind == Kind::Folder && !met.insert(ino) {
            return false;
        }
        if !file.names.keys().all(|name| is_file_name(name)) {
            return false;
        }
        left.extend(file.names.values());
    }
    true
}

#[test]
fn what_no_writer_says_is_refused_with_a_reason() {
    let name = |folder, name: &'static [u8], ino| TreeRecord::Name { folder, name, ino };
    let bad = [&b""[..], b".", b"..", b"/etc/passwd", b"../../../thesis", b"a/b", b"a\0b"];
    let mut stories: Vec<(Vec<TreeRecord<'_>>, &str)> = bad
        .into_iter()
        .flat_map(|bad| {
            let gone = TreeRecord::Gone { folder: ROOT, name: bad };
            [vec![made(2, PLAIN), name(ROOT, bad, 2)], vec![gone]]
        })
        .map(|records| (records, "none that a file can have"))
        .collect();
    for to in [vec![], vec![b'x'; 4096], b"a\0b".to_vec()] {
        stories.push((vec![made(2, Kind::Link(to)), name(ROOT, b"l", 2)], "no path"));
    }
    for mode in [libc::S_IFDIR, libc::S_IFREG, libc::S_IFLNK, 0] {
        let special = Kind::Special { mode, device: 0 };
        stories.push((vec![made(2, special), name(ROOT, b"s", 2)], "no kind"));
    }
    let folders = || vec![made(2, Kind::Folder), made(3, Kind::Folder), name(ROOT, b"a", 2)];
    for more in [
        // In itself, in what is in it, in two places, and over all of it.
        vec![name(2, b"b", 2)],
        vec![name(2, b"b", 3), name(3, b"up", 2)],
        vec![name(ROOT, b"other", 2)],
        vec![name(2, b"root", ROOT)],
    ] {
        stories.push(([folders(), more].concat(), "a folder in it has two names"));
    }
    for (mut records, why) in stories {
        records.push(TreeRecord::Cut);
        let bucket = bucket_of(&records);
        let failed = open(&bucket).expect_err("refused");
        assert_eq!(failed.kind, InvalidData, "{records:?}: {failed}");
        assert!(failed.why.contains(why), "{records:?}: {failed}");
    }
}

#[test]
fn a_folder_that_moves_may_have_both_names_until_the_cut() {
    let name = |folder, name, ino| TreeRecord::Name { folder, name, ino };
    let (two, three) = (made(2, Kind::Folder), made(3, Kind::Folder));
    let records = [
        two,
        three,
        name(ROOT, b"a", 2),
        name(2, b"b", 3),
        TreeRecord::Cut,
        // What was above is below.
        name(ROOT, b"b", 3),
        name(3, b"a", 2),
        TreeRecord::Gone { folder: 2, name: b"b" },
        TreeRecord::Gone { folder: ROOT, name: b"a" },
        TreeRecord::Cut,
    ];
    let (_, tree) = open(&bucket_of(&records)).expect("it opens");
    assert_eq!((tree.lookup_path(b"b/a"), tree.lookup_path(b"a")), (Some(2), None));
}

#[test]
fn folders_that_lie_too_deep_are_refused() {
    for (depth, is_fine) in [(DEEPEST, true), (DEEPEST + 2, false)] {
        let mut records = Vec::new();
        for ino in 2..depth as u64 + 2 {
            records.push(made(ino, Kind::Folder));
            records.push(TreeRecord::Name { folder: ino - 1, name: b"d", ino });
        }
        records.push(TreeRecord::Cut);
        let opened = open(&bucket_of(&records));
        assert_eq!(opened.is_ok(), is_fine, "{depth}: {:?}", opened.err());
    }
}

#[test]
fn a_check_says_what_is_in_the_log() {
    let name = TreeRecord::Name { folder: ROOT, name: b"../x", ino: 2 };
    let bucket = bucket_of(&[made(2, PLAIN), name, TreeRecord::Cut]);
    let all = bucket.list_objects("").expect("listed");
    let history = History::read_from_bucket(&*bucket, &all).expect("read");
    assert!(!history.is_whole && history.tree.lookup_path(b"x").is_none());
    assert!(history.damage[0].1.contains("none that a file can have"), "{:?}", history.damage);
}

fn any_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![&b"a"[..], b"b", b"c"]).prop_map(<[u8]>::to_vec),
        1 => prop::sample::select(vec![&b".."[..], b".", b"", b"a/b", b"/", b"\0"])
            .prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

/// Records in bytes, as lengths and checksums right as hostile hands make them.
fn any_records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let ino = || 0_u64..6;
    let kind = prop_oneof![
        2 => Just(Kind::Folder),
        2 => Just(Kind::Plain),
        1 => any_name().prop_map(Kind::Link),
        1 => any::<(u32, u64)>().prop_map(|(mode, device)| Kind::Special { mode, device }),
    ];
    let bytes = |record: &TreeRecord<'_>| postcard::to_stdvec(record).expect("it has room");
    let file = (ino(), kind).prop_map(move |(ino, kind)| bytes(&made(ino, kind)));
    let name = (ino(), any_name(), ino())
        .prop_map(move |(folder, name, ino)| bytes(&TreeRecord::Name { folder, name: &name, ino }));
    let gone = (ino(), any_name())
        .prop_map(move |(folder, name)| bytes(&TreeRecord::Gone { folder, name: &name }));
    let extended = (ino(), any_name()).prop_map(move |(ino, name)| {
        bytes(&TreeRecord::Extended { ino, name: &name, value: None })
    });
    let cut = Just(bytes(&TreeRecord::Cut));
    let noise = prop::collection::vec(any::<u8>(), 1..12);
    let one = prop_oneof![6 => file, 8 => name, 2 => gone, 1 => extended, 3 => cut, 1 => noise];
    prop::collection::vec(one, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_log_is_refused_or_comes_to_a_tree(records in any_records()) {
        let bytes = [records.concat(), postcard::to_stdvec(&TreeRecord::Cut).expect("room")].concat();
        let bucket = Memory::new();
        put(&bucket, SegmentHeader::sealed(0, records.len() as u32 + 1, &bytes));
        match open(&bucket) {
            Ok((_, tree)) => {
                prop_assert!(looks_well(&tree), "{tree:?}");
                // What is told again is whole, too.
                let mut again = VolumeTree::default();
                tree.for_each_record(|record| assert!(again.apply_record(record), "{record:?}"));
            }
            Err(failed) => prop_assert_eq!(failed.kind, InvalidData),
        }
    }
}
