//! One volume on many machines, one after the other: each is gone after some write, and the next
//! one has nothing but the bucket. If this fails, a volume does not survive its machines.
//!
//! `FOREBAY_SEEDS` says how many volumes there are, or which.

use std::os::unix::fs::MetadataExt;

use super::super::super::placeholder_tree;
use super::*;
use forebay_os::seeds::{replay_instruction, run_reporting_seed, seeds_from_env};

/// Machines of a volume.
const LIVES: u64 = 12;
/// Each is gone after fewer writes.
const WRITES: u64 = 60;

/// A machine that has nothing of the volume: its placeholders, and what they stand for.
fn machine(bucket: &Arc<Memory>, root: &Path) -> (CommitUploader, Away) {
    let mut ship = ship(bucket, root);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let fd = openat(CWD, root, flags, Mode::empty()).expect("opened");
    placeholder_tree::make_placeholder_tree(&fd, &ship.tree, &mut ship.scan).expect("made");
    let ino = |path: &String| std::fs::metadata(root.join(path)).expect("there").ino();
    let away = seen(bucket).into_iter().map(|(path, bytes)| (ino(&path), bytes)).collect();
    (ship, away)
}

fn history(seed: u64) {
    let (bucket, mut lot) = (Memory::new(), Lot(seed));
    for life in 0..=LIVES {
        let when = format!("{}, life {life}", replay_instruction(seed));
        let folder = tempfile::tempdir().expect("a folder");
        let (mut ship, away) = machine(&bucket, folder.path());
        let mut story = Story { states: vec![seen(&bucket)], acknowledged: 0 };
        assert_eq!(briefly(&local(folder.path(), &away)), briefly(&story.states[0]), "{when}");
        // The last one lives.
        let writes = (life < LIVES).then(|| lot.draw(WRITES) as u32);
        bucket.lives(writes);
        if ship.log.begin_as_writer(&format!("machine {life}")).is_ok() {
            story.go_on(&mut ship, folder.path(), (&mut lot, (life + 1) * 1000), &away);
        }
        bucket.lives(None);
        story.check(&bucket, &when);
        if life == LIVES {
            assert_eq!(briefly(&seen(&bucket)), briefly(&story.states[CUTS]), "{when}");
            objects_have_names(&bucket, &when);
        }
    }
}

#[test]
fn a_volume_in_a_bucket_survives_its_machines() {
    for seed in seeds_from_env(1..11) {
        run_reporting_seed(seed, || history(seed));
    }
}
