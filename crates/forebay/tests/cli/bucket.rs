//! Volumes in a bucket. If these fail, what a program wrote is lost with its machine, or another
//! machine sees something that never was.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::place::{Done, PATIENCE, Place, done, finish, skip, wait_until};
use crate::s3::Server;
use crate::s3::faults::Fault;

/// A volume in a bucket, and a place to mount it.
pub(crate) struct Volume {
    pub(crate) place: Place,
    buckets: PathBuf,
    pub(crate) server: Server,
}

impl Volume {
    pub(crate) fn with(start: impl FnOnce(&Path) -> Server) -> Option<Volume> {
        let place = Place::with_fuse()?;
        let buckets = place.all.join("buckets");
        std::fs::create_dir_all(buckets.join("ours")).expect("a bucket");
        for point in ["at", "there"] {
            std::fs::create_dir(place.all.join(point)).expect("a mount point");
        }
        let server = start(&buckets);
        Some(Volume { place, buckets, server })
    }

    pub(crate) fn with_fuse() -> Option<Volume> {
        Volume::with(|buckets| Server::start(buckets, Duration::ZERO))
    }

    /// Where this is root.
    pub(crate) fn with_root() -> Option<Volume> {
        Place::with_root()?;
        Volume::with_fuse()
    }

    pub(crate) fn at(&self) -> PathBuf {
        self.place.all.join("at")
    }

    pub(crate) fn there(&self) -> PathBuf {
        self.place.all.join("there")
    }

    pub(crate) fn forebay(&self, words: &[&str]) -> Command {
        let mut command = self.place.forebay(words);
        command.envs(self.server.settings());
        command
    }

    /// Mounts it as the machine that keeps its files in `state`.
    pub(crate) fn try_mount(&self, state: &str, options: &[&str], point: &Path) -> Done {
        let mut command = self.forebay(&["mount", "--state"]);
        command.arg(self.place.all.join(state)).args(options).arg("s3://ours/lab/v").arg(point);
        done(&mut command)
    }

    pub(crate) fn mount(&self, state: &str, point: &Path) {
        self.try_mount(state, &[], point).code(0);
    }

    /// Another test's child has copies of all that this process has open until it runs its program:
    /// a file that was just closed may keep the mount busy for so long.
    pub(crate) fn unmount(&self, point: &Path) -> Done {
        let unmount = || done(self.forebay(&["unmount"]).arg(point));
        let mut end = unmount();
        for _ in 0..100 {
            if !end.stderr.contains("Device or resource busy") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            end = unmount();
        }
        end
    }

    /// A shell script in the mounted volume.
    pub(crate) fn sh(&self, point: &Path, script: &str) -> String {
        let end = done(Command::new("sh").args(["-euc", script]).current_dir(point));
        end.code(0);
        end.text()
    }

    pub(crate) fn object(&self, name: &str) -> PathBuf {
        self.buckets.join("ours/lab/v").join(name)
    }

    /// Objects that are files of the volume.
    pub(crate) fn plain(&self) -> Vec<String> {
        let root = self.object("");
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                match entry.file_type().expect("a type").is_dir() {
                    true if name != ".forebay" => folders.push(entry.path()),
                    false if !name.starts_with('.') => {
                        let path = entry.path();
                        let path = path.strip_prefix(&root).expect("below").to_owned();
                        found.push(path.display().to_string());
                    }
                    _ => {}
                }
            }
        }
        found.sort();
        found
    }

    /// The daemon of the mount at `point` is killed, and the mount taken away.
    pub(crate) fn kill(&self, point: &Path) {
        self.kill_daemon(point);
        let _ = self.unmount(point);
    }

    /// The daemon of the mount at `point` is killed.
    pub(crate) fn kill_daemon(&self, point: &Path) {
        let mut killed = false;
        for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let is_ours =
                line.contains("forebay mount") && line.contains(&*point.to_string_lossy());
            if let Some(pid) = entry.file_name().to_str().filter(|_| is_ours)
                && pid.parse::<u32>().is_ok()
            {
                killed |= Command::new("kill").args(["-9", pid]).status().expect("kill").success();
            }
        }
        assert!(killed, "there was no daemon");
        let gone = || std::fs::metadata(point).is_err();
        wait_until("the mount is dead", gone);
    }
}

/// Two listings are the same; else their differences are told.
#[track_caller]
pub(crate) fn same(now: &str, before: &str, why: &str) {
    let only = |one: &str, other: &str| {
        let other: Vec<_> = other.lines().collect();
        one.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(now == before, "{why}: now {:#?}\nbefore {:#?}", only(now, before), only(before, now));
}

pub(crate) const MAKE: &str = "mkdir -p a/b c; echo one > a/x; echo two > a/b/y; : > empty
    head -c 300000 /dev/urandom > c/large; ln -s ../a/x c/link; ln a/x hard; chmod 750 a/b
    chmod 444 a/b/y; touch -d '2020-01-02 03:04:05.123456789' a/x; mkfifo pipe
    for n in $(seq 50); do echo small $n > c/$n; done
    label() { python3 -c 'import os, sys; a = sys.argv; os.setxattr(a[1], a[2], a[3].encode())' $*; }
    label c/3 user.sample tumour; label c/large user.x y; label a user.of folder";
pub(crate) const LIST: &str = "find . -mindepth 1 -printf '%P %y %m %s %T@ %n %l\\n' | sort;
    find . -type f | sort | xargs md5sum
    find . -type f -o -type d | sort | python3 -c 'import os, sys
for name in sys.stdin.read().split():
    for key in os.listxattr(name): print(name, key, os.getxattr(name, key))'";

#[test]
fn what_was_written_is_on_another_machine_after_unmounting() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), MAKE);
    let before = volume.sh(&volume.at(), LIST);
    volume.unmount(&volume.at()).code(0).says("all of it is in s3://ours/lab/v");
    assert_eq!(volume.plain(), ["c/large"], "a large file is an object of its own name");
    volume.mount("two", &volume.there());
    same(&volume.sh(&volume.there(), LIST), &before, "on another machine");
    // Changed there, and seen here again.
    volume.sh(
        &volume.there(),
        "echo more >> a/b/../../hard; mv c/large a/moved; rm c/7; mv a/b d; echo new > c/8",
    );
    let after = volume.sh(&volume.there(), LIST);
    volume.unmount(&volume.there()).code(0);
    assert_eq!(volume.plain(), ["a/moved"]);
    volume.mount("one", &volume.at());
    same(&volume.sh(&volume.at(), LIST), &after, "here again");
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_killed_mount_goes_on_where_it_was() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), MAKE);
    let before = volume.sh(&volume.at(), LIST);
    volume.kill(&volume.at());
    volume.mount("one", &volume.at());
    same(&volume.sh(&volume.at(), LIST), &before, "on this machine nothing is lost");
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    same(&volume.sh(&volume.there(), LIST), &before, "and it came into the bucket");
    // Killed with placeholders of which some have come.
    volume.sh(&volume.there(), "cat c/1 c/large > /dev/null; mv c/2 c/two");
    volume.kill(&volume.there());
    volume.mount("two", &volume.there());
    let after = before.replace("c/2 ", "c/two ").replace("./c/2\n", "./c/two\n");
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        // Directories have the times of their last change.
        lines.retain(|line| !line.contains(" d "));
        lines.sort();
        lines.join("\n")
    };
    same(&sorted(&volume.sh(&volume.there(), LIST)), &sorted(&after), "killed while it was read");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn one_machine_writes_and_who_is_shut_out_is_told() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "echo mine > x");
    let second = volume.try_mount("two", &[], &volume.there());
    second.code(125).says("has it mounted").says("--take-over");
    volume.try_mount("one", &[], &volume.there()).code(125).says("mounted on this machine already");
    // The first is cut off, say, and another takes over.
    wait_until("it is in the bucket", || volume.object(".forebay/log/0000000000000001").exists());
    volume.try_mount("two", &["--take-over"], &volume.there()).code(0);
    assert_eq!(volume.sh(&volume.there(), "cat x"), "mine\n");
    volume.sh(&volume.there(), "echo theirs > y");
    volume.sh(&volume.at(), "echo late > z");
    let end = volume.unmount(&volume.at());
    end.code(121).says("not all of it is in s3://ours/lab/v").says("one/tree");
    volume.unmount(&volume.there()).code(0);
    // What is here alone is not thrown away, and not mixed in.
    let end = volume.try_mount("one", &[], &volume.at());
    end.code(125).says("another machine has written it since").says("one/tree");
    let late = std::fs::read_to_string(volume.place.all.join("one/tree/z")).expect("kept");
    assert_eq!(late, "late\n");
    volume.mount("three", &volume.at());
    assert_eq!(volume.sh(&volume.at(), "cat x y; test ! -e z"), "mine\ntheirs\n");
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_writer_that_was_replaced_writes_over_no_object() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.try_mount("one", &["--durable", "bucket"], &volume.at()).code(0);
    let make = "for n in 1 2; do head -c 300000 /dev/urandom > x$n; sync x$n; done; md5sum x1 x2";
    let sums = volume.sh(&volume.at(), make);
    volume.try_mount("two", &["--take-over"], &volume.there()).code(0);
    // It does not know: it writes over one, and makes another.
    volume.sh(&volume.at(), "head -c 400000 /dev/urandom > x1; head -c 400000 /dev/zero > new");
    volume.unmount(&volume.at()).code(121).says("not all of it is in s3://ours/lab/v");
    assert_eq!(volume.sh(&volume.there(), "md5sum x1 x2; test ! -e new"), sums);
    // A name that it has taken in the bucket is no less the new writer's.
    volume.sh(&volume.there(), "head -c 200000 /dev/urandom > new");
    let sums = volume.sh(&volume.there(), "md5sum x1 x2 new");
    volume.unmount(&volume.there()).code(0);
    assert_eq!(volume.plain(), ["new", "x1", "x2"]);
    volume.mount("three", &volume.at());
    assert_eq!(volume.sh(&volume.at(), "md5sum x1 x2 new"), sums);
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn large_files_come_as_they_are_read() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(
        &volume.at(),
        "head -c 40000000 /dev/urandom > big; cp big copy; touch -d 2001-01-01 big",
    );
    let sums = volume.sh(&volume.at(), "md5sum big copy");
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    let there = volume.there();
    let took = |what: &str| {
        let before = volume.server.requests();
        let said = volume.sh(&there, what);
        (volume.server.requests() - before, said)
    };
    let part = "dd if=big bs=4096 skip=5000 count=1 iflag=nonblock status=none | md5sum";
    let (requests, _) = took(part);
    assert!((1..=3).contains(&requests), "{requests} requests for 4 KiB");
    let blocks = std::fs::metadata(volume.place.all.join("two/tree/big")).expect("there").blocks();
    assert!(blocks * 512 < 1 << 20, "{blocks} blocks came");
    // Its own time, while bytes come and after.
    assert_eq!(volume.sh(&there, "stat -c %y big | cut -c1-10"), "2001-01-01\n");
    assert_eq!(volume.sh(&there, "md5sum big copy"), sums);
    assert_eq!(volume.sh(&there, "stat -c %y big | cut -c1-10"), "2001-01-01\n");
    let (requests, _) = took("cat big copy > /dev/null");
    assert_eq!(requests, 0, "they are here");
    volume.unmount(&there).code(0);
    // A file that is written over is not fetched; one that is changed is.
    volume.mount("three", &there);
    let (requests, _) = took("echo short > copy; cat copy");
    assert!(requests < 4, "{requests} requests to write over a file");
    volume.sh(&there, "printf X | dd of=big bs=1 seek=20000000 conv=notrunc status=none");
    let changed = volume.sh(&there, "md5sum < big");
    volume.unmount(&there).code(0);
    volume.mount("four", &volume.at());
    assert_eq!(volume.sh(&volume.at(), "md5sum < big; cat copy"), format!("{changed}short\n"));
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_large_file_that_gets_another_name_is_not_sent_again() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "head -c 5000000 /dev/urandom > x");
    wait_until("it is in the bucket", || volume.object("x").exists());
    volume.sh(&volume.at(), "mkdir d; mv x d/y; chmod 600 d/y; ln d/y d/z");
    wait_until("it has its name", || {
        volume.object("d/y").exists() || volume.object("d/z").exists()
    });
    volume.unmount(&volume.at()).code(0);
    let received: u64 = volume.server.tally().values().map(|kind| kind.received).sum();
    assert!(received < 6_000_000, "{received} bytes were sent for 5,000,000");
    // Written again, with the size and time that it had: that is seen.
    volume.mount("one", &volume.at());
    let again = "cp -p d/y t; head -c 5000000 /dev/zero > d/y; touch -r t d/y; rm t; md5sum < d/z";
    let sum = volume.sh(&volume.at(), again);
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    assert_eq!(volume.sh(&volume.there(), "md5sum < d/y"), sum);
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_byte_that_changed_in_the_bucket_is_an_error_and_no_wrong_byte() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "head -c 1000000 /dev/urandom > x");
    wait_until("it is in the bucket", || volume.object("x").exists());
    // Of a copy within the bucket no version is known.
    let right = volume.sh(&volume.at(), "mv x y; head -c 65536 y | md5sum");
    volume.unmount(&volume.at()).code(0);
    let mut bytes = std::fs::read(volume.object("y")).expect("its object");
    bytes[500_000] ^= 1;
    std::fs::write(volume.object("y"), bytes).expect("written");
    volume.mount("two", &volume.there());
    let script = "head -c 65536 y | md5sum; cat y > /dev/null && echo read";
    let said = volume.sh(&volume.there(), &format!("{script}; :"));
    assert_eq!(said, right, "one block is right, and another none");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn what_was_written_is_there_though_its_close_is_never_told() {
    if !rustix::process::geteuid().is_root() {
        skip::<()>("this test needs root");
        return;
    }
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    let mut held = std::fs::File::create(volume.at().join("b")).expect("made");
    std::io::Write::write_all(&mut held, b"bytes\n").expect("written");
    // The connection goes while the file is open.
    let _ = done(Command::new("umount").arg("-f").arg(volume.at()));
    wait_until("all is in the bucket", || !volume.object(".forebay/writer").exists());
    drop(held);
    let _ = done(Command::new("umount").arg("-l").arg(volume.at()));
    volume.mount("two", &volume.there());
    assert_eq!(volume.sh(&volume.there(), "cat b"), "bytes\n");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn local_space_is_given_back_and_nobody_notices() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.try_mount("one", &["--space", "8 MiB"], &volume.at()).code(0);
    let script = "for n in 1 2 3 4 5 6; do head -c 4000000 /dev/urandom > f$n; done
        touch -d 2001-01-01 f2; exec 3< f1; cat f1 > /dev/null";
    volume.sh(&volume.at(), script);
    let held = std::fs::File::open(volume.at().join("f6")).expect("open");
    let sums = volume.sh(&volume.at(), "md5sum f? && stat -c '%n %s %Y' f?");
    let tree = volume.place.all.join("one/tree");
    let taken = || {
        let blocks =
            |n: u32| std::fs::metadata(tree.join(format!("f{n}"))).map_or(0, |m| m.blocks());
        (1..=6).map(blocks).sum::<u64>() * 512
    };
    wait_until("space is given back", || taken() <= 9 << 20);
    let open = std::fs::metadata(tree.join("f6")).expect("there").blocks() * 512;
    assert!(open >= 4_000_000, "a file that is open stays");
    assert_eq!(volume.sh(&volume.at(), "md5sum f? && stat -c '%n %s %Y' f?"), sums);
    drop(held);
    // Reading has brought most of them again, which is far less than fills a disk.
    wait_until("what was read is given back", || taken() <= 9 << 20);
    volume.sh(&volume.at(), "echo more >> f3; rm f4; mv f5 g");
    let after = volume.sh(&volume.at(), "md5sum f? g");
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    assert_eq!(volume.sh(&volume.there(), "md5sum f? g"), after);
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn what_was_open_when_room_was_made_is_given_back_once_it_is_closed() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.try_mount("one", &["--space", "32 MiB"], &volume.at()).code(0);
    let mut held = Vec::new();
    for name in ["f1", "f2", "f3"] {
        volume.sh(&volume.at(), &format!("head -c 15M /dev/urandom > {name}"));
        held.push(std::fs::File::open(volume.at().join(name)).expect("opened"));
    }
    wait_until("they are in the bucket", || volume.object("f3").exists());
    // Too little to look for room again: what comes after is not said to be new.
    volume.sh(&volume.at(), "head -c 1000000 /dev/urandom > z");
    wait_until("another cut is made", || volume.object("z").exists());
    let tree = volume.place.all.join("one/tree");
    let blocks = |name| std::fs::metadata(tree.join(name)).map_or(0, |stat| stat.blocks());
    let taken = || 512 * ["f1", "f2", "f3"].map(blocks).iter().sum::<u64>();
    assert!(taken() >= 45 << 20, "files that are open stay");
    drop(held);
    wait_until("space is given back", || taken() <= 32 << 20);
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn small_files_share_requests() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    let before = volume.server.requests();
    volume.sh(&volume.at(), "mkdir d; seq 2000 | split -l 1 -a 4 - d/f");
    volume.unmount(&volume.at()).code(0);
    let requests = volume.server.requests() - before;
    // One for each second that it took, which may be many on a busy machine; fewer of a new reader.
    let segments = std::fs::read_dir(volume.object(".forebay/log")).expect("a log").count() as u64;
    assert!(segments < 200, "{segments} segments for 2000 files");
    assert!(requests < 2 * segments + 25, "{requests} requests for {segments} segments");
    volume.mount("two", &volume.there());
    let before = volume.server.requests();
    let all = volume.sh(&volume.there(), "cat d/f* | md5sum; seq 2000 | md5sum");
    let (read, written) = all.split_once('\n').expect("two lines");
    assert_eq!(read, written.trim_end());
    let requests = volume.server.requests() - before;
    assert!(requests < segments + 15, "{requests} requests to read {segments} segments");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn an_fsync_waits_for_the_bucket_where_one_wants_that() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.try_mount("one", &["--durable", "bucket"], &volume.at()).code(0);
    let script = "echo kept > x; sync x; dd if=/dev/zero of=y bs=200k count=1 conv=fsync
        echo named > z; python3 -c 'import os; os.fsync(os.open(\".\", os.O_RDONLY))'";
    volume.sh(&volume.at(), script);
    volume.kill(&volume.at());
    // Its disk is lost, too.
    std::fs::remove_dir_all(volume.place.all.join("one")).expect("removed");
    volume.try_mount("two", &["--take-over"], &volume.there()).code(0);
    assert_eq!(volume.sh(&volume.there(), "cat x z; stat -c %s y"), "kept\nnamed\n204800\n");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_bucket_with_which_much_goes_wrong_has_all_in_the_end() {
    for fault in [Fault::ResetAfter, Fault::SlowDown, Fault::Truncated, Fault::Corrupt] {
        let Some(volume) = Volume::with(|buckets| Server::faulty(buckets, fault, 11)) else {
            return;
        };
        volume.mount("one", &volume.at());
        volume.sh(&volume.at(), MAKE);
        let before = volume.sh(&volume.at(), LIST);
        let mut unmount = volume.forebay(&["unmount"]);
        let unmount = unmount.arg(volume.at()).stderr(std::process::Stdio::piped());
        finish(unmount.spawn().expect("started"), 6 * PATIENCE).code(0);
        volume.mount("two", &volume.there());
        same(&volume.sh(&volume.there(), LIST), &before, &format!("{fault:?}"));
        volume.unmount(&volume.there()).code(0);
    }
}

#[test]
fn what_is_in_the_way_is_said_before_anything_is_mounted() {
    let Some(volume) = Volume::with_fuse() else { return };
    let mut wrong = volume.forebay(&["mount", "s3://ours/lab/v"]);
    wrong.arg(volume.at()).env("AWS_SECRET_ACCESS_KEY", "hush, another one");
    let end = done(&mut wrong);
    end.code(125).says("s3://ours/lab/v can't be mounted").says("nothing was mounted");
    assert!(!end.stderr.contains("hush"), "{}", end.stderr);
    let mut missing = volume.forebay(&["mount", "s3://nobodys/v"]);
    done(missing.arg(volume.at())).code(125).says("is it the right bucket");
    std::fs::create_dir_all(volume.object("")).expect("a folder");
    std::fs::write(volume.object("theirs.txt"), "not ours").expect("an object");
    volume.try_mount("one", &[], &volume.at()).code(125).says("theirs.txt").says("is no volume");
    volume.place.nobody_left();
}

#[test]
fn a_run_in_a_volume_is_like_one_in_a_directory() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    let mut run = volume.forebay(&["run", "-q", "-o"]);
    run.arg(&volume.place.run).args(["--", "sh", "-c", "echo a > x; cp x y; mv y z"]);
    done(run.current_dir(volume.at())).code(0);
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(volume.at().join("z"), mode).expect("changed");
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    assert_eq!(volume.sh(&volume.there(), "cat x z; stat -c %a z; ls -A"), "a\na\n600\nx\nz\n");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}
