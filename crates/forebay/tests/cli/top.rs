//! `forebay top` beside real runs and mounts. If these fail, people look at a screen that stands
//! still while their disk fills.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::bucket::Volume;
use crate::place::{Place, done, wait_until};
use crate::s3::faults::Refusal;
use crate::tiers::Tiered;

/// What `--once --json` says of the one daemon at this directory.
#[track_caller]
fn look(place: &Place, at: &Path) -> Value {
    let mut command = place.forebay(&["top", "--once", "--json"]);
    let text = done(command.arg(at)).code(0).text();
    let mut told: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(told["daemons"].as_array().map(Vec::len), Some(1), "{text}");
    told["daemons"][0].take()
}

fn text(place: &Place, at: &Path) -> String {
    done(place.forebay(&["top", "--once"]).arg(at)).code(0).text()
}

fn file<'a>(live: &'a Value, name: &str) -> Option<&'a Value> {
    live["files"].as_array()?.iter().find(|file| file["path"] == name)
}

#[test]
fn a_run_is_watched_while_it_works() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let place = &tiered.place;
    tiered.site("capacity = \"100 MiB\"");
    let script = format!(
        "exec 3> held; for i in $(seq 300); do echo $i > small$i; done; \
         head -c 3000000 /dev/zero > a.far; head -c 200000 /dev/zero >&3; cat a.far > /dev/null; \
         touch {0}/ready; tail -f {0}/ready & while [ ! -e {0}/go ]; do sleep 0.1; done; kill $!",
        place.all.display()
    );
    let mut command = tiered.script("[[rule]]\nmatch = '*.far'\nhome = 'far'\n", &script);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("ready");
    // The tasks of processes are found some moments after they are met.
    wait_until("tail is seen", || {
        let live = look(place, &place.project);
        live["tasks"].as_array().is_some_and(|all| all.iter().any(|task| task["name"] == "tail"))
    });
    let live = look(place, &place.project);
    assert_eq!((&live["schema"], &live["lasting"]), (&1.into(), &false.into()));
    assert_eq!(live["command"][0], "sh");
    assert_eq!(live["points"][0], place.project.to_str().expect("plain"));
    assert!(live["names"]["count"].as_u64() >= Some(300), "{live}");
    assert!(live["names"]["time_us"].as_u64() > Some(0), "{live}");
    assert!(live["per_s"]["names"].is_number(), "{live}");
    let far = &live["tiers"][1];
    assert_eq!((&far["tier"], &far["limit"]), (&"far".into(), &(100 << 20).into()), "{live}");
    assert!(far["used"].as_u64() >= Some(3_000_000), "{far}");
    assert!(live["tiers"][0]["free"].as_u64() > Some(0), "{live}");
    assert_eq!(file(&live, "held").expect("it is open")["open"], 1);
    assert!(file(&live, "a.far").expect("it was used")["opens"].as_u64() >= Some(2));
    if live["passthrough"] == false {
        assert!(live["written"].as_u64() >= Some(3_200_000), "{live}");
        assert_eq!(file(&live, "held").expect("it is open")["written"], 200_000);
    }
    let screen = text(place, &place.project);
    for said in ["sh -c", "\nfar ", "100 MiB", "\ntail ", "\nheld "] {
        assert!(screen.contains(said), "{said:?} is not in:\n{screen}");
    }
    // From a directory below, and among all of this user's.
    std::fs::create_dir(place.project.join("below")).expect("made");
    assert_eq!(look(place, &place.project.join("below"))["pid"], live["pid"]);
    let all = done(&mut place.forebay(&["top", "--once", "--json"])).code(0).text();
    assert!(all.contains(&format!("\"pid\":{}", live["pid"])), "{all}");
    done(&mut place.forebay(&["top"])).code(1).says("no terminal");
    done(place.forebay(&["top", "--once"]).arg(&place.all)).code(1).says("nothing of yours is at");
    std::fs::write(place.all.join("go"), "").expect("written");
    crate::place::finish(child, crate::place::PATIENCE).code(0);
    done(place.forebay(&["top", "--once"]).arg(&place.project)).code(1).says("nothing of yours");
    tiered.all_home();
}

#[test]
fn another_machine_is_watched_through_its_samples() {
    let place = Place::new();
    let words = ["sample", "--every", "200ms", "-o", "filer.run"];
    let child = place.forebay(&words).stderr(Stdio::piped()).spawn().expect("started");
    let words = ["top", "--once", "--json", "--sample", "filer.run"];
    let look = || -> Value {
        serde_json::from_str(&done(&mut place.forebay(&words)).text()).unwrap_or_default()
    };
    let both = |told: &Value| told["machines"].as_array().is_some_and(|all| all.len() == 2);
    wait_until("its samples are seen", || both(&look()));
    let told = look();
    let [here, filer] = [&told["machines"][0], &told["machines"][1]];
    assert_eq!(here["host"], "this machine");
    assert!(filer["age_us"].as_u64() < Some(60_000_000), "{told}");
    for machine in [here, filer] {
        assert!(machine["free_bytes"].as_u64() > Some(0), "{told}");
        assert!(machine["busy_share"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)));
    }
    let screen =
        done(&mut place.forebay(&["top", "--once", "--sample", "filer.run"])).code(0).text();
    assert!(screen.contains("\nthis machine "), "{screen}");
    // SAFETY: the child was not waited for, so the number is its.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    crate::place::finish(child, crate::place::PATIENCE).code(0);
    done(&mut place.forebay(&["top", "--sample", "none.run"])).code(1).says("none.run");
}

#[test]
fn a_mount_is_watched_without_a_record() {
    let Some(place) = Place::with_fuse() else { return };
    let point = place.all.join("point");
    std::fs::create_dir(&point).expect("made");
    done(place.forebay(&["mount", "--emulate", "0ms", "."]).arg(&point)).code(0);
    std::fs::write(point.join("x"), vec![7; 100_000]).expect("written");
    let held = std::fs::File::open(point.join("x")).expect("opened");
    let read = std::fs::read(point.join("x")).expect("read");
    assert_eq!(read.len(), 100_000);
    let live = look(&place, &point);
    assert_eq!((&live["lasting"], &live["recorded"]), (&true.into(), &false.into()));
    assert_eq!(live["passthrough"], false);
    assert_eq!((&live["written"], &live["read"]), (&100_000.into(), &100_000.into()), "{live}");
    let x = file(&live, "x").expect("it was used");
    assert_eq!((&x["open"], &x["opens"], &x["written"]), (&1.into(), &3.into(), &100_000.into()));
    drop(held);
    let screen = text(&place, &point);
    assert!(screen.contains("tasks: not looked up"), "{screen}");
    done(place.forebay(&["unmount"]).arg(&point)).code(0);
    place.nobody_left();
}

#[test]
fn a_bucket_out_of_reach_is_seen_with_its_queue() {
    let Some(volume) = Volume::with_fuse() else { return };
    let (place, at) = (&volume.place, volume.at());
    volume.mount("state", &at);
    volume.sh(&at, "echo hi > a; head -c 9000000 /dev/zero > large");
    wait_until("it is in the bucket", || {
        let bucket = &look(place, &at)["bucket"];
        bucket["shipped"][1].as_u64() >= Some(9_000_000) && bucket["changed"] == 0
    });
    let live = look(place, &at);
    assert_eq!(live["bucket"]["url"], "s3://ours/lab/v");
    assert!(live["bucket"]["trouble"].is_null() && live["warnings"][0].is_null(), "{live}");
    volume.server.refuse(Some(Refusal::Away));
    volume.sh(&at, "head -c 100000 /dev/urandom > b");
    wait_until("trouble is seen", || !look(place, &at)["bucket"]["trouble"].is_null());
    let screen = text(place, &at);
    assert!(screen.contains("out of reach"), "{screen}");
    let live = look(place, &at);
    let waits = &live["bucket"];
    assert!(waits["queued"][0].as_u64() > Some(0) || waits["changed"].as_u64() > Some(0), "{live}");
    volume.server.refuse(None);
    volume.unmount(&at).code(0);
}
