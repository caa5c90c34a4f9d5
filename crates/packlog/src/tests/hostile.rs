//! Logs of packed files with anything in them. If these fail, a damaged or foreign log ends the
//! daemon, or has a packed file come home to where it never was.

use forebay_model::is_file_name;
use proptest::prelude::*;

use super::super::record::{FRAME, FrameHeader, Record, append_frame};
use super::*;

#[test]
fn a_record_that_names_what_no_file_can_be_called_is_neither_written_nor_read() {
    for name in [&b""[..], b".", b"..", b"../../thesis", b"a\0", &[b'x'; 256]] {
        let ctime = Time::default();
        let to = DIRS[1];
        for record in [
            Record::Make { ino: 7, dir: 0, name, attr: Attr::default(), work: 0 },
            Record::Link { ino: 7, dir: 0, name, ctime },
            Record::Move { dir: 0, name: b"a", to: 0, new: name, ctime, over: None },
            Record::Move { dir: 0, name, to: 0, new: b"a", ctime, over: None },
            Record::Swap { dir: 0, name: b"a", to: 0, new: name, ctime },
            Record::Drop { dir: 0, name, ctime },
            Record::Yield { dir: 0, name, to },
            Record::Hide { dir: 0, name, over: to },
            Record::Land { dir: 0, name, to },
        ] {
            let refused = append_frame(5, &record, &[], &mut Vec::new());
            assert_eq!(refused, Err(Errno::NAMETOOLONG), "{record:?}");
            let bytes = postcard::to_stdvec(&record).expect("it has room");
            let head = FrameHeader::over(5, &bytes);
            assert_eq!(head.decode_record(5, &bytes), None, "{record:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_log_that_was_changed_anywhere_is_opened_or_refused(
        seed in 0_u64..1000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        is_sealed in any::<bool>(),
    ) {
        let works = tempfile::tempdir().expect("a directory");
        let place = Place::default();
        let pack = open(&place, works.path(), 1).expect("opened");
        let mut story = story(&pack, seed);
        for _ in 0..20 {
            story.step().expect("room enough");
        }
        let mut bytes = place.image().bytes.clone();
        drop(story);
        drop(pack);
        for (at, byte) in changes {
            let at = HEADER as usize + at.index(bytes.len() - HEADER as usize);
            bytes[at] = byte;
        }
        if is_sealed {
            seal(&mut bytes);
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len() - HEADER as usize) / 4);
        let copy = works_of(works.path());
        if let Ok(pack) = open(&Place::with(&bytes), copy.path(), 2) {
            let state = pack.state.lock();
            let mut names = state.index.dirs.iter().flat_map(|dir| dir.names.keys());
            prop_assert!(names.all(|name| is_file_name(name)));
        }
    }
}

/// Checksums of frames as whoever changes records on purpose makes them.
fn seal(bytes: &mut [u8]) {
    let salt = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let mut at = HEADER as usize;
    while let Some(head) = bytes.get(at..at + FRAME) {
        let head: &[u8; FRAME] = head.try_into().expect("a head");
        let Some(head) = FrameHeader::parse(head) else { return };
        let record = at + FRAME..at + FRAME + head.record as usize;
        let Some(record) = bytes.get(record) else { return };
        let crc = head.sealed(salt, record);
        bytes[at + 12..at + FRAME].copy_from_slice(&crc.to_le_bytes());
        at += head.frame_length() as usize;
    }
}
