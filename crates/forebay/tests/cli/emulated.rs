//! What an emulated storage does with writes. If these fail, programs lose bytes on it, or wait for
//! each write where the client of no real storage makes them wait.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::daemon_log::{mount, unmount};
use crate::place::{Place, done};

/// The project, as a storage shows it whose operations cost nothing.
fn mount_free_storage(place: &Place) -> PathBuf {
    let run = place.run.to_str().expect("UTF-8");
    mount(place, &["--emulate", "0ms", "-o", run], "point")
}

/// Bytes that the storage has of a file.
fn stored_bytes(place: &Place, name: &str) -> u64 {
    std::fs::metadata(place.project.join(name)).expect("there").len()
}

fn small_writes(path: &Path, count: u64) {
    let mut file = File::create(path).expect("made");
    for number in 0..count {
        file.write_all(&[number as u8; 512]).expect("written");
    }
}

#[test]
fn writes_come_collected_when_a_file_is_closed_or_synced() {
    let Some(place) = Place::with_fuse() else { return };
    let point = mount_free_storage(&place);
    small_writes(&point.join("many"), 20_000);
    assert_eq!(stored_bytes(&place, "many"), 20_000 * 512, "a close waits until all are there");
    let mut synced = File::create(point.join("synced")).expect("made");
    synced.write_all(b"first").expect("written");
    assert_eq!(stored_bytes(&place, "synced"), 0, "nobody waits for a write");
    synced.sync_all().expect("synced");
    assert_eq!(place.read("synced"), "first");
    drop(synced);
    unmount(&place, &point).code(0);
    let record = place.record();
    let writes = record.number("SELECT sum(count) FROM ops WHERE op = 'write'");
    assert!((2..2_000).contains(&writes), "{writes}");
    let bytes = "SELECT sum(written_bytes) FROM opens JOIN files USING (file) WHERE path = 'many'";
    // A page that was sent half full is sent again.
    let bytes = record.number(bytes);
    assert!((10_240_000..11_000_000).contains(&bytes), "{bytes} by whoever wrote them");
    assert_eq!(record.number("SELECT count(*) FROM ops WHERE op = 'setattr'"), 0, "no program's");
    drop(record);
    place.nothing_left();
}

/// A run asks the storage for the entries of a directory and for its end, and once for each.
#[test]
fn the_end_of_a_directory_is_asked_for_once() {
    let Some(place) = Place::with_fuse() else { return };
    for name in ["a", "b", "c"] {
        std::fs::write(place.project.join(name), name).expect("written");
    }
    let point = mount_free_storage(&place);
    let run = place.all.join("listed.run");
    let mut listed = place.forebay(&["run", "-q", "-o"]);
    let listed = done(listed.arg(&run).args(["--", "ls", "-U"]).current_dir(&point));
    assert_eq!(listed.code(0).text().lines().count(), 3);
    unmount(&place, &point).code(0);
    let record = place.record();
    let count = |op: &str| {
        record.number(&format!("SELECT coalesce(sum(count), 0) FROM ops WHERE op = '{op}'"))
    };
    assert_eq!(count("readdir"), 2 * count("opendir"));
    assert!(count("opendir") > 0);
    drop(record);
    place.nothing_left();
}

/// What a listing shows is not asked for one by one, nor is the directory itself; and where rules pack
/// files, directories are not listed twice.
#[test]
fn a_listing_asks_the_storage_as_often_as_its_program() {
    const DIRECTORIES: i64 = 30;
    let Some(place) = Place::with_fuse() else { return };
    for number in 0..DIRECTORIES {
        let directory = place.project.join(format!("d{number}"));
        std::fs::create_dir(&directory).expect("made");
        for name in ["a", "b", "c"] {
            std::fs::write(directory.join(name), name).expect("written");
        }
    }
    let (site, rules) = (place.all.join("site.toml"), place.all.join("rules.toml"));
    let fast = place.all.join("fast");
    std::fs::create_dir(&fast).expect("made");
    let text = format!("[tier.fast]\npath = \"{}\"\nreach = \"node\"\n", fast.display());
    std::fs::write(&site, text).expect("written");
    let text = "[[rule]]\nmatch = \"**\"\nhome = \"fast\"\nlayout = \"packed\"\n\
                [[metadata_cache]]\nmatch = \"**\"\ntimeout = \"1 s\"\n";
    std::fs::write(&rules, text).expect("written");
    let packed = ["--site".as_ref(), site.as_os_str(), "--rules".as_ref(), rules.as_os_str()];
    for options in [&[][..], &packed[..]] {
        // On a busy machine attributes expire in the midst of it, and are asked for again.
        let is_as_often = || {
            let point = mount_free_storage(&place);
            let mut listed = place.forebay(&["run", "-q", "--force", "-o"]);
            listed.arg(place.all.join("listed.run")).args(options).args(["--", "find", "."]);
            let listed = done(listed.current_dir(&point));
            let told = listed.code(0).text();
            let names = told.lines().filter(|name| !name.contains(".forebay"));
            assert_eq!(names.count() as i64, 1 + 4 * DIRECTORIES);
            unmount(&place, &point).code(0);
            let record = place.record();
            let count = |op: &str| {
                record.number(&format!("SELECT coalesce(sum(count), 0) FROM ops WHERE op = '{op}'"))
            };
            let [opened, read, looked] = ["opendir", "readdir", "getattr"].map(count);
            // Those beside them are Forebay's own folder.
            assert!((DIRECTORIES + 1..DIRECTORIES + 12).contains(&opened), "{opened} opened");
            assert!(read <= 2 * opened, "{read} read of {opened}");
            drop(record);
            std::fs::remove_file(&place.run).expect("removed");
            looked < DIRECTORIES
        };
        assert!((0..20).any(|_| is_as_often()), "attributes are asked for with {options:?}");
    }
}

#[test]
fn collected_writes_are_where_programs_wrote_them() {
    let Some(place) = Place::with_fuse() else { return };
    for (name, text) in [("old", &*"o".repeat(10_000)), ("log", "begun\n"), ("sealed", "....")] {
        std::fs::write(place.project.join(name), text).expect("written");
    }
    let sealed = place.project.join("sealed");
    std::fs::set_permissions(&sealed, PermissionsExt::from_mode(0o200)).expect("set");
    let point = mount_free_storage(&place);
    let only_writes = |name: &str| OpenOptions::new().write(true).open(point.join(name));

    let old = only_writes("old").expect("open");
    old.write_all_at(b"new", 5_000).expect("a part of a page that was not read");
    let mut seen = vec![0; 5];
    File::open(point.join("old")).expect("open").read_exact_at(&mut seen, 4_999).expect("read");
    assert_eq!(seen, b"onewo", "before it is closed");
    old.set_len(6_000).expect("cut");
    drop(old);

    let append = || OpenOptions::new().append(true).open(point.join("log")).expect("open");
    let (mut one, mut two) = (append(), append());
    for number in 0..100 {
        writeln!(one, "one {number}").expect("written");
        writeln!(two, "two {number}").expect("written");
    }
    drop((one, two));

    only_writes("sealed").expect("open").write_all_at(b"ok", 1).expect("written");

    let mut holes = File::create(point.join("holes")).expect("made");
    holes.seek(SeekFrom::Start(1 << 20)).expect("ahead");
    holes.write_all(b"end").expect("written");
    let at = rustix::fs::seek(&holes, rustix::fs::SeekFrom::Data(0)).expect("data somewhere");
    assert!(at <= 1 << 20, "{at}");
    holes.seek(SeekFrom::End(0)).expect("the end");
    std::fs::rename(point.join("holes"), point.join("renamed")).expect("while it is open");
    holes.write_all(b"!").expect("written");
    drop(holes);

    let mut text = String::new();
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o400)
        .open(point.join("own"))
        .and_then(|mut file| {
            file.write_all(b"whole")?;
            file.rewind()?;
            file.read_to_string(&mut text)
        })
        .expect("who makes a file may write it");
    assert_eq!(text, "whole");

    let shown = std::fs::metadata(point.join("log")).expect("there").modified().expect("a time");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let dated = File::create(point.join("dated")).expect("made");
    dated.set_modified(long_ago).expect("set");
    drop(dated);
    unmount(&place, &point).code(0);

    let old = place.read("old");
    assert_eq!((old.len(), &old[4_999..5_004]), (6_000, "onewo"));
    let log = place.read("log");
    let told: Vec<String> =
        (0..100).flat_map(|n| [format!("one {n}"), format!("two {n}")]).collect();
    assert_eq!(log.lines().collect::<Vec<_>>(), [&["begun".to_owned()], &told[..]].concat());
    let modified = |name: &str| {
        std::fs::metadata(place.project.join(name))
            .and_then(|about| about.modified())
            .expect("a time")
    };
    // Bytes that the kernel sends by itself may come after it has told the time of the write.
    let later = modified("log").duration_since(shown).unwrap_or_default();
    assert!(later < Duration::from_secs(2), "{later:?} after the last write");
    assert_eq!(modified("dated"), long_ago);
    std::fs::set_permissions(&sealed, PermissionsExt::from_mode(0o600)).expect("set");
    assert_eq!(place.read("sealed"), ".ok.");
    let renamed = std::fs::read(place.project.join("renamed")).expect("there");
    assert_eq!((renamed.len(), &renamed[1 << 20..]), ((1 << 20) + 4, &b"end!"[..]));
    assert_eq!(renamed[..1 << 20].iter().filter(|byte| **byte != 0).count(), 0);
    assert_eq!(place.read("own"), "whole");
    assert_eq!(std::fs::metadata(place.project.join("own")).expect("there").mode() & 0o777, 0o400);
    place.nothing_left();
}

#[test]
fn a_run_asks_the_storage_for_each_file_as_often_as_its_programs() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for n in $(seq 40); do echo $n > old.$n; done";
    done(std::process::Command::new("sh").args(["-ec", script]).current_dir(&place.project));
    let point = mount_free_storage(&place);
    let inner = place.all.join("inner.run");
    let mut run = place.forebay(&["run", "-q", "-o"]);
    run.arg(&inner).args(["--", "sh", "-ec", "cat old.*; for n in $(seq 20); do cat old.$n; done"]);
    done(run.current_dir(&point)).code(0);
    unmount(&place, &point).code(0);
    let opened = "SELECT sum(count) FROM ops WHERE op = 'open'";
    let of = |run: &Path| {
        rusqlite::Connection::open(run)
            .and_then(|run| run.query_row(opened, [], |row| row.get::<_, i64>(0)))
    };
    assert_eq!(of(&inner).expect("counts"), 60);
    let below = of(&place.run).expect("counts");
    // As root the kernel opens each once more; before Linux 6.16 beside us.
    let kernel = rustix::system::uname();
    let release = kernel.release().to_string_lossy().into_owned();
    let mut parts = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let most = match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) if (major, minor) < (6, 16) => 120 + 4,
        _ => 60 + 4,
    };
    assert!(below <= most, "{below} opens of the storage for 60");
    place.nothing_left();
}
