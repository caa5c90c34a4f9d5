//! The machine loses power while a volume in a bucket is mounted: its disk is as it was at some
//! moment, without what was in memory. If this fails, files that the bucket had are damaged here and
//! then there, or something is gone that fsync(2) returned for.
//!
//! The disk is a loop device over a file of an XFS of its own, of which a clone is taken at once
//! (reflink), whatever is being written meanwhile. `FOREBAY_SEEDS` says how many failures there are,
//! or which (FROM..TO).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::bucket::Volume;
use crate::place::done;

/// Files of the program.
const FILES: u64 = 40;
/// Within so many milliseconds the power fails.
const LONGEST: u64 = 4000;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Lot(u64);

impl Lot {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// The bytes of a version of a file: nothing else has them.
fn bytes_of(file: u64, version: u64) -> Vec<u8> {
    let length = match (file + version) % 5 {
        0 => 200_000,
        n => 30 + n as usize * 2000,
    };
    let word = format!("{file} {version} ");
    word.repeat(length / word.len() + 1).into_bytes()
}

/// Which version of which file these bytes are.
fn version_of(bytes: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(bytes.get(..bytes.len().min(60))?).ok()?;
    let mut words = text.split(' ');
    let (file, version) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (bytes_of(file, version) == bytes).then_some((file, version))
}

/// What the program was told: the last version of each file, and the last for which fsync returned.
#[derive(Debug, Clone, Default)]
struct Told {
    written: BTreeMap<u64, u64>,
    synced: BTreeMap<u64, u64>,
}

/// Writes until it is to stop: some files in place, and not synced; some beside, synced and renamed.
fn work(root: &Path, lot: &mut Lot, told: &mut Told, stop: &AtomicBool, power: &AtomicBool) {
    let mut version = 0;
    while !stop.load(SeqCst) {
        version += 1;
        let file = lot.draw(FILES);
        let (name, bytes) = (root.join(format!("d{}/f{file}", file % 3)), bytes_of(file, version));
        let synced = file.is_multiple_of(2);
        let to = if synced { name.with_extension("new") } else { name.clone() };
        let write = || {
            let mut made = File::create(&to)?;
            made.write_all(&bytes)?;
            if synced { made.sync_all() } else { Ok(()) }
        };
        write().expect("written");
        // What is told after the power failed is nobody's promise.
        if synced && power.load(SeqCst) {
            told.synced.insert(file, version);
        }
        if synced {
            fs::rename(&to, &name).expect("renamed");
        }
        told.written.insert(file, version);
        std::thread::sleep(Duration::from_millis(lot.draw(40)));
    }
}

/// Versions of all files below a mount.
fn seen(root: &Path, when: &str) -> BTreeMap<PathBuf, (u64, u64)> {
    let mut seen = BTreeMap::new();
    for folder in fs::read_dir(root).expect("read").map(|entry| entry.expect("one").path()) {
        for entry in fs::read_dir(&folder).expect("read").map(|entry| entry.expect("one").path()) {
            let bytes = fs::read(&entry).unwrap_or_else(|why| panic!("{when}: {entry:?}: {why}"));
            let version = version_of(&bytes);
            let Some(version) = version else {
                panic!("{when}: {entry:?} has {} bytes that nobody wrote", bytes.len())
            };
            seen.insert(entry.strip_prefix(root).expect("below").to_owned(), version);
        }
    }
    seen
}

#[track_caller]
fn run(words: &[&str]) {
    done(Command::new(words[0]).args(&words[1..])).code(0);
}

/// Mounts that go with the test.
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn mount(&mut self, options: &[&str], from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("made");
        let (from, at) = (from.to_string_lossy(), to.to_string_lossy());
        run(&[&["mount"], options, &[&from, &at]].concat());
        self.0.push(to.to_owned());
    }

    fn unmount(&mut self, from: &Path) {
        // Namespaces of other tests may have copies of it.
        run(&["umount", "-l", &from.to_string_lossy()]);
        self.0.retain(|mounted| mounted != from);
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for mounted in self.0.iter().rev() {
            let _ = Command::new("umount").arg("-l").arg(mounted).status();
        }
    }
}

fn failure(seed: u64) {
    let Some(volume) = Volume::with_root() else { return };
    let mut lot = Lot(seed);
    let (kind, is_unmounted) = (["ext4", "xfs"][seed as usize % 2], lot.draw(5) == 0);
    let when = format!("seed {seed} (FOREBAY_SEEDS={seed}..{}), {kind}", seed + 1);
    let all = &volume.place.all;
    let (memory, ground, disk) = (all.join("memory"), all.join("ground"), all.join("disk"));
    let mut mounts = Mounts(Vec::new());
    // Disks upon disks wait for each other, and for all who use this one.
    mounts.mount(&["-t", "tmpfs"], Path::new("tmpfs"), &memory);
    let under = memory.join("image");
    run(&["truncate", "-s", "2G", &under.to_string_lossy()]);
    run(&["mkfs.xfs", "-q", "-m", "reflink=1", &under.to_string_lossy()]);
    mounts.mount(&["-o", "loop"], &under, &ground);
    let (image, copy) = (ground.join("image"), ground.join("copy"));
    run(&["truncate", "-s", "320M", &image.to_string_lossy()]);
    run(&[&format!("mkfs.{kind}"), "-q", &image.to_string_lossy()]);
    let options = if kind == "ext4" { "loop,commit=1" } else { "loop" };
    mounts.mount(&["-o", options], &image, &disk);

    let (at, there) = (volume.at(), volume.there());
    volume.mount("disk/state", &at);
    (0..3).for_each(|number| fs::create_dir(at.join(format!("d{number}"))).expect("made"));
    let mut told = Told::default();
    let (stop, power) = (AtomicBool::new(false), AtomicBool::new(true));
    let patience = Duration::from_millis(500 + lot.draw(LONGEST));
    std::thread::scope(|scope| {
        let mut works = Lot(lot.draw(u64::MAX));
        let (told, stop, power, root) = (&mut told, &stop, &power, &at);
        scope.spawn(move || work(root, &mut works, told, stop, power));
        std::thread::sleep(patience);
        if !is_unmounted {
            power.store(false, SeqCst);
            run(&["cp", "--reflink=always", &image.to_string_lossy(), &copy.to_string_lossy()]);
        }
        stop.store(true, SeqCst);
    });
    if is_unmounted {
        volume.unmount(&at).code(0);
        run(&["cp", "--reflink=always", &image.to_string_lossy(), &copy.to_string_lossy()]);
    } else {
        volume.kill(&at);
    }
    volume.try_mount("reader", &["--read-only"], &there).code(0);
    let before = seen(&there, &when);
    volume.unmount(&there).code(0);
    mounts.unmount(&disk);

    // Where the image was, the copy is mounted in its place: an XFS may be mounted elsewhere still.
    let options = if kind == "xfs" { "loop,nouuid" } else { "loop" };
    mounts.mount(&["-o", options], &copy, &disk);
    let mount = volume.try_mount("disk/state", &[], &at);
    mount.code(0);
    let after = seen(&at, &when);
    for (path, (file, version)) in &before {
        // A name beside goes with the file that has taken its own.
        let own = PathBuf::from(format!("d{}/f{file}", file % 3));
        let now = after.get(path).or_else(|| after.get(&own));
        let Some((_, now)) = now else { panic!("{when}: {path:?} is gone: {}", mount.stderr) };
        assert!(now >= version, "{when}: {path:?} is {now}, the bucket had {version}");
    }
    for (file, version) in &told.synced {
        let of_file = after.values().filter(|(of, _)| of == file);
        let newest = of_file.map(|(_, version)| *version).max();
        assert!(newest >= Some(*version), "{when}: {file} is {newest:?}, synced was {version}");
    }
    if is_unmounted {
        let names = |seen: &BTreeMap<PathBuf, (u64, u64)>| seen.clone();
        assert_eq!(names(&after), names(&before), "{when}: it was unmounted");
        let last: BTreeMap<u64, u64> = after.values().copied().collect();
        assert_eq!(last, told.written, "{when}: it was unmounted");
        assert!(!mount.stderr.contains("went down"), "{when}: {}", mount.stderr);
    }
    volume.unmount(&at).code(0);
    volume.try_mount("reader", &["--read-only"], &there).code(0);
    assert_eq!(seen(&there, &when), after, "{when}: what is here is in the bucket");
    volume.unmount(&there).code(0);
    mounts.unmount(&disk);
    mounts.unmount(&ground);
    mounts.unmount(&memory);
    volume.place.nobody_left();
}

#[test]
fn a_power_failure_takes_nothing_that_the_bucket_has_or_that_was_synced() {
    let text = std::env::var("FOREBAY_SEEDS").unwrap_or_else(|_| "1..5".to_owned());
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (from.parse(), to.parse()),
        None => (Ok(1), text.parse::<u64>().map(|count| count + 1)),
    };
    let seeds = from.expect("FOREBAY_SEEDS: FROM..TO, or a number")..to.expect("a number");
    seeds.for_each(failure);
}
