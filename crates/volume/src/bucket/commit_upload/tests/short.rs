//! A log of files that come and go does not grow without end.

use super::*;

/// Files that stay, of this length, each with nine that go.
const STAY: usize = 60;
const LENGTH: usize = 5000;
/// The most that a segment has.
const SEGMENT: u64 = 10 * (LENGTH as u64 + 500);

fn log_of(bucket: &Memory) -> (usize, u64) {
    let objects = bucket.objects.lock();
    let log = objects.iter().filter(|(name, _)| name.starts_with(".forebay/log/"));
    log.fold((0, 0), |(count, sum), (_, (bytes, _))| (count + 1, sum + bytes.len() as u64))
}

/// Bytes that are different in each file.
fn bytes(name: &str) -> Bytes {
    name.bytes().cycle().take(LENGTH).collect()
}

fn cut(ship: &mut CommitUploader, root: &Path) -> u64 {
    ship.make_commit(None, &|_| false).expect("looked at");
    let shipped = ship.upload_commit(&open_in(root)).expect("shipped");
    ship.truncate_log();
    shipped.map_or(0, |shipped| shipped.bytes)
}

/// So many cuts in which little changes; tells their bytes.
fn little(ship: &mut CommitUploader, root: &Path, cuts: usize) -> Vec<u64> {
    let change = |turn: usize| {
        std::fs::write(root.join("one"), vec![b'.'; turn + 1]).expect("written");
        cut(ship, root)
    };
    (0..cuts).map(change).collect()
}

/// In each cut a file that stays, and nine that go with the next; in the first one with an object,
/// whose checksums stay.
fn grow(ship: &mut CommitUploader, root: &Path) {
    std::fs::write(root.join("large"), vec![b'L'; LARGEST as usize + 1]).expect("written");
    for turn in 0..STAY {
        let write = |name: String| std::fs::write(root.join(&name), bytes(&name)).expect("written");
        write(format!("stays{turn}"));
        for number in 0..9 {
            let _ =
                std::fs::remove_file(root.join(format!("goes{}-{number}", turn.wrapping_sub(1))));
            write(format!("goes{turn}-{number}"));
        }
        cut(ship, root);
    }
}

#[test]
fn what_stays_of_sparse_segments_is_written_once_more_and_the_rest_goes() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    grow(&mut ship, root);
    let lives = (STAY + 9) as u64 * LENGTH as u64;
    let (count, sum) = log_of(&bucket);
    // Two checkpoints are kept with all that follows, three segments each, and what is moved next.
    assert!(
        count < 24 && sum < lives * 2 + 10 * SEGMENT,
        "{count} segments, {sum} bytes, {lives} live"
    );
    let state = local(root, &Away::new());
    assert!(seen(&bucket) == state, "another machine sees the same");

    // There is an end to it.
    let wrote = little(&mut ship, root, 30);
    assert!(wrote[20..].iter().all(|bytes| *bytes < 500), "{wrote:?}");
    std::fs::remove_file(root.join("one")).expect("removed");
    cut(&mut ship, root);
    assert!(seen(&bucket) == state, "and still");
}

#[test]
fn who_waits_for_a_cut_does_not_wait_for_that() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    ship.set_awaited(true);
    grow(&mut ship, root);
    let (count, _) = log_of(&bucket);
    assert!(count >= STAY, "each has a file that stays");
    ship.set_awaited(false);
    little(&mut ship, root, 10);
    assert!(log_of(&bucket).0 < 24, "it is made up for");
}

#[test]
fn who_reads_files_that_are_away_is_told_where_they_are_now() {
    let (bucket, folder) = (Memory::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    let mut ship = ship(&bucket, root);
    let said = Arc::new(Told::default());
    ship.set_readers(Arc::clone(&said) as Arc<dyn MoveObserver>);
    grow(&mut ship, root);
    let mut told = BTreeMap::new();
    for moved in said.0.lock().drain(..) {
        told.insert(moved.ino, (moved.place, moved.sums));
    }
    assert!(told.len() >= STAY / 2, "{}", told.len());
    assert!(told.values().any(|(_, sums)| sums.is_some()), "the checksums of the large one");
    for (ino, told) in told {
        let now = ship.tree.file(ino);
        let now = now.map(|file| (file.place.clone(), file.sums.as_deref().cloned()));
        assert!(now.is_none_or(|now| now == told), "file {ino}");
    }
}
