//! A power failure, as it is found afterwards: some of what was written is there, some is not.

use std::fs::{self, FileTimes};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::super::super::commit_upload::tests::{open_in, ship};
use super::super::super::log::Log;
use super::super::super::memory::Memory;
use super::super::super::placeholder::is_evicted;
use super::super::super::placeholder_tree::mark_synced;
use super::super::super::request::Bucket;
use super::*;

/// A state directory whose tree is in the bucket, with all that is known of it.
fn shipped(state: &StateDirectory, bucket: &Arc<Memory>, make: impl Fn(&Path)) {
    let tree = state.tree_directory();
    fs::create_dir(&tree).expect("made");
    make(&tree);
    let mut ship = ship(bucket, &tree);
    ship.make_commit(None, &|_| false).expect("looked at");
    ship.upload_commit(&open_in(&tree)).expect("shipped");
    let learnt = ship.scan_mut().take_learnt();
    let _ = state.begin_journal(ship.next_segment(), learnt, ship.tree()).expect("noted");
}

/// The tree is made anew; what people are told.
fn again(state: &StateDirectory, bucket: &Arc<Memory>) -> String {
    let bucket = Arc::clone(bucket) as Arc<dyn Bucket>;
    let (log, tree) = Log::open(bucket, "me".to_owned()).expect("whole");
    let learnt = state.read_journal().expect("read").learnt;
    let told =
        rebuild_local_tree(state, &tree, log.next_segment(), Some((&learnt, log.commit_end())))
            .expect("made");
    told.expect("it is told")
}

fn sync(path: &Path, segment: u64) {
    let file = fs::File::open(path).expect("opened");
    mark_synced(file.as_fd(), segment).expect("marked");
}

/// Bytes that never came to the disk.
fn lose(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("opened");
    let mtime = file.metadata().expect("there").modified().expect("a time");
    file.set_len(0).expect("cut");
    file.set_times(FileTimes::new().set_modified(mtime)).expect("set");
}

/// Later than anything that was written before.
fn write_later(path: &Path, bytes: &str) {
    fs::write(path, bytes).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opened");
    let written = file.metadata().expect("there").modified().expect("a time");
    let later = written + Duration::from_secs(10);
    file.set_times(FileTimes::new().set_modified(later)).expect("set");
}

#[test]
fn after_a_power_failure_the_bucket_wins_but_over_what_was_synced() {
    let (folder, bucket) = (tempfile::tempdir().expect("a folder"), Memory::new());
    let state = StateDirectory::lock_directory(folder.path(), "s3://b/v", "me").expect("taken");
    shipped(&state, &bucket, |tree| {
        fs::create_dir(tree.join("d")).expect("made");
        for name in ["whole", "lost", "gone", "newer", "synced", "d/moved", "synced before"] {
            fs::write(tree.join(name), format!("{name} in the bucket")).expect("written");
        }
        sync(&tree.join("synced before"), 0);
    });
    let tree = state.tree_directory();
    let at = |name: &str| tree.join(name);
    lose(&at("lost"));
    lose(&at("synced before"));
    fs::remove_file(at("gone")).expect("its name never came to the disk");
    write_later(&at("newer"), "newer here, perhaps not whole");
    write_later(&at("synced"), "newer here, and synced");
    sync(&at("synced"), 1);
    fs::create_dir(at("new")).expect("made");
    fs::write(at("new/synced"), "new here, and synced").expect("written");
    sync(&at("new/synced"), 1);
    fs::write(at("new/written"), "new here").expect("written");
    fs::write(at("empty"), "").expect("written");
    fs::rename(at("d/moved"), at("d/to")).expect("moved");
    write_later(&at("d/to"), "moved, and synced");
    sync(&at("d/to"), 1);

    let told = again(&state, &bucket);
    assert!(told.contains("2 that it does not have so") && told.contains("new/written"), "{told}");
    let read = |name: &str| fs::read_to_string(at(name)).unwrap_or_else(|error| error.to_string());
    for name in ["whole", "lost", "gone", "newer", "synced before"] {
        let file = fs::File::open(at(name)).expect(name);
        let size = file.metadata().expect("there").len() as usize;
        assert!(is_evicted(&file) && size == name.len() + " in the bucket".len(), "{name}");
    }
    assert_eq!(read("synced"), "newer here, and synced");
    assert_eq!(read("new/synced"), "new here, and synced");
    assert_eq!(read("d/to"), "moved, and synced");
    for name in ["d/moved", "new/written", "empty"] {
        assert!(!at(name).exists(), "{name}");
    }
    let kept = |name: &str| fs::read_to_string(folder.path().join("kept/1").join(name));
    assert_eq!(kept("newer").expect("kept"), "newer here, perhaps not whole");
    assert_eq!(kept("new/written").expect("kept"), "new here");
    assert!(kept("whole").is_err() && !folder.path().join("making").exists());

    // Nothing of that is lost by a second one, and nothing is kept twice.
    let told = again(&state, &bucket);
    assert!(!told.contains("kept"), "{told}");
    assert_eq!(
        (read("synced"), read("d/to")),
        ("newer here, and synced".into(), "moved, and synced".into())
    );
}

#[test]
fn a_name_that_the_bucket_got_later_wins_over_the_one_that_was_synced() {
    let (folder, bucket) = (tempfile::tempdir().expect("a folder"), Memory::new());
    let state = StateDirectory::lock_directory(folder.path(), "s3://b/v", "me").expect("taken");
    shipped(&state, &bucket, |tree| {
        fs::write(tree.join("x"), "in the bucket").expect("written");
    });
    let tree = state.tree_directory();
    // Open, written and synced, so that the bucket does not get these bytes; then its name changes,
    // which comes to the bucket and not to this machine's disk.
    let mut ship = ship(&bucket, &tree);
    ship.scan_mut().restore_learnt(&state.read_journal().expect("read").learnt);
    fs::rename(tree.join("x"), tree.join("y")).expect("moved");
    ship.make_commit(None, &|_| true).expect("looked at");
    ship.upload_commit(&open_in(&tree)).expect("shipped");
    fs::rename(tree.join("y"), tree.join("x")).expect("never moved here");
    write_later(&tree.join("x"), "synced");
    sync(&tree.join("x"), 1);
    again(&state, &bucket);
    assert_eq!(fs::read_to_string(tree.join("y")).expect("its name in the bucket"), "synced");
    assert!(!tree.join("x").exists());
}
