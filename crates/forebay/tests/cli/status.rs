//! `forebay status` beside real mounts. If these fail, a monitor sleeps while programs wait.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bucket::Volume;
use crate::daemon_log::{folders, mount, mount_daemon, unmount};
use crate::place::{Place, done, wait_until};
use crate::processes::kill;
use crate::s3::faults::Refusal;

/// What is said of the one mount at this directory, and the exit code.
fn status(place: &Place, at: &Path) -> (Value, i32) {
    let end = done(place.forebay(&["status", "--json"]).arg(at));
    let mut told: Value = serde_json::from_str(&end.text()).expect("JSON");
    assert!(told["mounts"].as_array().is_some_and(|all| all.len() <= 1), "{told}");
    let one = told["mounts"].get_mut(0).map(Value::take);
    (one.unwrap_or_default(), end.status.code().expect("a code"))
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("it is there");
}

#[test]
fn a_mount_is_well_silent_lost_and_gone() {
    let Some(place) = Place::with_fuse() else { return };
    let point = mount(&place, &["--emulate", "0ms"], "point");
    std::fs::write(point.join("x"), vec![7; 100_000]).expect("written");
    let (told, code) = status(&place, &point);
    assert_eq!(
        (code, &told["health"], &told["kind"]),
        (0, &"well".into(), &"mount".into()),
        "{told}"
    );
    assert_eq!(told["points"][0], point.to_str().expect("plain"));
    assert_eq!(told["volume"], place.project.to_str().expect("plain"));
    assert!(told["uptime_s"].as_f64() > Some(0.0) && told["requests"].as_u64() > Some(1), "{told}");
    assert_eq!(told["errors"], serde_json::json!({}));
    assert!(told["space"][0]["free"].as_u64() > Some(0), "{told}");
    let log = folders(&place)[0].join("daemon.log");
    assert_eq!(told["log"], log.to_str().expect("plain"));
    let text = done(place.forebay(&["status"]).arg(&point)).code(0).text();
    let shown = log.display();
    for said in [": well", "mount of ", "none failed", " free\n", &format!("log {shown}")] {
        assert!(text.contains(said), "{said:?} is not in:\n{text}");
    }
    let daemon = mount_daemon(&place);
    signal(daemon, Signal::STOP);
    let (told, code) = status(&place, &point);
    signal(daemon, Signal::CONT);
    assert_eq!(
        (code, &told["health"], &told["pid"]),
        (4, &"lost".into(), &daemon.into()),
        "{told}"
    );
    assert!(told["why"][0].as_str().is_some_and(|why| why.contains("does not answer")), "{told}");
    assert_eq!(status(&place, &point).1, 0, "it answers again");
    kill(daemon);
    wait_until("it is dead", || std::fs::metadata(&point).is_err());
    let (told, code) = status(&place, &point);
    assert_eq!((code, &told["pid"]), (4, &Value::Null), "{told}");
    assert!(
        told["why"][0].as_str().is_some_and(|why| why.contains("its daemon is gone")),
        "{told}"
    );
    assert_eq!(told["log"], log.to_str().expect("plain"), "of who is gone");
    unmount(&place, &point).code(0);
    let end = done(place.forebay(&["status"]).arg(&point));
    end.code(3).says("nothing of yours is at");
    assert_eq!(status(&place, &point).1, 3);
}

#[test]
fn a_run_is_told_too() {
    let Some(place) = Place::with_fuse() else { return };
    let script = format!("{} status --json . > ../told; echo $? > ../code", crate::place::FOREBAY);
    done(&mut place.script(&["-q"], &script)).code(0);
    let told = std::fs::read_to_string(place.all.join("told")).expect("read");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["mounts"][0]["kind"], "run", "{told}");
    assert_eq!(std::fs::read_to_string(place.all.join("code")).expect("read"), "0\n");
    place.nothing_left();
}

#[test]
fn a_bucket_out_of_reach_is_degraded_with_its_queue_and_lag() {
    let Some(volume) = Volume::with_fuse() else { return };
    let (place, at) = (&volume.place, volume.at());
    volume.try_mount("state", &["--space", "16MiB"], &at).code(0);
    let waits = |told: &Value, what: &str| told["waiting"][what].as_f64().unwrap_or_default();
    volume.sh(&at, "head -c 3000000 /dev/zero > large");
    wait_until("all is in the bucket", || {
        let (told, code) = status(place, &at);
        code == 0 && told["waiting"]["lag_s"].is_null() && volume.plain() == ["large"]
    });
    let (told, _) = status(place, &at);
    assert_eq!((&told["kind"], &told["volume"]), (&"bucket".into(), &"s3://ours/lab/v".into()));
    assert_eq!((waits(&told, "files"), waits(&told, "bytes")), (0.0, 0.0), "{told}");
    let used = || status(place, &at).0["space"][0]["used"].as_u64() >= Some(3_000_000);
    wait_until("what is here is known", used);
    volume.server.refuse(Some(Refusal::Away));
    volume.sh(&at, "head -c 2000000 /dev/urandom > b");
    wait_until("it is degraded, and more waits, for longer", || {
        let (told, code) = status(place, &at);
        code == 1 && waits(&told, "bytes") >= 2e6 && waits(&told, "lag_s") > 1.0
    });
    let (told, code) = status(place, &at);
    assert_eq!((code, &told["health"]), (1, &"degraded".into()));
    assert!(waits(&told, "files") >= 1.0, "{told}");
    assert!(told["why"][0].as_str().is_some_and(|why| why.contains("out of reach")), "{told}");
    volume.server.refuse(None);
    wait_until("all is in the bucket", || {
        let (told, code) = status(place, &at);
        code == 0 && told["waiting"]["lag_s"].is_null()
    });
    volume.unmount(&at).code(0);
}

#[test]
fn requests_that_failed_are_counted_by_error() {
    let Some(volume) = Volume::with_fuse() else { return };
    let (place, at, there) = (&volume.place, volume.at(), volume.there());
    volume.mount("one", &at);
    volume.sh(&at, "head -c 3000000 /dev/zero > large");
    volume.unmount(&at).code(0);
    volume.try_mount("two", &["--patience", "100ms"], &there).code(0);
    assert!(!there.join("nothing").exists(), "an answer, and no failure");
    assert_eq!(status(place, &there).0["errors"], serde_json::json!({}));
    volume.server.refuse(Some(Refusal::Away));
    assert!(std::fs::read(there.join("large")).is_err());
    volume.server.refuse(None);
    let (told, code) = status(place, &there);
    assert!(told["errors"]["EIO"].as_u64() > Some(0), "{told}");
    assert_eq!(code, 1, "it was a moment ago");
    volume.unmount(&there).code(0);
}

#[test]
fn what_a_newer_forebay_wrote_is_refused_by_name_and_stays() {
    let place = Place::new();
    let folder = place.state.join("forebay/daemons/20991231T235959Z-1");
    std::fs::create_dir_all(&folder).expect("made");
    let newer = "{\"format\": 9, \"pid\": {\"of\": \"a later kind\"}}";
    std::fs::write(folder.join("daemon.json"), newer).expect("written");
    std::fs::write(folder.join("daemon.log"), "x\n").expect("written");
    let says = format!("{} is of a newer Forebay (format 9", folder.display());
    let end = done(&mut place.forebay(&["status"]));
    assert_ne!(end.status.code(), Some(0));
    assert!(end.text().contains(&says), "{}", end.text());
    done(&mut place.forebay(&["logs"])).code(1).says(&says);
    done(place.forebay(&["logs"]).arg(&folder)).code(1).says(&says);
    assert_eq!(std::fs::read_to_string(folder.join("daemon.json")).expect("read"), newer);
}
