//! What is written for other tools. If these fail, the facility's page lacks the runs, or the name
//! of a program becomes markup in it.

use serde_json::Value;

use crate::place::{Place, done};

#[test]
fn multiqc_gets_a_row_and_bars_for_each_run() {
    let Some(place) = Place::with_fuse() else { return };
    let script = "for i in $(seq 30); do echo $i > s$i; done; head -c 2000000 /dev/zero > big
        cp /bin/cat '../a<b>'; '../a<b>' big > /dev/null";
    done(&mut place.script(&["-q"], script)).code(0);
    std::fs::copy(&place.run, place.all.join("two.run")).expect("copied");
    let export = |words: &[&str]| {
        let all = [&["export", "../out.run", "../two.run"], words].concat();
        done(&mut place.forebay(&all))
    };
    export(&["--format", "multiqc", "-o", "../page/forebay"]).code(0).says("2 runs for MultiQC");
    let read = |name: &str| -> Value {
        let path = place.all.join(format!("page/forebay/forebay_{name}_mqc.json"));
        let text = std::fs::read_to_string(path).expect(name);
        serde_json::from_str(&text).expect("JSON")
    };
    let general = read("general_stats");
    assert_eq!(general["plot_type"], "generalstats");
    for run in ["out", "two"] {
        let row = &general["data"][run];
        assert!(row["forebay_files_made"].as_u64() >= Some(31), "{general}");
        assert!(row["forebay_wall_min"].as_f64() > Some(0.0), "{general}");
        assert!(row["forebay_written_gib"].as_f64() > Some(0.0), "{general}");
        assert!(read("file_sizes")["data"][run]["up to 4 KiB"].as_u64() >= Some(30));
    }
    let tasks = read("time_by_task");
    assert!(tasks["data"]["out"]["a&lt;b&gt;"].as_f64() > Some(0.0), "{tasks}");
    assert_eq!(tasks["plot_type"], "bargraph");
    let bytes = read("bytes_by_storage");
    let bars = bytes["data"]["out"].as_object().expect("bars");
    let written = bars.iter().find(|(bar, _)| bar.ends_with(": written")).expect("bytes");
    assert!(written.1.as_u64() >= Some(2_000_000), "{bytes}");
    // Of what can't be written nothing is said to be there.
    export(&["--format", "multiqc"]).code(1).says("-o");
    export(&["--format", "multiqc", "-o", "/proc/none"]).code(1).says("/proc/none");
    export(&["--format", "wfformat"]).code(1).says("one run");
    export(&["../none.run", "--format", "multiqc", "-o", "../x"]).code(1).says("none.run");
    assert!(!place.all.join("x").exists(), "nothing is half written");
}

/// The value of an attribute, without its type.
fn said(of: &Value, key: &str) -> Option<Value> {
    let all = of["attributes"].as_array().expect("attributes");
    let found: Vec<&Value> = all.iter().filter(|one| one["key"] == key).collect();
    assert!(found.len() < 2, "{key} is there twice: {of}");
    let value = found.first()?["value"].as_object().expect("a value");
    assert_eq!(value.len(), 1, "one type: {value:?}");
    value.values().next().cloned()
}

/// Resources with their spans, of a file of one line.
fn spans_by_resource(text: &str) -> Vec<(Value, Vec<Value>)> {
    let [line] = &text.lines().collect::<Vec<_>>()[..] else { panic!("one request: {text}") };
    let request: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(request.as_object().expect("a request").len(), 1);
    let parts = request["resourceSpans"].as_array().expect("parts");
    parts
        .iter()
        .map(|part| {
            let scope = &part["scopeSpans"][0];
            assert_eq!(scope["scope"]["name"], "forebay");
            (part["resource"].clone(), scope["spans"].as_array().expect("spans").clone())
        })
        .collect()
}

fn is_id(value: &Value, digits: usize) -> bool {
    let text = value.as_str().expect("hex");
    text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[test]
fn a_trace_has_a_span_for_the_run_and_below_it_one_for_each_task() {
    let Some(place) = Place::with_fuse() else { return };
    let script =
        "head -c 50000 /dev/zero > made; cp made copy; bash -c 'sort copy; exit 4'; exit 3";
    done(&mut place.script(&["-q"], script)).code(3);
    let export = || done(&mut place.forebay(&["export", "../out.run", "--format", "otlp"]));
    let text = export().code(0).text();
    assert_eq!(export().text(), text, "the same run is the same trace");
    let parts = spans_by_resource(&text);
    let [(resource, spans)] = &parts[..] else { panic!("one machine: {text}") };
    assert_eq!(said(resource, "service.name"), Some("forebay".into()));
    assert_eq!(said(resource, "service.version"), Some(env!("CARGO_PKG_VERSION").into()));
    assert!(said(resource, "host.name").is_some() && said(resource, "forebay.node").is_none());
    let record = place.record();
    assert_eq!(spans.len() as i64, record.number("SELECT count(*) FROM tasks") + 1);
    let root = &spans[0];
    assert_eq!((&root["name"], root.get("parentSpanId")), (&"sh".into(), None));
    let mut ids: Vec<&str> = spans.iter().filter_map(|span| span["spanId"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len(), "each has its own id");
    let nanos = |span: &Value, key: &str| -> u64 {
        // A number of 64 bits would lose digits in JavaScript: it is text.
        span[key].as_str().expect("text").parse().expect("a number")
    };
    let started = record.number("SELECT value FROM header WHERE key = 'started_unix_us'") as u64;
    assert_eq!(nanos(root, "startTimeUnixNano"), started * 1000);
    for span in spans {
        assert!(is_id(&span["traceId"], 32) && is_id(&span["spanId"], 16), "{span}");
        assert_eq!((&span["traceId"], &span["kind"]), (&root["traceId"], &1.into()));
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
        if span != root {
            let parent = span["parentSpanId"].as_str().expect("it has one");
            assert!(ids.contains(&parent), "{span}");
            assert!(nanos(span, "startTimeUnixNano") >= nanos(root, "startTimeUnixNano"));
        }
    }
    let named = |name: &str| {
        let found = spans.iter().skip(1).find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    // The inner shell started sort, and the outer one both it and cp.
    assert_eq!(named("sort")["parentSpanId"], named("bash")["spanId"]);
    assert_eq!(named("bash")["parentSpanId"], named("sh")["spanId"]);
    assert_eq!(named("cp")["parentSpanId"], named("sh")["spanId"]);
    assert_eq!(named("sh")["parentSpanId"], root["spanId"]);
    let cp = named("cp");
    let words = said(cp, "process.command_args").expect("words");
    assert_eq!(words["values"][1]["stringValue"], "made");
    assert_eq!(said(cp, "forebay.written.at_least_bytes"), Some("50000".into()));
    assert_eq!(said(cp, "forebay.task.kind"), Some("task".into()));
    assert!(said(cp, "forebay.operations").is_some() && said(cp, "process.pid").is_some());
    assert_eq!((cp.get("status"), said(cp, "error.type")), (None, None), "nobody knows its status");
    assert_eq!(root["status"]["code"], 2, "{root}");
    assert_eq!(said(root, "process.exit.code"), Some("3".into()));
    assert_eq!(said(root, "error.type"), Some("3".into()));
    assert_eq!(said(root, "forebay.run.complete"), Some(true.into()));
    // Into a file: that of another export is replaced, and what somebody wrote is not.
    let into = |name: &str| {
        let words = ["export", "../out.run", "--format", "otlp", "-o", name];
        done(&mut place.forebay(&words))
    };
    into("../trace.json").code(0).says("as one request");
    into("../trace.json").code(0);
    assert_eq!(std::fs::read_to_string(place.all.join("trace.json")).expect("written"), text);
    std::fs::write(place.all.join("mine.json"), "{}").expect("written");
    into("../mine.json").code(1).says("--force");
    into("../out.run").code(1).says("out.run");
    done(&mut place.forebay(&["export", "../none.run", "--format", "otlp"]))
        .code(1)
        .says("none.run");
    place.nothing_left();
}

#[test]
fn a_trace_of_several_nodes_has_a_part_for_each_and_other_runs_are_other_traces() {
    let place = Place::new();
    let parts = ["1.run", "2.run"].map(|name| {
        let path = place.all.join(name);
        let mut run = place.forebay(&["run", "--recorder", "notify", "-q", "-o"]);
        run.arg(&path).args(["--", "sh", "-c", "seq 10 > f; sort f > g"]);
        done(&mut run).code(0);
        path
    });
    let mut join = place.forebay(&["join", "-o"]);
    done(join.arg(&place.run).args(&parts)).code(0);
    // As a run is that was joined of two nodes: each of its shells stands for one.
    let edit = rusqlite::Connection::open(&place.run).expect("the joined run");
    edit.execute_batch(
        "INSERT INTO nodes SELECT 77, 'far', 'far-host', 1, 0, NULL, NULL;
         UPDATE process_nodes SET node = 77 WHERE process IN (
           SELECT process FROM processes JOIN tasks USING (task) WHERE name = 'sort')",
    )
    .expect("edited");
    drop(edit);
    let mut export = place.forebay(&["export", "--format", "otlp"]);
    let text = done(export.arg(&place.run).arg(&parts[0])).code(0).text();
    let parts = spans_by_resource(&text);
    let [(near, spans), (far, far_spans), (_, other)] = &parts[..] else { panic!("{text}") };
    assert_eq!(said(far, "host.name"), Some("far-host".into()));
    assert_eq!(said(far, "forebay.node"), Some("far".into()));
    assert_ne!(said(near, "forebay.node"), said(far, "forebay.node"));
    assert!(far_spans.len() == 2 && far_spans.iter().all(|span| span["name"] == "sort"), "{text}");
    assert!(spans.iter().all(|span| span["name"] != "sort"), "{text}");
    assert_eq!(spans[0]["traceId"], far_spans[0]["traceId"]);
    assert_ne!(spans[0]["traceId"], other[0]["traceId"]);
    // The recorder did not see how long operations took.
    assert_eq!(said(&spans[0], "forebay.waited_us"), None);
}

#[test]
fn a_trace_of_an_anonymous_run_tells_no_names() {
    let place = Place::new();
    let mut run = place.forebay(&["run", "--recorder", "notify", "-q", "--anonymise", "-o"]);
    run.arg(&place.run);
    run.args(["--", "sh", "-c", "echo x > Lovelace_Ada.bam; cat Lovelace_Ada.bam"]);
    done(&mut run).code(0);
    let text =
        done(&mut place.forebay(&["export", "../out.run", "--format", "otlp"])).code(0).text();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let here = place.all.file_name().and_then(|name| name.to_str()).expect("a name");
    for name in ["Lovelace", host.trim(), here] {
        assert!(
            !text.contains(&format!("{name}\"")) && !text.contains(&format!("/{name}")),
            "{name}"
        );
    }
    assert!(!text.contains("Lovelace"), "{text}");
    let parts = spans_by_resource(&text);
    assert!(parts[0].1.iter().any(|span| span["name"] == "cat"), "programs keep their names");
}
