//! Readers of a volume that another machine writes. If these fail, a reader shows what is old for
//! ever, or two states at once, or does to the bucket what it must not.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bucket::{LIST, MAKE, Volume, same};
use crate::place::{Done, PATIENCE, done, wait_until};
use crate::s3::Server;
use crate::s3::faults::Refusal;

/// A volume, and a door to its bucket for who may read alone.
struct Followed {
    volume: Volume,
    door: Server,
}

/// Looks come so often.
const EVERY: &str = "200 ms";

impl Followed {
    fn with_fuse() -> Option<Followed> {
        let volume = Volume::with_fuse()?;
        let buckets = volume.object("").ancestors().nth(3).expect("buckets").to_owned();
        let door = Server::start(&buckets, Duration::ZERO);
        door.refuse(Some(Refusal::Writes(403, "AccessDenied")));
        Some(Followed { volume, door })
    }

    fn follow(&self, options: &[&str], point: &Path) -> Done {
        let mut command = self.volume.place.forebay(&["mount", "--read-only"]);
        command.envs(self.door.settings()).args(options).arg("s3://ours/lab/v").arg(point);
        done(&mut command)
    }

    fn point(&self, name: &str) -> PathBuf {
        let point = self.volume.place.all.join(name);
        std::fs::create_dir_all(&point).expect("a mount point");
        point
    }

    /// What is shown there becomes what the writer shows.
    fn comes(&self, point: &Path) {
        let wanted = self.volume.sh(&self.volume.at(), LIST);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && self.listing(point) != wanted {
            std::thread::sleep(Duration::from_millis(100));
        }
        same(&self.listing(point), &wanted, "what the writer has");
    }

    /// While names come and go it may fail.
    fn listing(&self, point: &Path) -> String {
        let mut list = std::process::Command::new("sh");
        done(list.args(["-euc", LIST]).current_dir(point)).text()
    }

    fn writes(&self) -> u64 {
        let kinds = self.door.tally();
        let writes = ["PUT", "POST", "COPY", "DELETE"].iter().filter_map(|kind| kinds.get(kind));
        writes.map(|kind| kind.requests).sum()
    }
}

const CHANGE: &str = "echo more >> a/x; mv c/1 c/one; mv a/b b; ln c/2 a/two; rm c/3 hard
    chmod 600 c/4; echo other > c/5; mv c/5 c/6; ln -sfn nowhere c/link; rm -r b; mkdir b
    echo b > b/y; head -c 300000 /dev/urandom > c/new; mv c/new c/large; mkdir -p d/e
    mv c d/e/c; touch -d 2001-01-01 empty";

#[test]
fn a_reader_follows_what_a_writer_does_and_does_nothing_itself() {
    let Some(followed) = Followed::with_fuse() else { return };
    let Followed { volume, door } = &followed;
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), MAKE);
    wait_until("there is a volume", || volume.object(".forebay/log/0000000000000001").exists());
    let (there, other) = (volume.there(), followed.point("other"));
    followed.follow(&["--every", EVERY], &there).code(0).says("is at");
    followed.comes(&there);
    // Another one beside it, and beside the writer.
    followed.follow(&["--every", EVERY], &other).code(0);
    volume.sh(&volume.at(), CHANGE);
    followed.comes(&there);
    followed.comes(&other);

    let refused = "for try in 'echo x > new' 'echo x >> a/x' 'rm a/x' 'mkdir new' 'rmdir b' \
        'mv a/x a/z' 'ln a/x z' 'ln -s a z' 'chmod 600 a/x' 'touch a/x' 'truncate -s 0 empty'
        do if sh -c \"$try\" 2> ../why; then echo \"$try went\"; fi
        grep -q 'Read-only file system' ../why || cat ../why; done
        grep \" $PWD \" /proc/self/mountinfo | cut -d' ' -f6 | cut -c1-3";
    assert_eq!(volume.sh(&there, refused), "ro,\n");

    // Nothing comes, and it goes on looking, and does nothing else.
    volume.unmount(&other).code(0);
    volume.sh(&volume.at(), "sync .");
    let before = door.requests();
    wait_until("it looks again and again", || door.requests() >= before + 15);
    assert_eq!(followed.writes(), 0, "{:?}", door.tally());

    let end = volume.unmount(&there);
    assert!(!end.code(0).stderr.contains("Ctrl-C"), "nobody waits for a drain: {}", end.stderr);
    volume.unmount(&volume.at()).code(0);
    let kept = volume.place.state.join("forebay/followed");
    let is_kept = |one: std::fs::DirEntry| one.path().join("tree").exists();
    wait_until("nothing is kept", || {
        let readers: Vec<_> = std::fs::read_dir(&kept).expect("readers").flatten().collect();
        readers.len() == 2 && !readers.into_iter().any(is_kept)
    });
    volume.place.nobody_left();
}

#[test]
#[ignore = "timing: make timing"]
fn timing_a_reader_asks_once_for_each_look_and_leaves_at_once() {
    let Some(followed) = Followed::with_fuse() else { return };
    let Followed { volume, door } = &followed;
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "echo here > x; sync x");
    wait_until("there is a volume", || volume.object(".forebay/log/0000000000000001").exists());
    let there = volume.there();
    followed.follow(&["--every", EVERY], &there).code(0);
    followed.comes(&there);
    // One request each time, and now and then a second one.
    let seconds = 3;
    volume.sh(&volume.at(), "sync .");
    std::thread::sleep(Duration::from_secs(2));
    let before = door.requests();
    std::thread::sleep(Duration::from_secs(seconds));
    let requests = door.requests() - before;
    let looks = seconds * 5;
    let most = looks + looks / 12 + 2;
    assert!((5..=most).contains(&requests), "{requests} requests in {looks} looks");
    for refusal in [None, Some(Refusal::Away)] {
        door.refuse(refusal);
        let begun = Instant::now();
        volume.unmount(&there).code(0);
        assert!(begun.elapsed() < Duration::from_secs(3), "nobody waits, also with {refusal:?}");
        if refusal.is_none() {
            followed.follow(&["--every", EVERY], &there).code(0);
        }
    }
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_reader_survives_a_takeover_and_a_log_that_was_made_short_behind_its_back() {
    let Some(followed) = Followed::with_fuse() else { return };
    let volume = &followed.volume;
    volume.try_mount("one", &["--durable", "bucket"], &volume.at()).code(0);
    let make = "echo early > early; echo stays > stays; head -c 300000 /dev/urandom > large
        sync early stays large";
    volume.sh(&volume.at(), make);
    let there = volume.there();
    followed.follow(&["--every", "1 h"], &there).code(0);
    assert_eq!(volume.sh(&there, "cat early"), "early\n");
    let (first, second) = (volume.object(".forebay/log"), volume.object(".forebay/checkpoint"));
    let segments = || {
        let names = std::fs::read_dir(&first).expect("a log").flatten();
        names.map(|entry| entry.file_name()).min().expect("segments")
    };
    let begun = segments();
    volume.kill(&volume.at());
    volume.try_mount("two", &["--take-over", "--durable", "bucket"], &volume.at()).code(0);
    // A segment each, until none is left of those that the reader knows but what a writer began with.
    let many = "for n in $(seq 220); do echo $n > f; sync f; done; mv large moved
        echo changed > early; sync early; rm f";
    volume.sh(&volume.at(), many);
    assert!(std::fs::read_dir(second).expect("checkpoints").count() == 2, "it was made short");
    assert_eq!(begun, segments(), "who was replaced tries this number");
    volume.sh(&volume.at(), "sync .");
    // Nobody has looked since: what is missed makes it look.
    let sum = volume.sh(&volume.at(), "md5sum < moved");
    wait_until("the object has its name", || volume.object("moved").exists());
    assert_eq!(volume.sh(&there, "cat stays"), "stays\n");
    assert_eq!(volume.sh(&there, "md5sum < large || md5sum < moved"), sum);
    followed.comes(&there);
    assert_eq!(volume.sh(&there, "cat early"), "changed\n");
    volume.unmount(&there).code(0);
    assert_eq!(followed.writes(), 0);
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_bucket_that_is_away_is_waited_for_and_an_unmount_is_not_kept() {
    let Some(followed) = Followed::with_fuse() else { return };
    let Followed { volume, door } = &followed;
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "echo one > x; head -c 300000 /dev/urandom > large");
    volume.unmount(&volume.at()).code(0);
    let there = volume.there();
    followed.follow(&["--every", EVERY, "--patience", "60 s"], &there).code(0);
    assert_eq!(volume.sh(&there, "cat x"), "one\n");
    door.refuse(Some(Refusal::Away));
    let doctor = || {
        let text = done(&mut volume.forebay(&["doctor"])).text();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains(&format!("s3://ours/lab/v at {}: out of reach since 20", there.display()))
    };
    wait_until("the doctor knows", doctor);
    assert_eq!(volume.sh(&there, "cat x"), "one\n", "what is here is here");
    let mut read = std::process::Command::new("md5sum");
    let read = read.arg(there.join("large")).stdout(std::process::Stdio::piped());
    let read = read.spawn().expect("started");
    // Meanwhile it was written.
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "echo two > x");
    volume.unmount(&volume.at()).code(0);
    door.refuse(Some(Refusal::Writes(403, "AccessDenied")));
    crate::place::finish(read, 3 * crate::place::PATIENCE).code(0);
    wait_until("it follows again", || volume.sh(&there, "cat x") == "two\n");
    wait_until("the doctor knows", || !doctor());
    door.refuse(Some(Refusal::Away));
    // It is away for good: who waited for it would not end, or say that it is out of reach.
    let end = volume.unmount(&there);
    assert!(!end.code(0).stderr.contains("Ctrl-C"), "nobody waits: {}", end.stderr);
    volume.place.nobody_left();
}

#[test]
fn what_can_not_be_followed_is_said_and_nothing_is_made() {
    let Some(followed) = Followed::with_fuse() else { return };
    let Followed { volume, door } = &followed;
    let there = volume.there();
    let end = followed.follow(&[], &there);
    end.code(125).says("it has no volume").says("without --read-only, mounting makes one");
    std::fs::create_dir_all(volume.object("")).expect("a folder");
    std::fs::write(volume.object("theirs.txt"), "not ours").expect("an object");
    followed.follow(&[], &there).code(125).says("theirs.txt").says("name the prefix of a volume");
    door.refuse(Some(Refusal::All(403, "AccessDenied")));
    followed.follow(&[], &there).code(125).says("a reader lists and reads");
    followed.follow(&["--every", "1 ms"], &there).code(125).says("name 100 ms or more");
    let mut plain = volume.forebay(&["mount", "--read-only"]);
    let end = done(plain.arg(&volume.place.project).arg(&there));
    end.code(125).says("--read-only is for volumes in a bucket");
    let taken = followed.follow(&["--take-over"], &there);
    assert!(taken.stderr.contains("cannot be used with"), "{}", taken.stderr);
    assert_eq!(followed.writes(), 0);
    volume.place.nobody_left();
}
