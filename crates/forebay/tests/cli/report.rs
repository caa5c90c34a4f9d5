//! Pages of runs. If these fail, a report shows what was not so, runs what a file is called, or
//! takes the place of a run.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::Value;

use crate::made;
use crate::place::{Place, done};

const STUDIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
const OF_A_RUN: [&str; 9] =
    ["overview", "occupancy", "io", "operations", "sizes", "files", "flow", "tiers", "cost"];

/// A made run in the project.
fn make(place: &Place, name: &str) {
    made::named(&place.project, name).expect("a name of the list").expect("a run file");
}

/// Makes a page of these words, and takes the data out of it as a browser would.
#[track_caller]
fn page(place: &Place, words: &[&str]) -> (String, Value) {
    let words: Vec<&str> = ["report", "-o", "page.html"].iter().chain(words).copied().collect();
    done(&mut place.forebay(&words)).code(0).says("the report is in page.html");
    let page = place.read("page.html");
    let (_, rest) = page.split_once("id=\"forebay-data\">").expect("a page with data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    let packed = base64::engine::general_purpose::STANDARD.decode(data.trim()).expect("base64");
    let mut json = String::new();
    flate2::read::GzDecoder::new(&*packed).read_to_string(&mut json).expect("gzip of text");
    (page.clone(), serde_json::from_str(&json).expect("JSON"))
}

/// The texts that a column names.
fn texts(data: &Value, column: &Value) -> Vec<String> {
    let all = data["strings"].as_array().expect("texts");
    let at = column.as_array().expect("a column").iter();
    let text = |at: &Value| all[at.as_u64()? as usize].as_str().map(str::to_owned);
    at.map(|at| text(at).unwrap_or_default()).collect()
}

fn sum(column: &Value) -> f64 {
    column.as_array().expect("a column").iter().filter_map(Value::as_f64).sum()
}

#[test]
fn a_run_that_was_measured_has_every_panel() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for i in 1 2 3; do head -c 30000 /dev/zero > $i.tmp; done; cat *.tmp > all.out; \
                  rm *.tmp; md5sum all.out";
    done(&mut place.script(&["--trace", "every-read"], script)).code(0);
    let (_, data) = page(&place, &[place.run.to_str().expect("a plain name")]);
    let run = &data["runs"][0];
    assert_eq!((&run["origin"], &data["compare"]), (&"measured".into(), &Value::Null));
    for panel in OF_A_RUN.iter().filter(|panel| **panel != "cost") {
        assert_eq!(
            run["panels"][panel]["missing"],
            Value::Null,
            "{panel}: {}",
            run["panels"][panel]
        );
    }
    let names = texts(&data, &run["names"]["name"]);
    assert!(names.contains(&"md5sum".to_owned()), "{names:?}");
    let files = &run["panels"]["files"]["rows"];
    let paths = texts(&data, &files["path"]);
    let at = |name: &str| paths.iter().position(|path| path == name).expect(name);
    let should = texts(&data, &files["should"]);
    assert_eq!(should[at("1.tmp")], "a fast tier of the node");
    assert_eq!(files["readers"][at("all.out")], 1);
    assert_eq!(files["size_bytes"][at("all.out")], 90_000);
    let tiers = &run["panels"]["tiers"]["rows"][0];
    assert!(tiers["peak_bytes"].as_u64().expect("a number") >= 180_000, "{tiers}");
    let used = tiers["used_bytes"].as_array().expect("a column");
    assert_eq!(used.last().expect("bins").as_u64(), Some(90_000), "what was removed is gone");
    let operations = &run["panels"]["operations"];
    let all: f64 = run["panels"]["overview"]["operations"].as_f64().expect("a number");
    assert_eq!(sum(&operations["rows"]["count"]), all);
    place.nothing_left();
}

#[test]
fn bytes_that_were_not_all_seen_have_bounds() {
    let Some(place) = Place::with_fuse() else { return };
    // Without `--trace every-read` the kernel answers by itself.
    // What a process has used can be read until it is waited for: the driver takes its time.
    let script = "exec python3 -c 'import subprocess as s, time
for words in (\"dd if=/dev/zero of=a bs=300000 count=1\", \"sort a -o b\", \"gzip -k b\"):
    task = s.Popen(words.split(), stderr=s.DEVNULL)
    while not time.sleep(0.5) and task.poll() is None: pass'";
    done(&mut place.script(&[], script)).code(0);
    let (_, data) = page(&place, &[place.run.to_str().expect("a plain name")]);
    let run = &data["runs"][0];
    let names = texts(&data, &run["names"]["name"]);
    let panels = &run["panels"];
    let tasks = &panels["occupancy"]["tasks"];
    let by_name = &panels["overview"]["by_name"];
    let sort = names.iter().position(|name| name == "sort").expect("a task");
    let is_sort = |at: &usize| tasks["name"][*at] == sort;
    let single = (0..names.len()).find(is_sort).expect("its only task");
    for (table, at) in [(by_name, sort), (tasks, single)] {
        assert_eq!(table["read_bytes"][at], Value::Null, "{table}");
        let most = table["read_at_most_bytes"][at].as_u64();
        assert!(most >= Some(300_000), "{table}");
        // Exact, or how much files grew.
        let written = &table["written_bytes"][at];
        let sure = if written.is_null() { &table["written_at_least_bytes"][at] } else { written };
        assert_eq!(sure, 300_001, "{table}");
    }
    let critical = &panels["occupancy"]["critical"];
    assert_eq!(texts(&data, &critical["through"]), ["", "a", "b"], "{critical}");
    place.nothing_left();
}

#[test]
fn every_file_of_a_task_is_listed() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for i in $(seq 40); do echo $i > $i.txt; done; wc -c *.txt";
    done(&mut place.script(&[], script)).code(0);
    let (_, data) = page(&place, &[place.run.to_str().expect("a plain name")]);
    let occupancy = &data["runs"][0]["panels"]["occupancy"];
    let files = &occupancy["files"];
    let last = occupancy["tasks"]["n"].as_u64().expect("a number") as usize - 1;
    let at = |task: usize| files["at"][task].as_u64().expect("a place") as usize;
    let paths = texts(&data, &files["path"]);
    assert_eq!(paths[at(last)..at(last + 1)].len(), 40, "{paths:?}");
    assert_eq!(files["left"][last], 0);
    place.nothing_left();
}

#[test]
fn a_simulation_brings_its_limits_and_its_cost() {
    let place = Place::new();
    let study = |name: &str| format!("{STUDIES}/{name}");
    let corun = study("genomon-corun");
    done(&mut place.forebay(&["simulate", &corun, "--pipelines", "2", "-o", "two.run"])).code(0);
    let (_, data) = page(&place, &["two.run"]);
    let run = &data["runs"][0];
    assert_eq!(run["origin"], "simulated");
    assert_eq!(run["started_unix_us"], Value::Null, "nobody's clock told when");
    let limits = run["tiers"]["limit_bytes"].as_array().expect("a column");
    assert!(limits.iter().any(|limit| limit.as_u64() > Some(1 << 30)), "{limits:?}");
    let panels = &run["panels"];
    assert!(panels["operations"]["missing"].as_str().is_some());
    assert_eq!(panels["overview"]["operations"], Value::Null, "not seen is not 0");
    assert!(panels["cost"]["missing"].as_str().expect("why").contains("--instance"));
    done(&mut place.forebay(&["simulate", &study("nextflow-storages"), "-o", "aws.run"])).code(0);
    let (_, data) = page(&place, &["aws.run"]);
    let cost = &data["runs"][0]["panels"]["cost"];
    let total = cost["total_usd"].as_f64().unwrap_or_else(|| panic!("{cost}"));
    assert!(total > 0.0 && (sum(&cost["lines"]["usd"]) - total).abs() < 1e-6, "{cost}");
}

#[test]
fn what_was_predicted_is_what_the_others_are_compared_with() {
    let place = Place::new();
    make(&place, "measured");
    make(&place, "simulated");
    let (_, data) = page(&place, &["measured.run", "simulated.run"]);
    let compare = &data["compare"];
    assert_eq!(compare["base"], 1);
    let names = texts(&data, &compare["names"]["name"]);
    assert_eq!(names, ["bwa mem", "samtools sort", "bcftools call", "samtools index"]);
    for (run, of) in [0, 1].into_iter().zip(data["runs"].as_array().expect("runs")) {
        let told = &compare["names"]["runs"][run];
        let by_name = &of["panels"]["overview"]["by_name"];
        assert_eq!(told["wall_us"][0], by_name["wall_us"][0], "its own figure");
        assert_eq!(compare["runs"]["wall_us"][run], of["panels"]["overview"]["wall_us"]);
    }
    assert_eq!(compare["names"]["runs"][1]["read_bytes"][1], 0, "seen to be nothing");
    assert_eq!(compare["runs"]["operations"][1], Value::Null, "not recorded");
}

#[test]
fn repeats_are_told_with_their_range() {
    let place = Place::new();
    make(&place, "measured");
    make(&place, "simulated");
    std::fs::create_dir(place.project.join("bench")).expect("a directory");
    for (round, from) in [(0, "measured"), (1, "measured"), (2, "measured")] {
        for (name, from) in [("local", "simulated"), ("nfs", from)] {
            let from = place.project.join(format!("{from}.run"));
            let to = place.project.join(format!("bench/{round}-{name}.run"));
            std::fs::copy(from, to).expect("a copy");
        }
    }
    std::fs::write(place.project.join("bench/results.jsonl"), "").expect("a file");
    for words in [
        &["bench"][..],
        &[
            "local=simulated.run",
            "local=simulated.run",
            "local=simulated.run",
            "nfs=measured.run",
            "nfs=measured.run",
            "nfs=measured.run",
        ],
    ] {
        let (_, data) = page(&place, words);
        let storages = &data["compare"]["storages"];
        assert_eq!(texts(&data, &storages["label"]), ["local", "nfs"]);
        assert_eq!(storages["runs"], serde_json::json!([3, 3]));
        assert_eq!(texts(&data, &storages["verdict"]), ["", "slower"]);
        assert_eq!(storages["ratio"][0], Value::Null);
        let ratio = storages["ratio"][1].as_f64().expect("a ratio");
        assert!((1.05..1.2).contains(&ratio), "{ratio}");
        assert_eq!(data["runs"][0]["label"], "local (1)");
    }
}

#[test]
fn names_are_shown_and_never_run() {
    let place = Place::new();
    make(&place, "hostile");
    std::fs::rename(place.project.join("hostile.run"), place.project.join("<b onclick=x>.run"))
        .expect("renamed");
    let (page, data) = page(&place, &["<b onclick=x>.run"]);
    for name in ["title='owned'", "<img src=x", "<b onclick", "</script><script>d", "HYPERLINK("] {
        assert!(!page.contains(name), "{name} is in the page");
    }
    assert!(page.contains("<title>Forebay: &lt;b onclick=x&gt;.run</title>"));
    assert_eq!(page.matches("id=\"forebay-data\"").count(), 1, "nothing was filled in twice");
    let run = &data["runs"][0];
    let paths = texts(&data, &run["panels"]["files"]["rows"]["path"]);
    for shown in [
        "</script><script>document.title='owned'</script>",
        r"two\nlines\r\n\tand a tab",
        r"\xff\xfe no \xc3( UTF-8 \x80",
        r"\x1b[31mred",
        r"left \u{202e}gpj.exe right \u{2028} \u{200b}",
        "__proto__",
    ] {
        assert!(paths.iter().any(|path| path.contains(shown)), "{shown} is not in {paths:?}");
    }
    assert_eq!(run["names"]["n"], 12);
    let json = done(&mut place.forebay(&["report", "--json", "<b onclick=x>.run"])).code(0).text();
    assert!(!json.trim_end().contains(['<', '>', '&', '\n', '\u{2028}', '\u{1b}']), "{json}");
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), data);
}

#[test]
fn a_run_of_nothing_and_of_one_task_are_runs() {
    let place = Place::new();
    make(&place, "empty");
    make(&place, "one-task");
    let (_, data) = page(&place, &["empty.run", "one-task.run"]);
    let of = |run: usize| &data["runs"][run]["panels"];
    for panel in OF_A_RUN.iter().filter(|panel| **panel != "overview") {
        assert!(of(0)[panel]["missing"].as_str().is_some(), "{panel}: {}", of(0)[panel]);
    }
    assert!(of(0)["overview"]["verdict"].as_str().expect("a sentence").contains("No task"));
    assert_eq!(of(1)["occupancy"]["tasks"]["n"], 1);
    assert_eq!(of(1)["occupancy"]["lanes"], 1);
}

#[test]
fn large_runs_stay_small() {
    let place = Place::new();
    for (name, tasks, bytes_max) in [("big-25k", 25_000, 3 << 20), ("big-100k", 100_000, 8 << 20)] {
        make(&place, name);
        let (page, data) = page(&place, &[&format!("{name}.run")]);
        assert!(page.len() < bytes_max, "{name}: {} bytes", page.len());
        let tasks_shown = &data["runs"][0]["panels"]["occupancy"]["tasks"];
        assert_eq!(tasks_shown["n"], tasks);
        assert_eq!(tasks_shown["command"].as_array().map(Vec::len), Some(tasks));
        let running = &data["runs"][0]["panels"]["occupancy"]["busy"]["running"];
        let most = running.as_array().expect("a column").iter().filter_map(Value::as_f64);
        assert!(most.fold(0.0, f64::max) <= 8.01, "there were eight slots");
    }
}

#[test]
#[ignore = "timing: make timing"]
fn timing_a_page_of_many_tasks_is_made_soon() {
    let place = Place::new();
    make(&place, "big-100k");
    let began = Instant::now();
    page(&place, &["big-100k.run"]);
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
}

#[test]
fn tasks_on_one_lane_are_never_at_the_same_time() {
    let place = Place::new();
    make(&place, "measured");
    let (_, data) = page(&place, &["measured.run"]);
    let tasks = &data["runs"][0]["panels"]["occupancy"]["tasks"];
    let column = |name: &str| -> Vec<u64> {
        let values = tasks[name].as_array().expect("a column").iter();
        values.map(|value| value.as_u64().expect("a number")).collect()
    };
    let (lanes, starts, ends) = (column("lane"), column("start_us"), column("end_us"));
    assert!(starts.is_sorted());
    let mut free = [0; 64];
    for (lane, (start, end)) in lanes.iter().zip(starts.iter().zip(&ends)) {
        assert!(free[*lane as usize] <= *start, "two tasks on lane {lane} at {start}");
        free[*lane as usize] = *end;
    }
}

#[test]
fn what_is_paid_for_is_counted() {
    let place = Place::new();
    make(&place, "measured");
    let paid = ["--instance", "ec2.m6i.large", "--price", "fast=ebs.gp3", "measured.run"];
    let (_, data) = page(&place, &paid);
    let cost = &data["runs"][0]["panels"]["cost"];
    let items = texts(&data, &cost["lines"]["item"]);
    for paid in ["ec2.m6i.large", "ebs.gp3"] {
        assert!(items.iter().any(|item| item.starts_with(paid)), "{paid}: {items:?} {cost}");
    }
    let tiers = &data["runs"][0]["panels"]["tiers"]["rows"];
    let (peak, limit) = (tiers[1]["peak_bytes"].as_u64(), tiers[1]["limit_bytes"].as_u64());
    assert!(peak > Some(200 << 20) && peak < limit, "{peak:?} {limit:?}");
    assert_eq!(cost["unpriced"], serde_json::json!(["here"]), "{cost}");
    assert_eq!(data["runs"][0]["panels"]["overview"]["cost_usd"], cost["total_usd"]);
    for (wrong, says) in [
        (&["--price", "ebs.gp3"][..], "which of the tiers"),
        (&["--price", "fast=nothing"], "nothing"),
        (&["--instance", "nothing"], "nothing"),
        (&["--prices", "x.toml"], "nothing is paid for"),
    ] {
        let words: Vec<&str> =
            ["report", "measured.run", "-o", "x.html"].iter().chain(wrong).copied().collect();
        done(&mut place.forebay(&words)).code(2).says(says);
        assert!(!place.project.join("x.html").exists());
    }
}

#[test]
fn the_same_runs_give_the_same_page() {
    let place = Place::new();
    make(&place, "measured");
    let (first, _) = page(&place, &["measured.run"]);
    let (second, _) = page(&place, &["measured.run"]);
    assert!(first == second, "a page depends on more than its runs");
    let printed = done(&mut place.forebay(&["report", "measured.run", "-o", "-"])).code(0).text();
    assert!(printed == first, "on standard output it is another");
    assert!(!Path::new(&place.project.join("-")).exists());
}

#[test]
fn what_was_sampled_elsewhere_is_laid_beside_the_run() {
    let place = Place::new();
    make(&place, "measured");
    make(&place, "filer");
    let (_, data) = page(&place, &["measured.run", "filer.run"]);
    assert_eq!(data["runs"].as_array().map(Vec::len), Some(1), "samples are no run");
    let io = &data["runs"][0]["panels"]["io"];
    let names: Vec<&Value> =
        io["nodes"].as_array().expect("nodes").iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["n17", "filer"]);
    let filer = &io["nodes"][1];
    assert_eq!(filer["at_us"][0], 1_000_000, "what was before the run is left out");
    let devices = io["devices"].as_array().expect("devices").iter();
    let of_filer: Vec<&Value> = devices.filter(|device| device["node"] == 1).collect();
    assert_eq!(of_filer.len(), 1);
    done(&mut place.forebay(&["report", "filer.run", "-o", "x.html"])).code(1).says("no run");
}
