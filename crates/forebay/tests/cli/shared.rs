//! Volumes that several nodes write. If these fail, a program on one node does not see what one on
//! another has closed, two nodes write over each other, or a node that was away spoils what others did.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::bucket::Volume;
use crate::place::{Done, done, skip, wait_until};
use crate::s3::faults::Refusal;

/// A book, and nodes of one machine, each with an address, a mount point and a state directory.
pub(crate) struct Nodes {
    pub(crate) volume: Volume,
    pub(crate) net: String,
}

impl Nodes {
    pub(crate) fn with_postgres(count: usize) -> Option<Nodes> {
        static NETS: AtomicU32 = AtomicU32::new(0);
        let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut places: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
        places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        if !places.iter().any(|place| place.join("initdb").is_file()) {
            return skip("no PostgreSQL; scripts/setup-postgres.sh installs it");
        }
        let volume = Volume::with_root()?;
        // The user whom the database runs as has to come through.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&volume.place.all, open).expect("it is ours");
        let (net, pid) = (NETS.fetch_add(1, Relaxed), std::process::id());
        let nodes = Nodes { volume, net: format!("127.{}.{}", 1 + pid % 250, 100 + net % 150) };
        nodes.book(&["start"]).code(0);
        for node in 0..count {
            fs::create_dir(nodes.point(node)).expect("a mount point");
            nodes.mount(node);
        }
        Some(nodes)
    }

    pub(crate) fn book(&self, words: &[&str]) -> Done {
        let mut command = self.volume.place.forebay(&["book"]);
        command.args(words).arg(self.folder("book"));
        for name in ["PGPASSWORD", "PGPASSFILE"] {
            command.env_remove(name);
        }
        done(&mut command)
    }

    /// Asks a database of the book's server.
    pub(crate) fn psql(&self, database: &str, text: &str) -> Command {
        let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let found = debian.map(|entry| entry.path().join("bin/psql")).find(|psql| psql.is_file());
        let mut command = Command::new(found.unwrap_or_else(|| PathBuf::from("psql")));
        let book = self.folder("book");
        command.args([
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "forebay",
            "-d",
            database,
            "-c",
            text,
        ]);
        command.arg("-h").arg(&book).env("PGPASSFILE", book.join("passfile")).current_dir("/");
        command
    }

    #[track_caller]
    pub(crate) fn sql(&self, text: &str) -> String {
        let end = done(&mut self.psql("forebay", text));
        end.code(0);
        end.text().trim_end().to_owned()
    }

    /// What the daemons of all nodes have to say.
    pub(crate) fn logs(&self) -> String {
        let all = crate::daemon_log::folders(&self.volume.place);
        all.iter().map(|folder| text(&folder.join("daemon.log"))).collect()
    }

    /// Waits until a daemon's log has these words: its lines are written a moment after what they
    /// tell.
    #[track_caller]
    pub(crate) fn say(&self, words: &str) {
        wait_until(&format!("a log says `{words}`"), || self.logs().contains(words));
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.volume.place.all.join(name)
    }

    pub(crate) fn point(&self, node: usize) -> PathBuf {
        self.folder(&format!("node{node}"))
    }

    pub(crate) fn try_mount(&self, node: usize, url: &str, point: &Path) -> Done {
        self.try_mount_with(&[], node, url, point)
    }

    fn try_mount_with(&self, more: &[&str], node: usize, url: &str, point: &Path) -> Done {
        let mut command = self.volume.forebay(&["mount"]);
        command.args(more).arg("--book");
        command.arg(self.folder("book"));
        command.arg("--listen").arg(format!("{}.{}:7420", self.net, node + 1));
        command.arg("--state").arg(self.folder(&format!("state{node}"))).arg(url).arg(point);
        done(&mut command)
    }

    #[track_caller]
    pub(crate) fn mount(&self, node: usize) {
        self.try_mount(node, "s3://ours/lab/shared", &self.point(node)).code(0);
    }

    #[track_caller]
    pub(crate) fn unmount(&self, node: usize) -> Done {
        let end = self.volume.unmount(&self.point(node));
        end.code(0);
        end
    }

    /// Long files that the bucket has.
    fn object_names(&self) -> BTreeSet<OsString> {
        let files = fs::read_dir(self.volume.object("").with_file_name("shared").join("files"));
        files.into_iter().flatten().flatten().map(|file| file.file_name()).collect()
    }

    fn objects(&self) -> usize {
        self.object_names().len()
    }

    /// Writes a file over, and waits until the bucket has it.
    fn replace(&self, node: usize, name: &str, bytes: &[u8]) {
        let before = self.object_names();
        fs::write(self.point(node).join(name), bytes).expect("written over");
        wait_until("the bucket has it", || !self.object_names().is_subset(&before));
    }

    /// The processes that serve a node: the daemon, and who looks after it.
    fn daemons(&self, node: usize) -> Vec<String> {
        let point = self.point(node);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("processes").flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_ours =
                line.contains("forebay mount") && line.ends_with(&format!("{} ", point.display()));
            if is_ours && name.parse::<u32>().is_ok() {
                found.push(name);
            }
        }
        assert!(!found.is_empty(), "nobody serves {}", point.display());
        found
    }

    pub(crate) fn kill(&self, node: usize) {
        self.volume.kill(&self.point(node));
    }

    pub(crate) fn signal(&self, node: usize, signal: &str) {
        let sent =
            Command::new("kill").arg(signal).args(self.daemons(node)).status().expect("kill");
        assert!(sent.success());
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        // Whatever the test came to: nothing goes on without it.
        for node in 0..4 {
            let _ = Command::new("umount").arg("-l").arg(self.point(node)).output();
        }
        let _ = self.book(&["stop", "--force"]);
    }
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"))
}

fn names(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> =
        all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_one_node_closes_each_other_finds_at_once() {
    let Some(nodes) = Nodes::with_postgres(3) else { return };
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        let (a, b) = (nodes.point(a), nodes.point(b));
        let folder = format!("d{}", a.file_name().expect("a name").display());
        fs::create_dir(a.join(&folder)).expect("made");
        let (a, b) = (a.join(&folder), b.join(&folder));
        fs::write(a.join("ren"), "").expect("written");
        for round in 0..25 {
            let new = format!("n{round}");
            assert!(!b.join(&new).exists());
            fs::write(a.join(&new), &new).expect("written");
            assert_eq!(text(&b.join(&new)), new, "a new file that was asked for");
            let over = "y".repeat(round + 3);
            fs::write(a.join("over"), &over).expect("written");
            assert_eq!(text(&b.join("over")), over, "written over");
            let mut end = File::options().append(true).open(a.join("over")).expect("opened");
            end.write_all(b"z").expect("appended");
            drop(end);
            assert_eq!(fs::metadata(b.join("over")).expect("there").size(), over.len() as u64 + 1);
            assert_eq!(text(&b.join("over")), format!("{over}z"), "appended to");
            fs::write(a.join("tmp"), &new).expect("written");
            fs::rename(a.join("tmp"), a.join("ren")).expect("renamed");
            assert_eq!(text(&b.join("ren")), new, "renamed over");
            fs::remove_file(a.join(&new)).expect("removed");
            let gone = fs::read(b.join(&new)).expect_err("it is gone");
            assert_eq!(gone.kind(), ErrorKind::NotFound);
            let listed = format!("l{round}");
            fs::write(a.join(&listed), "").expect("written");
            assert!(names(&b).contains(&listed), "a listing");
            let wins =
                [&a, &b, &a].map(|at| File::create_new(at.join(format!("x{round}"))).is_ok());
            assert_eq!(wins, [true, false, false], "O_EXCL");
        }
    }
    let told = nodes.unmount(0);
    told.says("the book has all names of s3://ours/lab/shared");
}

#[test]
fn nodes_change_names_files_and_folders_in_turn() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir_all(a.join("here/inner")).expect("made");
    fs::write(a.join("here/inner/f"), "1").expect("written");
    fs::create_dir(b.join("there")).expect("made");
    fs::rename(b.join("here/inner"), b.join("there/moved")).expect("moved");
    assert_eq!(text(&a.join("there/moved/f")), "1");
    assert!(!a.join("here/inner").exists());
    let full = fs::remove_dir(a.join("there/moved")).expect_err("it has a name");
    assert_eq!(full.kind(), ErrorKind::DirectoryNotEmpty);
    fs::remove_dir_all(a.join("there")).expect("removed");
    assert_eq!(names(&b), ["here"]);

    // A long file stays where it was written, and goes where it is changed.
    let long: Vec<u8> = (0..3_000_000u32).map(|at| (at % 251) as u8).collect();
    fs::write(a.join("long"), &long).expect("written");
    assert!(fs::read(b.join("long")).expect("it comes") == long);
    let bodies = fs::metadata(nodes.folder("state0/bodies")).expect("they are there");
    assert_eq!(bodies.mode() & 0o777, 0o700, "permissions of files count on the mount alone");
    let mut end = File::options().append(true).open(b.join("long")).expect("opened");
    end.write_all(b"more").expect("appended");
    drop(end);
    let both = [long.as_slice(), b"more"].concat();
    assert!(fs::read(a.join("long")).expect("it comes") == both);

    // Links, attributes, kinds.
    nodes.volume.sh(
        &a,
        "mkdir k; echo x > k/f; ln k/f k/g; ln -s f k/l; mkfifo k/p; chmod 640 k/f; touch -d @5 k/f
         python3 -c 'import os; os.setxattr(\"k/f\", \"user.a\", b\"1\")'",
    );
    let told = nodes.volume.sh(
        &b,
        "stat -c '%n %F %a %h %Y' k/f k/l k/p; readlink k/l
         python3 -c 'import os; print(os.getxattr(\"k/g\", \"user.a\"))'",
    );
    let wanted = "k/f regular file 640 2 5\nk/l symbolic link 777 1 ";
    assert!(told.starts_with(wanted), "{told}");
    assert!(told.contains("k/p fifo 644 1") && told.ends_with("f\nb'1'\n"), "{told}");
    let elsewhere = fs::hard_link(a.join("k/f"), a.join("f")).expect_err("another folder");
    assert_eq!(elsewhere.kind(), ErrorKind::CrossesDevices);

    // Two writers of one file.
    let mut first = File::create(a.join("w")).expect("made");
    first.write_all(b"1").expect("written");
    fs::write(b.join("other"), "").expect("written beside it");
    let second = File::options().write(true).open(b.join("w")).expect_err("it is written");
    assert_eq!(second.kind(), ErrorKind::ExecutableFileBusy);
    let mut growing = File::open(b.join("w")).expect("it can be read");
    let mut seen = String::new();
    growing.read_to_string(&mut seen).expect("read");
    assert_eq!(seen, "1");
    first.write_all(b"23").expect("written");
    drop((first, growing));
    assert_eq!(text(&b.join("w")), "123");
    fs::write(b.join("w"), "4").expect("it is free");
    assert_eq!(text(&a.join("w")), "4");

    // Whoever unmounts waits until the bucket has it.
    fs::write(a.join("last"), &long).expect("written");
    nodes.unmount(0).says("the book has all names of s3://ours/lab/shared");
    assert_eq!(text(&b.join("w")), "4");
    assert!(fs::read(b.join("long")).expect("it was changed here") == both);
    assert!(fs::read(b.join("last")).expect("from the bucket") == long);
    nodes.unmount(1);
    assert!(nodes.objects() >= 2);
    // All of it is there again for a node that has nothing.
    fs::remove_dir_all(nodes.folder("state0")).expect("a disk was lost");
    fs::remove_dir_all(nodes.folder("state1")).expect("a disk was lost");
    nodes.mount(0);
    assert!(fs::read(a.join("last")).expect("from the bucket") == long);
    assert!(fs::read(a.join("long")).expect("from the bucket") == both);
}

#[test]
fn a_shared_volume_and_one_of_one_writer_are_told_apart() {
    let Some(nodes) = Nodes::with_postgres(1) else { return };
    let there = nodes.volume.there();
    let mut writer = nodes.volume.forebay(&["mount", "--state"]);
    writer.arg(nodes.folder("own")).arg("s3://ours/lab/shared").arg(&there);
    done(&mut writer).code(125).says("is no volume");
    let mut reader = nodes.volume.forebay(&["mount", "--read-only", "--state"]);
    reader.arg(nodes.folder("read")).arg("s3://ours/lab/shared").arg(&there);
    done(&mut reader).code(125).says("is no volume");
    nodes.volume.mount("another", &nodes.volume.at());
    nodes.try_mount(1, "s3://ours/lab/v", &there).code(125).says("is no shared volume");
    nodes
        .try_mount(0, "s3://ours/lab/shared", &there)
        .code(125)
        .says("mounted on this machine already");
    nodes.volume.unmount(&nodes.volume.at()).code(0);
    nodes.unmount(0);
    nodes.try_mount(0, "s3://ours/lab/other", &there).code(125).says("of another volume");
    nodes.try_mount(1, "no-url", &there).code(125).says("s3://BUCKET/PREFIX");
    let mut alone = nodes.volume.forebay(&["mount", "--book", "/nowhere", "s3://ours/lab/x"]);
    done(alone.arg(&there)).code(2).says("--listen");
    let mut both = nodes.volume.forebay(&["mount", "--book", "x", "--listen", "127.0.0.1"]);
    done(both.args(["--read-only", "s3://ours/lab/x"]).arg(&there)).code(2);
}

#[test]
fn what_many_nodes_read_comes_from_the_bucket_once() {
    let Some(nodes) = Nodes::with_postgres(4) else { return };
    let all: Vec<PathBuf> = (0..4).map(|node| nodes.point(node)).collect();
    let mut reference = vec![0; 30_000_000];
    let mut drawn = 1u64;
    for byte in &mut reference {
        // The upper bits of a generator of Knuth's (MMIX): no two parts are alike.
        drawn =
            drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (drawn >> 56) as u8;
    }
    fs::write(all[0].join("hg38.fa"), &reference).expect("written");
    wait_until("the bucket has it", || nodes.objects() == 1);
    // Who has just joined is not known to all at once.
    for node in &all {
        wait_until("it knows all", || {
            let status = done(nodes.volume.forebay(&["status", "--json"]).arg(node)).text();
            let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
            status["mounts"][0]["peers"]["peers"] == 4
        });
    }
    let sent = || nodes.volume.server.tally().get("GET").map_or(0, |counts| counts.sent);
    let before = sent();
    let is_right = |node: &Path| fs::read(node.join("hg38.fa")).expect("it comes") == reference;
    std::thread::scope(|scope| {
        let reads: Vec<_> = all[1..].iter().map(|node| scope.spawn(|| is_right(node))).collect();
        assert!(reads.into_iter().all(|read| read.join().expect("no panic")));
    });
    let came = sent() - before;
    assert!(came * 10 <= reference.len() as u64 * 11, "{came} bytes of {}", reference.len());

    // What the kernel has of it is right as long as the file is the same: nobody is asked again.
    // Who has which part is a matter of the nodes' addresses.
    let said: String = [0, 2, 3].map(|node| nodes.unmount(node).stderr).concat();
    assert!(said.contains("went to peers"), "{said}");
    nodes.volume.server.refuse(Some(Refusal::Away));
    assert!(is_right(&all[1]));
    nodes.volume.server.refuse(None);
    // Of another one nothing is left.
    nodes.mount(0);
    for at in [17, 29_000_000] {
        reference[at] ^= 1;
        nodes.replace(0, "hg38.fa", &reference);
        let read = fs::read(all[1].join("hg38.fa")).expect("it comes");
        assert!(read == reference, "changed at {at}");
    }
}

#[test]
fn files_of_a_shared_volume_come_to_all_nodes_ahead() {
    let Some(nodes) = Nodes::with_postgres(3) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    let long: Vec<u8> = (0..20_000_000u32).map(|at| (at / 3 % 255) as u8).collect();
    fs::create_dir_all(a.join("refs/index")).expect("made");
    fs::write(a.join("refs/hg38.fa"), &long).expect("written");
    fs::write(a.join("refs/index/hg38.fa.sa"), &long[5..]).expect("written");
    fs::write(a.join("refs/README"), "small").expect("written");
    // Those that the bucket does not have yet are waited for.
    let told = done(nodes.volume.forebay(&["warm"]).arg(b.join("refs")));
    told.code(0);
    for node in 1..=3 {
        told.says(&format!("{}.{node}:7420 has 3 files (38.1 MiB)", nodes.net));
    }
    let status = done(nodes.volume.forebay(&["status", "--json"]).arg(&b)).text();
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let peers = &status["mounts"][0]["peers"];
    assert_eq!((&peers["peers"], &peers["kept"]), (&3.into(), &39_999_995.into()), "{peers}");
    // All of it is here.
    nodes.unmount(0);
    nodes.unmount(2);
    nodes.volume.server.refuse(Some(Refusal::Away));
    assert!(fs::read(b.join("refs/hg38.fa")).expect("from the disk") == long);
    assert!(fs::read(b.join("refs/index/hg38.fa.sa")).expect("from the disk") == long[5..]);
    nodes.volume.server.refuse(None);
    let none = done(nodes.volume.forebay(&["warm"]).arg(b.join("none")));
    none.code(1).says("No such file");
}

#[test]
fn a_node_that_leaves_takes_nothing_with_it_though_programs_are_in_it() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    let long: Vec<u8> = (0..9_000_000u32).map(|at| (at % 241) as u8).collect();
    fs::create_dir(a.join("task")).expect("made");
    fs::write(a.join("task/long"), &long).expect("written");
    fs::write(a.join("task/short"), "1").expect("written");
    let mut open = File::create(a.join("task/open")).expect("made");
    open.write_all(&long).expect("written");
    let mut shell = Command::new("sleep");
    let mut shell = shell.arg("1000").current_dir(a.join("task")).spawn().expect("started");
    done(nodes.volume.forebay(&["unmount"]).arg(&a)).code(1).says("is in use");
    let told = done(nodes.volume.forebay(&["leave", "--within", "100s"]).arg(&a));
    told.code(0).says("the book has all names of s3://ours/lab/shared");
    assert!(open.write_all(b"more").is_err(), "it is cut off");
    fs::read_dir(a.join("task")).expect_err("the mount is gone");
    // The machine is gone, too. Nobody waits for a lease.
    fs::remove_dir_all(nodes.folder("state0")).expect("a disk was lost");
    assert!(fs::read(b.join("task/long")).expect("from the bucket") == long);
    assert!(fs::read(b.join("task/open")).expect("from the bucket") == long);
    assert_eq!(text(&b.join("task/short")), "1");
    fs::write(b.join("task/short"), "2").expect("it is free");
    let _ = shell.kill().and_then(|()| shell.wait());

    // A bucket that takes nothing is not waited for longer than was said.
    fs::write(b.join("task/late"), &long).expect("written");
    nodes.volume.server.refuse(Some(Refusal::Away));
    let told = done(nodes.volume.forebay(&["leave", "--within", "2s"]).arg(&b));
    told.code(121).says("not all of it is safe yet").says("on its disk alone");
    nodes.volume.server.refuse(None);
    done(nodes.volume.forebay(&["leave"]).arg(&b)).code(1).says("nothing of Forebay's");
}

#[test]
fn status_says_what_a_node_holds_and_what_is_on_its_way() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    let status = |node: &Path| -> serde_json::Value {
        let told = done(nodes.volume.forebay(&["status", "--json"]).arg(node)).text();
        serde_json::from_str(&told).expect("JSON")
    };
    nodes.volume.server.refuse(Some(Refusal::Away));
    fs::create_dir(a.join("d")).expect("made");
    for name in ["d/1", "d/2", "d/3"] {
        fs::write(a.join(name), "short").expect("written");
    }
    fs::write(a.join("d/long"), vec![7; 1_000_000]).expect("written");
    assert_eq!(fs::read(a.join("d/long")).expect("it is here").len(), 1_000_000);
    let row = status(&a)["mounts"][0].clone();
    let shared = &row["shared"];
    // The root and `d`.
    assert_eq!((&shared["folders"], &shared["names"]), (&2.into(), &5.into()), "{row}");
    wait_until("the book has all", || status(&a)["mounts"][0]["shared"]["unpublished"] == 0);
    let owed = || status(&a)["mounts"][0]["shared"]["owed"].clone();
    wait_until("the long one waits", || owed() == serde_json::json!([1, 1_000_000]));
    assert!(shared["lease_us"].as_u64().is_some_and(|left| (1..=10_000_000).contains(&left)));
    assert!(row["requests"].as_u64().is_some_and(|count| count > 12), "{row}");
    let told = done(nodes.volume.forebay(&["status"]).arg(&a));
    let told = told.code(0).text();
    for words in [
        "mount of s3://ours/lab/shared, written by several nodes",
        "holds 2 folders (5 names), lease for ",
        "1 long files (977 KiB) are here alone, 0 (0 B) were brought to the bucket",
    ] {
        assert!(told.contains(words), "{words} is not in {told}");
    }
    assert!(!told.contains("? free"), "{told}");
    nodes.volume.server.refuse(None);
    wait_until("the bucket has it", || owed() == serde_json::json!([0, 0]));
    assert_eq!(text(&b.join("d/1")), "short");
    fs::remove_file(b.join("d/1")).expect("B takes the folder");
    let shared = status(&b)["mounts"][0]["shared"].clone();
    assert_eq!((&shared["folders"], &shared["lost"]), (&1.into(), &0.into()), "{shared}");
    // A node that does not reach the book for as long as its lease is ill.
    nodes.book(&["stop", "--force"]).code(0);
    wait_until("it says so", || status(&a)["health"] == "degraded");
    let told = done(nodes.volume.forebay(&["status"]).arg(&a)).text();
    assert!(told.contains("does not renew this node's lease"), "{told}");
    nodes.book(&["start"]).code(0);
    wait_until("it is well again", || status(&a)["health"] == "well");
    nodes.unmount(0);
    nodes.unmount(1);
}

#[test]
fn with_durable_bucket_fsync_waits_for_the_bucket_and_a_lost_node_takes_nothing() {
    let Some(nodes) = Nodes::with_postgres(1) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(&b).expect("a mount point");
    let mount = |patience: &str| {
        let more = ["--durable", "bucket", "--patience", patience];
        nodes.try_mount_with(&more, 1, "s3://ours/lab/shared", &b)
    };
    mount("5s").code(125).says("--patience of less than 20 s").says("nothing was mounted");
    mount("20s").code(0);
    let long: Vec<u8> = (0..5_000_000u32).map(|at| (at % 239) as u8).collect();
    let mut file = File::create(b.join("calls.vcf")).expect("made");
    file.write_all(&long).and_then(|()| file.sync_all()).expect("the bucket has it");
    assert_eq!(nodes.objects(), 1);
    nodes.volume.server.refuse(Some(Refusal::Away));
    file.write_all(b"more").expect("written");
    let refused = file.sync_all().expect_err("the bucket does not take it");
    assert_eq!(refused.kind(), ErrorKind::TimedOut, "{refused}");
    nodes.volume.server.refuse(None);
    file.sync_all().expect("the bucket has it");
    nodes.say("does not come into the bucket");
    // The machine is lost, with its disk.
    nodes.signal(1, "-KILL");
    let _ = nodes.volume.forebay(&["unmount", "--lazy"]).arg(&b).output();
    fs::remove_dir_all(nodes.folder("state1")).expect("a disk was lost");
    drop(file);
    assert!(
        fs::read(a.join("calls.vcf")).expect("from the bucket") == [&long[..], b"more"].concat()
    );
    nodes.unmount(0);
}

#[test]
fn long_files_lie_in_a_directory_that_all_nodes_have() {
    let Some(nodes) = Nodes::with_postgres(0) else { return };
    let kept = nodes.folder("lustre");
    fs::create_dir(&kept).expect("made");
    let place = kept.to_str().expect("a name");
    let (a, b) = (nodes.point(0), nodes.point(1));
    for (node, point) in [&a, &b].into_iter().enumerate() {
        fs::create_dir(point).expect("a mount point");
        nodes.try_mount(node, place, point).code(0).says("no other machine has");
    }
    let long: Vec<u8> = (0..3_000_000u32).map(|at| (at % 253) as u8).collect();
    fs::write(a.join("long"), &long).expect("written");
    fs::write(a.join("short"), "1").expect("written");
    let files = || fs::read_dir(kept.join("files")).map_or(0, |all| all.flatten().count());
    wait_until("it is kept there", || files() == 1);
    let told = nodes.unmount(0);
    told.says(&format!("the book has all names of {place}"));
    fs::remove_dir_all(nodes.folder("state0")).expect("a disk was lost");
    assert!(fs::read(b.join("long")).expect("from the directory") == long);
    // An object of the volume is nobody's business but its nodes'.
    let kept_mode = |name: &str| fs::metadata(kept.join(name)).expect("there").mode() & 0o777;
    assert_eq!(kept_mode("files"), 0o700);
    let mut end = File::options().append(true).open(b.join("long")).expect("opened");
    end.write_all(b"more").expect("appended");
    drop(end);
    nodes.try_mount(0, place, &a).code(0);
    assert!(fs::read(a.join("long")).expect("it comes") == [&long[..], b"more"].concat());
    assert_eq!(text(&a.join("short")), "1");
    nodes.unmount(0);
    nodes.unmount(1);

    // What can't be one.
    fs::create_dir(kept.join("files/in")).expect("made");
    nodes.try_mount(0, place, &kept.join("files/in")).code(125).says("can't have its mount in it");
    let other = nodes.folder("other");
    fs::create_dir(&other).and_then(|()| fs::write(other.join("x"), "")).expect("made");
    let named = other.to_str().expect("a name");
    nodes.try_mount(0, named, &a).code(125).says("it has x, and is no shared volume");
    fs::remove_file(other.join("x")).expect("removed");
    nodes.try_mount(0, named, &a).code(125).says("of another volume");
    let mut inside = nodes.volume.forebay(&["mount", "--listen", "127.0.0.1", "--book"]);
    inside.arg(nodes.folder("book")).arg("--state").arg(other.join("state")).arg(&other).arg(&a);
    done(&mut inside).code(125).says("which all nodes have");
}

#[test]
fn when_a_node_is_killed_the_others_go_on_and_it_comes_back() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(a.join("d")).expect("made");
    let mut file = File::create(a.join("d/safe")).expect("made");
    file.write_all(b"1").expect("written");
    file.sync_all().expect("in the book");
    let long = vec![7; 200_000];
    fs::write(a.join("d/long"), &long).expect("written");
    wait_until("the bucket has it", || nodes.objects() == 1);
    drop(file);
    // This one is told durable, and is not in the bucket yet, or just is.
    let mut alone = File::create(a.join("d/alone")).expect("made");
    alone.write_all(&long).and_then(|()| alone.sync_all()).expect("on the disk");
    drop(alone);
    nodes.volume.kill(&a);
    // Its lease has to end first.
    assert_eq!(text(&b.join("d/safe")), "1");
    fs::write(b.join("d/safe"), "2").expect("it is free");
    assert!(fs::read(b.join("d/long")).expect("from the bucket") == long);
    match fs::read(b.join("d/alone")) {
        Ok(bytes) => assert!(bytes == long, "the bucket had it already"),
        Err(error) => assert_eq!(error.raw_os_error(), Some(5), "one node alone has it"),
    }
    nodes.mount(0);
    assert_eq!(text(&a.join("d/safe")), "2");
    assert!(fs::read(a.join("d/long")).expect("it is here") == long);
    assert!(fs::read(b.join("d/alone")).expect("it comes again") == long);
    wait_until("it goes on bringing files", || nodes.objects() >= 2);
}

#[test]
fn a_node_that_is_stopped_past_its_lease_finds_what_others_did() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(a.join("d")).expect("made");
    fs::write(a.join("d/f"), "1").expect("written");
    assert_eq!(text(&b.join("d/f")), "1");
    nodes.signal(0, "-STOP");
    fs::write(b.join("d/f"), "2").expect("after the end of the lease");
    fs::write(b.join("d/g"), "3").expect("it is held here now");
    nodes.signal(0, "-CONT");
    assert_eq!(text(&a.join("d/f")), "2");
    fs::write(a.join("d/h"), "4").expect("it goes on");
    assert_eq!((text(&b.join("d/h")), text(&a.join("d/g"))), ("4".to_owned(), "3".to_owned()));
}

#[test]
fn a_book_that_is_away_for_a_moment_is_waited_for() {
    let Some(nodes) = Nodes::with_postgres(2) else { return };
    let (a, b) = (nodes.point(0), nodes.point(1));
    fs::create_dir(a.join("d")).expect("made");
    fs::write(a.join("d/f"), "1").expect("written");
    assert_eq!(text(&b.join("d/f")), "1");
    nodes.book(&["stop", "--force"]).code(0);
    fs::write(a.join("d/held"), "2").expect("the folder is held, and the lease lasts");
    nodes.book(&["start"]).code(0);
    assert_eq!(text(&b.join("d/held")), "2");
    fs::write(b.join("d/f"), "3").expect("taken");
    assert_eq!(text(&a.join("d/f")), "3");
    wait_until("both have a lease", || {
        nodes.book(&["status"]).text().matches("lease ").count() >= 2
    });
    nodes.unmount(0);
    nodes.unmount(1);
}
