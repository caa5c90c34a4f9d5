//! What daemons say. If these fail, a daemon fails to do something and nobody learns it, or its log
//! tells what is nobody's business.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bucket::Volume;
use crate::packed::PACK;
use crate::place::{Done, PATIENCE, Place, done, finish, wait_until};
use crate::processes::{daemon, kill};
use crate::s3::faults::Refusal;
use crate::tiers::Tiered;

/// Folders of daemons, the oldest first.
pub(crate) fn folders(place: &Place) -> Vec<PathBuf> {
    let shelf = std::fs::read_dir(place.state.join("forebay/daemons"));
    let mut all: Vec<PathBuf> =
        shelf.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // Of those that began in one second, the numbers of processes say nothing.
    let made = |folder: &PathBuf| folder.join("daemon.json").metadata()?.modified();
    all.sort_by_cached_key(|folder| made(folder).ok());
    all
}

/// The one log that is there.
#[track_caller]
pub(crate) fn log(place: &Place) -> String {
    let all = folders(place);
    assert_eq!(all.len(), 1, "{all:?}");
    std::fs::read_to_string(all[0].join("daemon.log")).expect("a log")
}

/// A mount of the project.
pub(crate) fn mount(place: &Place, options: &[&str], name: &str) -> PathBuf {
    let point = place.all.join(name);
    std::fs::create_dir_all(&point).expect("made");
    done(place.forebay(&["mount"]).args(options).arg(".").arg(&point)).code(0);
    point
}

pub(crate) fn unmount(place: &Place, point: &Path) -> Done {
    done(place.forebay(&["unmount"]).arg(point))
}

fn logs(place: &Place, words: &[&str], at: Option<&Path>) -> String {
    done(place.forebay(&["logs"]).args(words).args(at)).code(0).text()
}

fn send(pid: u32, signal: i32) {
    // SAFETY: plain numbers.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0, "it is there");
}

#[test]
fn each_daemon_has_a_log_of_its_own_and_few_descriptors() {
    let Some(place) = Place::with_fuse() else { return };
    let points: Vec<PathBuf> =
        (0..8).map(|number| mount(&place, &[], &format!("point{number}"))).collect();
    let all = folders(&place);
    assert_eq!(all.len(), points.len());
    for (folder, point) in all.iter().zip(&points) {
        let log = folder.join("daemon.log");
        assert_eq!((place.mode(folder), place.mode(&log)), (0o700, 0o600));
        let text = std::fs::read_to_string(&log).expect("a log");
        let line = text.lines().next().expect("a line");
        assert!(line.contains(" INFO  ") && line.ends_with(&format!(" at {}", point.display())));
        assert_eq!(logs(&place, &[], Some(point)), text);
        assert_eq!(logs(&place, &[], Some(&point.join("below"))), text, "of what lies in it");
        assert_eq!(logs(&place, &[], Some(folder)), text, "by its folder");
        let about = std::fs::read_to_string(folder.join("daemon.json")).expect("there");
        let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
        let held = std::fs::read_dir(format!("/proc/{}/fd", about["pid"])).expect("it lives");
        let held = held.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
        assert_eq!(held.filter(|to| to.starts_with(&place.state)).count(), 2, "folder and file");
    }
    assert!(logs(&place, &[], None).ends_with(&format!("{}\n", points[7].display())), "the newest");
    for point in &points {
        unmount(&place, point).code(0);
    }
    assert_eq!(folders(&place), Vec::<PathBuf>::new(), "all went well");
    // Somebody who runs the tests may have some.
    let mut elsewhere = place.forebay(&["logs"]);
    done(elsewhere.env("HOME", &place.all)).code(1).says("there is no log");
    place.nothing_left();
    assert!(!place.state.join("forebay/daemons").exists());
}

#[test]
fn who_asks_for_more_gets_it_by_module_and_keeps_it() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let place = &tiered.place;
    let run = |options: &[&str], level: Option<&str>| {
        let _ = std::fs::remove_dir_all(place.state.join("forebay/daemons"));
        tiered.rules(PACK);
        let mut words = vec!["-q", "--site", "../site.toml", "--rules", "../rules.toml"];
        words.extend(options);
        let mut command = place.script(&words, "mkdir -p small; echo x > small/x");
        done(command.envs(level.map(|level| ("FOREBAY_LOG", level)))).code(0);
        folders(place).len()
    };
    assert_eq!(run(&[], None), 0, "nobody asked");
    assert_eq!(run(&["--log", "info,tiers=debug"], None), 1);
    // The front says it, before there is a daemon.
    let packs = " DEBUG tiers::packing: the pack of tier far is in ";
    assert!(log(place).contains(packs), "{}", log(place));
    assert!(log(place).contains(" INFO  daemon_log::logger: all is done\n"), "{}", log(place));
    assert_eq!(logs(place, &["-n", "1"], None).lines().count(), 1);
    assert_eq!(logs(place, &[], Some(&place.project)), log(place), "it is over");
    assert_eq!(run(&["--log", "warn"], Some("debug")), 1);
    assert_eq!(log(place), "", "an option counts before the environment");
    assert_eq!(run(&[], Some("tiers=debug")), 1);
    assert!(log(place).contains(packs), "{}", log(place));
    let loud = place.script(&["--log", "loud"], "touch ran").output().expect("started");
    assert!(String::from_utf8_lossy(&loud.stderr).contains("`loud` is no level"));
    let mut loud = place.script(&[], "touch ran");
    done(loud.env("FOREBAY_LOG", "loud")).code(125).says("FOREBAY_LOG: `loud` is no level");
    assert!(!place.project.join("ran").exists());
}

/// A mount in the foreground that can be used.
fn hold(place: &Place, command: &mut Command) -> (Child, PathBuf) {
    let point = place.all.join("point");
    std::fs::create_dir_all(&point).expect("made");
    std::fs::write(place.project.join("there"), "").expect("written");
    command.args(["mount", "--foreground", "."]).arg(&point);
    let child = command.stdout(Stdio::null()).spawn().expect("started");
    wait_until("it is mounted", || point.join("there").exists());
    (child, point)
}

#[test]
fn in_the_foreground_it_goes_to_standard_error_and_the_journal_knows_how_bad_it_is() {
    let Some(place) = Place::with_fuse() else { return };
    let (child, _) = hold(&place, place.forebay(&[]).stderr(Stdio::piped()));
    send(child.id(), libc::SIGTERM);
    let end = finish(child, PATIENCE);
    end.code(0)
        .says(" INFO  daemon_log::logger: Forebay ")
        .says(" INFO  daemon_log::logger: all is done");
    let stream = std::fs::File::create(place.all.join("journal")).expect("made");
    let known = stream.metadata().expect("there");
    let name = format!("{}:{}", known.dev(), known.ino());
    let mut command = place.forebay(&[]);
    command.env("JOURNAL_STREAM", name).stderr(stream);
    let (child, _) = hold(&place, &mut command);
    send(child.id(), libc::SIGTERM);
    finish(child, PATIENCE).code(0);
    let text = std::fs::read_to_string(place.all.join("journal")).expect("read");
    assert!(text.contains("<6>daemon_log::logger: Forebay "), "{text}");
    place.nothing_left();
}

#[test]
fn a_hangup_begins_the_log_anew() {
    let Some(place) = Place::with_fuse() else { return };
    let point = mount(&place, &["--log", "info"], "point");
    let (old, aside) = (folders(&place)[0].join("daemon.log"), place.all.join("aside"));
    std::fs::rename(&old, &aside).expect("moved");
    send(daemon(&place.state) as u32, libc::SIGHUP);
    let text = || std::fs::read_to_string(&old).unwrap_or_default();
    wait_until("it is opened again", || text().contains("the log was opened again"));
    unmount(&place, &point).code(0);
    assert!(text().contains("all is done"), "{}", text());
    assert!(!std::fs::read_to_string(aside).expect("read").contains("all is done"));
}

#[test]
fn a_log_is_followed_until_its_daemon_ends() {
    let Some(place) = Place::with_fuse() else { return };
    let point = mount(&place, &[], "point");
    let mut follow = place.forebay(&["logs", "--follow"]);
    let child = follow.arg(&point).stdout(Stdio::piped()).spawn().expect("started");
    let log = folders(&place)[0].join("daemon.log");
    let reads = || {
        let fds = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
        let links = fds.into_iter().flatten().flatten().map(|fd| std::fs::read_link(fd.path()));
        links.flatten().any(|to| to == log)
    };
    wait_until("somebody reads it", reads);
    unmount(&place, &point).code(0);
    let text = finish(child, PATIENCE).code(0).text();
    assert!(text.contains(" serves ") && text.ends_with(" all is done\n"), "{text}");
}

#[test]
fn a_log_with_no_place_costs_a_warning_and_nothing_else() {
    let Some(place) = Place::with_fuse() else { return };
    std::fs::create_dir_all(place.state.join("forebay")).expect("made");
    std::fs::write(place.state.join("forebay/daemons"), "").expect("written");
    let end = done(&mut place.script(&["-q"], "echo x > made; exit 7"));
    end.code(7).says("the daemon has no log, since there is no place in ");
    assert_eq!(end.stderr.matches("has no log").count(), 1, "{}", end.stderr);
    assert_eq!(place.read("made"), "x\n");
    place.nobody_left();
}

#[test]
fn a_full_disk_costs_lines_of_the_log_and_a_warning() {
    let Some(place) = Place::with_root() else { return };
    let state = place.state.display();
    let point = place.all.join("point");
    std::fs::create_dir(&point).expect("made");
    let mount = place.forebay(&["mount", "."]);
    let script = format!(
        "\"$@\" {point}; dd if=/dev/zero of={state}/full bs=4k 2> /dev/null || true; \
         log=$(echo {state}/forebay/daemons/*/daemon.log); \
         dd if=/dev/zero bs=4k count=1 2> /dev/null >> $log || true; \
         echo x > {point}/made; cat {point}/made; exec {forebay} unmount {point}",
        point = point.display(),
        forebay = crate::place::FOREBAY,
    );
    let mut shell = place.program("sh");
    shell.args(["-c", &script, "sh"]).arg(mount.get_program()).args(mount.get_args());
    let mut apart =
        place.apart(&format!("mount -t tmpfs -o size=64k forebay-test {state}"), &shell);
    let end = done(apart.env("XDG_STATE_HOME", &place.state));
    end.code(0).says("lines of the daemon's log in ").says("No space left on device");
    assert_eq!(end.text(), "x\n");
    place.nobody_left();
}

#[test]
fn the_last_lines_are_told_when_a_daemon_is_lost() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "touch ../ready; read line; exit 0";
    let mut run = place.script(&["-q"], script);
    let child = run.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("ready");
    kill(daemon(&place.state));
    let end = finish(child, PATIENCE);
    let log = folders(&place)[0].join("daemon.log");
    end.code(120).says(&format!("the last lines of the daemon's log, {}:", log.display()));
    end.says(&format!(" at {}\n", place.project.display()));
    assert!(logs(&place, &[], None).contains(" serves "), "it stays");
    // The same of a mount that somebody holds, and of one that nobody does.
    let said = place.all.join("said");
    let stderr = std::fs::File::create(&said).expect("made");
    let (child, point) = hold(&place, place.forebay(&[]).stderr(stderr));
    let said = || std::fs::read_to_string(&said).expect("read");
    // A daemon that ends before its front knows of the mount is no lost one: nothing was mounted.
    wait_until("it says that it is mounted", || said().contains(" ends it\n"));
    kill(mount_daemon(&place));
    finish(child, PATIENCE).code(120);
    assert!(said().contains("the last lines of the daemon's log, "), "{}", said());
    unmount(&place, &point).code(0).says("the last lines of the daemon's log, ");
    place.nobody_left();
}

/// The daemon of the newest folder.
pub(crate) fn mount_daemon(place: &Place) -> i32 {
    let newest = folders(place).pop().expect("a folder");
    let about = std::fs::read_to_string(newest.join("daemon.json")).expect("there");
    let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
    about["pid"].as_i64().expect("a number") as i32
}

#[test]
fn reads_and_uploads_that_fail_are_told_with_harmless_names_and_no_keys() {
    let Some(volume) = Volume::with_fuse() else { return };
    let (place, at, there) = (&volume.place, volume.at(), volume.there());
    volume.mount("one", &at);
    let name = "odd\n2026-01-01T00:00:00.000Z ERROR forged: \u{1b}[2J";
    std::fs::write(at.join(name), vec![7; 3_000_000]).expect("written");
    volume.unmount(&at).code(0);
    assert_eq!(folders(place), Vec::<PathBuf>::new(), "all went well");
    volume.try_mount("two", &["--patience", "1s"], &there).code(0);
    volume.server.refuse(Some(Refusal::Away));
    assert!(std::fs::read(there.join(name)).is_err());
    std::fs::write(there.join("new"), "x").expect("written");
    wait_until("it is told", || log(place).contains("copying files to s3://ours/lab/v: "));
    let failed = |log: &str| log.matches(" failed for process ").count();
    wait_until("reads are told", || failed(&log(place)) > 0);
    volume.server.refuse(None);
    volume.unmount(&there).code(0);
    let log = log(place);
    assert!(log.contains("of odd\\n2026-01-01T00:00:00.000Z ERROR forged: "), "{log}");
    assert!(
        !log.lines().any(|line| line.contains("ERROR forged") && line.starts_with("2026-01-01T00"))
    );
    assert!(log.bytes().all(|byte| byte == b'\n' || byte >= b' '), "{log}");
    assert!(log.contains("the bucket can't be used: "), "{log}");
    assert!(log.contains("the bucket answers again"), "{log}");
    for (setting, value) in volume.server.settings() {
        assert!(!setting.contains("KEY") || !log.contains(&value), "{log}");
    }
}

#[test]
fn results_that_do_not_come_home_are_told() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let place = &tiered.place;
    let rules = "[[rule]]\nmatch = '*.far'\nhome = 'far'\n";
    tiered.site("capacity = \"1 KiB\"");
    let script = "head -c 900 /dev/zero > a.far; head -c 90000 /dev/zero > b.far; \
                  head -c 90000 /dev/zero > c.far";
    done(&mut tiered.script(rules, script)).code(0);
    let log = log(place);
    assert!(log.contains(" WARN  tiers: files stay in place against their rule: "), "{log}");
    assert!(log.contains(" stayed in place against their rule: "), "{log}");
}
