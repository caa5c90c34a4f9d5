//! Groups learn from others how their qualities are encoded. If these failed, one input would become
//! other archives on other machines, or reads that are unlike those before would be lost.

use std::collections::BTreeMap;

use forebay_reads::{PackProfile, ReadSelection, TextFormat};

use crate::common::{cat, open, try_pack_with};

/// Reads of which the qualities are of another sort now and then: few levels, many that go on, many
/// that don't, one alone, and some that were not there before.
fn reads(bytes: usize) -> Vec<u8> {
    let (mut text, mut state, mut level, mut nth) = (Vec::new(), 7_u64, 20, 0_u64);
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    while text.len() < bytes {
        text.extend(format!("@M:{nth}\n").bytes());
        text.extend((0..100).map(|_| b"ACGT"[random(4) as usize]));
        text.extend(b"\n+\n");
        // A sort for some 3 MiB.
        let sort = text.len() / (3 << 20) % 5;
        text.extend((0..100).map(|_| {
            match sort {
                0 => level = [2, 12, 22, 37][random(4) as usize],
                1 if random(9) > 0 => {}
                1 | 4 => level = random(38),
                2 => level = (level + random(7)).saturating_sub(3).min(39),
                _ => level = 40,
            }
            b'!' + level as u8 + if sort == 4 { 30 } else { 0 }
        }));
        text.push(b'\n');
        nth += 1;
    }
    text
}

#[test]
fn archives_are_the_same_whatever_the_threads_and_unlike_groups_come_back() {
    for (profile, bytes) in [("default", 14 << 20), ("fast", 14 << 20), ("random", 16 << 20)] {
        let profile = PackProfile::find_by_name(profile).expect("a profile");
        let text = reads(bytes);
        let objects = |threads| {
            let packed = try_pack_with(profile, threads, &text).expect("packed");
            let archive = open(&packed.path()).expect("an archive");
            let again =
                cat(&std::sync::Arc::new(archive), ReadSelection::File(0), TextFormat::Fastq);
            assert!(again.expect("text") == text, "{profile:?} with {threads} threads");
            let files = std::fs::read_dir(packed.path()).expect("a directory").map(|entry| {
                let entry = entry.expect("an entry");
                (entry.file_name(), std::fs::read(entry.path()).expect("an object"))
            });
            // The manifest says where the input lay, which is elsewhere each time.
            let files = files.filter(|(name, _)| name != "manifest.fbr");
            files.collect::<BTreeMap<_, _>>()
        };
        assert!(objects(1) == objects(5), "{profile:?}: threads make another archive");
    }
}
