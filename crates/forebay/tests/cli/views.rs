//! One verdict: what the summary, the report, the explanation and the plan of a run say of it, and
//! `forebay top` while it lasts. If these fail, two views of one run contradict each other.

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::Value;

use crate::made;
use crate::place::{PATIENCE, Place, done, finish, wait_until};

const STUDIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");

#[track_caller]
fn json(place: &Place, view: &str, run: &str) -> Value {
    let text = done(&mut place.forebay(&[view, run, "--json"])).code(0).text();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{view} of {run}: {error}"))
}

/// Without the ends of lines, which each view has elsewhere.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The facts of a chapter, if it has something to tell.
fn chapter<'j>(explained: &'j Value, name: &str) -> Option<&'j Value> {
    let chapters = explained["chapters"].as_array().expect("chapters");
    chapters.iter().find(|chapter| chapter["name"] == name).map(|chapter| &chapter["facts"])
}

/// Shares of reports have four digits.
#[track_caller]
fn same_share(one: &Value, other: &Value, run: &str) {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => assert!((one - other).abs() < 1e-3, "{run}: {one} or {other}"),
        (one, other) => assert_eq!(one, other, "{run}"),
    }
}

#[track_caller]
fn views_agree(place: &Place, run: &str) {
    let summary = json(place, "summary", run);
    let report = json(place, "report", run);
    let explained = json(place, "explain", run);
    let overview = &report["runs"][0]["panels"]["overview"];
    let verdict = chapter(&explained, "verdict").expect("a verdict");
    assert_eq!(summary["waited_share"], verdict["waited_share"], "{run}");
    same_share(&summary["waited_share"], &overview["waited_share"], run);
    for facts in [verdict, overview] {
        assert_eq!(summary["time"], facts["time"], "{run}");
    }
    let split = &summary["time"];
    let parts = ["storage_us", "computing_us", "cpu_wait_us", "elsewhere_us", "unknown_us"];
    let parts: u64 = parts.iter().filter_map(|part| split[part].as_u64()).sum();
    assert_eq!(Some(parts), split["tasks_us"].as_u64(), "{run}: parts are of one whole");
    let waited = split["storage_us"].as_f64().map(|waited| waited / parts as f64);
    same_share(&waited.filter(|_| parts > 0).into(), &summary["waited_share"], run);
    let computing = split["computing_us"].as_f64().map(|time| time / parts as f64);
    same_share(&computing.filter(|_| parts > 0).into(), &overview["cpu_share"], run);
    if let Some(sentence) = summary["verdict"]["sentence"].as_str() {
        let said = overview["verdict"].as_str().expect("a sentence");
        assert!(said.ends_with(&shown(sentence)), "{run}: {said}");
        for view in ["summary", "explain"] {
            let text = flat(&done(&mut place.forebay(&[view, run])).code(0).text());
            // Each in its own way of showing names that would act.
            let clean = |c: char| if c.is_control() { '?' } else { c };
            let said = match view {
                "summary" => sentence.chars().map(clean).collect(),
                _ => shown(sentence),
            };
            assert!(text.contains(&flat(&said)), "{view} of {run} does not say {said}: {text}");
        }
    }
    files_agree(&report, &explained, run);
    plan_agrees(place, &summary, run);
}

/// A site on which all of them fit.
const SITE: &str = "[nodes]\ncount = 1\ncores = 64\n\
    [tier.net]\nreach = 'shared'\nprofile = { source = 'a test', latency = '1 ms' }\n";

/// What a plan says of the run that it was learnt from. Only without a task there is no plan.
#[track_caller]
fn plan_agrees(place: &Place, summary: &Value, run: &str) {
    let site = place.all.join("plan-site.toml");
    std::fs::write(&site, SITE).expect("written");
    let site = site.to_str().expect("a plain name");
    let words = ["plan", run, "--site", site, "--project", "net", "--budget", "100ms", "--json"];
    let ended = done(&mut place.forebay(&words));
    let has_task = |task: &Value| task["driver"] == false;
    if !summary["tasks"].as_array().expect("tasks").iter().any(has_task) {
        ended.code(1).says("it has no task");
        return;
    }
    let plan: Value = serde_json::from_str(&ended.code(0).text()).expect("JSON");
    let learnt = &plan["learnt_from"];
    assert_eq!(learnt["run"], run);
    for figure in ["time", "waited_share", "verdict"] {
        assert_eq!(learnt[figure], summary[figure], "{figure} of {run}");
    }
    let said = learnt["verdict"]["sentence"].as_str().expect("a sentence");
    let rules = place.all.join("told-rules.toml");
    let rules = rules.to_str().expect("a plain name");
    let words = [&words[..8], &["--force", "-o", rules][..]].concat();
    done(&mut place.forebay(&words)).code(0);
    let text = flat(&done(&mut place.forebay(&["explain", rules, "--all"])).code(0).text());
    let clean = |c: char| if c.is_control() { '?' } else { c };
    let said: String = said.chars().map(clean).collect();
    assert!(text.contains(&flat(&said)), "the plan of {run} does not say {said}: {text}");
}

/// As pages and explanations show a name that has characters that act.
fn shown(text: &str) -> String {
    let mut safe = String::new();
    text.chars().for_each(|c| match c {
        '\\' => safe.push_str("\\\\"),
        '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
        c if c.is_control() => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => safe.push(c),
    });
    safe
}

/// Who used a file, and what that means for its place.
#[track_caller]
fn files_agree(report: &Value, explained: &Value, run: &str) {
    let Some(told) = chapter(explained, "files") else { return };
    let rows = &report["runs"][0]["panels"]["files"]["rows"];
    let texts = report["strings"].as_array().expect("texts");
    let text = |at: &Value| at.as_u64().and_then(|at| texts[at as usize].as_str());
    let rows_of = |column: &str| rows[column].as_array().expect("a column").clone();
    let (paths, readers, writers) = (rows_of("path"), rows_of("readers"), rows_of("writers"));
    let (should, why) = (rows_of("should"), rows_of("why"));
    let mut at = BTreeMap::new();
    for (row, path) in paths.iter().enumerate() {
        at.insert(text(path).unwrap_or_default().to_owned(), row);
    }
    for file in told["files"].as_array().expect("files") {
        let path = file["path"].as_str().expect("a path");
        // A report has the costliest by time, an explanation those of most bytes.
        let Some(&row) = at.get(path) else { continue };
        assert_eq!(
            (&file["readers"], &file["writers"]),
            (&readers[row], &writers[row]),
            "{run}: {path}"
        );
        // What rules sent elsewhere, and crowds of small files, a report tells first.
        let first = ["where it was", "packed, on a fast tier"];
        if !text(&should[row]).is_some_and(|should| first.contains(&should)) {
            assert_eq!(file["why"].as_str(), text(&why[row]), "{run}: {path}");
        }
    }
}

#[test]
fn all_views_of_every_sample_run_say_the_same() {
    let place = Place::new();
    // Larger ones are made by the same recipe; `filer` is samples alone.
    let left_out = ["big-25k", "big-100k", "filer"];
    for (name, _) in made::ALL.iter().filter(|(name, _)| !left_out.contains(name)) {
        made::named(&place.project, name).expect("a name of the list").expect("a run file");
        views_agree(&place, &format!("{name}.run"));
    }
    for study in ["genomon-corun", "nfs-lustre", "sra-access", "trinity-storages"] {
        let (folder, run) = (format!("{STUDIES}/{study}"), format!("{study}.run"));
        done(&mut place.forebay(&["simulate", &folder, "-o", &run])).code(0);
        views_agree(&place, &run);
    }
}

#[test]
fn all_views_of_a_measured_run_say_the_same() {
    let Some(place) = Place::with_fuse() else { return };
    let script =
        "rm -f *; head -c 300000 /dev/urandom > in; for i in 1 2 3 4 5; do md5sum in > $i.sum; done
        cat in in | sort > sorted; cat *.sum | sort; rm 1.sum";
    for trace in ["files", "every-read"] {
        done(&mut place.script(&["--trace", trace], script)).code(0);
        let run = place.run.to_str().expect("a plain name");
        views_agree(&place, run);
        let explained = json(&place, "explain", run);
        let files = chapter(&explained, "files").expect("files")["files"].as_array().cloned();
        let files = files.expect("a list");
        let file = files.iter().find(|file| file["path"] == "in").expect("the input");
        assert_eq!(file["why"], "made in the run and read again by 6 tasks: a fast tier near them");
        let summary = json(&place, "summary", run);
        let sorts = summary["tasks"].as_array().expect("tasks").iter();
        let memory = sorts.filter_map(|task| task["memory_peak_bytes"].as_u64()).max();
        // Programs that end before anybody looks have no peak: no 0 stands for them.
        assert_ne!(memory, Some(0), "{summary}");
    }
    place.nothing_left();
}

/// While a run lasts its tasks have no end, so nobody can say where their time went. Its operations,
/// their time and their bytes are what the record of the run adds up to.
#[test]
fn a_live_view_and_the_summary_add_up_the_same_operations() {
    let Some(place) = Place::with_fuse() else { return };
    let script = format!(
        "head -c 3000000 /dev/zero > a; cat a | wc -c > b; for n in 1 2 3; do cp a c$n; done; \
         sync a; mv b d; rm a; touch {0}/ready; while [ ! -e {0}/go ]; do sleep 0.1; done",
        place.all.display()
    );
    let mut command = place.script(&["-q", "--trace", "every-read"], &script);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("ready");
    let look = || {
        let mut command = place.forebay(&["top", "--once", "--json"]);
        let text = done(command.arg(&place.project)).code(0).text();
        let told: Value = serde_json::from_str(&text).expect("JSON");
        told["daemons"][0].clone()
    };
    let all = |live: &Value, figure: &str| -> u64 {
        let of = |group: &str| live[group][figure].as_u64().expect("a figure");
        of("names") + of("data") + of("syncs")
    };
    // Files are closed a moment after their programs have ended.
    let last = std::cell::Cell::new(0);
    wait_until("nothing is under way", || {
        let count = all(&look(), "count");
        last.replace(count) == count
    });
    let live = look();
    std::fs::write(place.all.join("go"), "").expect("written");
    finish(child, PATIENCE).code(0);
    let summary = json(&place, "summary", place.run.to_str().expect("a plain name"));
    let tree = &summary["tiers"][0];
    assert_eq!(tree["operations"].as_u64(), Some(all(&live, "count")), "{live}\n{summary}");
    for figure in ["read", "written"] {
        assert_eq!(live[figure], tree[figure]["seen"], "{figure} of {live}\n{summary}");
    }
    let (shown, added) = (all(&live, "time_us"), summary["waited_us"].as_u64().expect("a time"));
    // Each row of the record is rounded to a microsecond.
    let rows = place.record().number("SELECT count(*) FROM ops") as u64;
    assert!(shown.abs_diff(added) <= rows + 3, "{shown} or {added}, of {rows} rows");
    place.nothing_left();
}
