//! What is not seen, and who does not belong. If these fail, a summary says that a task read nothing
//! which read it all, or somebody who looked into a directory counts as a task of the run.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::place::{Place, USER, done, finish};

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The summary's JSON.
#[track_caller]
fn summary(place: &Place) -> Value {
    let mut command = place.forebay(&["summary", "--json"]);
    let text = done(command.arg(&place.run)).code(0).text();
    serde_json::from_str(&text).expect("JSON")
}

fn task<'j>(summary: &'j Value, name: &str) -> Option<&'j Value> {
    summary["tasks"].as_array().expect("tasks").iter().find(|task| task["name"] == name)
}

#[test]
fn reads_of_an_ordinary_user_are_at_least_what_operations_moved() {
    const SIZE: u64 = 3_000_000;
    let Some(place) = Place::with_root() else { return };
    std::fs::write(place.project.join("in"), vec![7; SIZE as usize]).expect("an input");
    let (user, node) = (USER.to_string(), place.all.join("node").display().to_string());
    let mut run = place.program("setpriv");
    run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    run.arg(place.give_to_user()).args(["run", "-q", "-o"]).arg(&place.run);
    run.args(["--", "sh", "-c", "md5sum in; md5sum in; :"]);
    let device = format!("mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
    done(&mut place.apart(&device, &run)).code(0);
    let summary = summary(&place);
    let read = &task(&summary, "md5sum").expect("it ran")["read"];
    assert_eq!(read["seen"], Value::Null, "a page cache stands before us: {read}");
    assert!(read["at_least"].as_u64().expect("bytes") >= SIZE, "{read}");
    let file = &summary["files"][0];
    assert_eq!((&file["path"], &file["tasks"]), (&"in".into(), &2.into()), "{summary}");
    let text = done(place.forebay(&["summary"]).arg(&place.run)).code(0).text();
    let row = text.lines().find(|line| line.starts_with("md5sum")).expect("a row");
    assert!(row.contains("MiB"), "{row}");
    // Whoever is asked knows that two tasks read it.
    let told = done(place.forebay(&["explain"]).arg(&place.run)).code(0).text();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("read by md5sum; an input that 2 tasks read"), "{told}");
    place.nothing_left();
}

#[test]
fn who_looks_in_from_elsewhere_is_no_task() {
    let Some(place) = Place::with_root() else { return };
    std::fs::write(place.project.join("in"), "0123456789").expect("an input");
    // The orphan's parent is gone when it comes: it is the run's all the same.
    let script = "(sleep 0.1; head -c 3 in > orphan) & echo $$ > ../pid.part; mv ../pid.part ../pid
        until [ -e ../go ] && [ -s orphan ]; do sleep 0.02; done; md5sum in";
    let mut command = place.script(&["-q"], &format!("sh -c '{script}'; :"));
    let run = command.stdout(Stdio::null()).spawn().expect("started");
    place.wait_for("pid");
    let pid = std::fs::read_to_string(place.all.join("pid")).expect("a number");
    let inside = format!("/proc/{}/cwd", pid.trim());
    let look = format!("ls {inside}/ > /dev/null; tail -c 2 {inside}/in");
    let text = done(Command::new("sh").args(["-c", &look])).code(0).text();
    assert_eq!(text, "89", "it came in");
    std::fs::write(place.all.join("go"), "").expect("a file");
    finish(run, PATIENCE);
    let summary = summary(&place);
    for stranger in ["ls", "tail"] {
        assert!(task(&summary, stranger).is_none(), "{summary}");
    }
    assert!(task(&summary, "md5sum").is_some() && task(&summary, "head").is_some(), "{summary}");
    let others = &summary["others"];
    assert!(others["processes"].as_u64().expect("a number") >= 2, "{others}");
    assert!(others["operations"].as_u64().expect("a number") >= 2, "{others}");
    let text = done(place.forebay(&["summary"]).arg(&place.run)).code(0).text();
    assert!(text.contains("others on this machine"), "{text}");
    let report = done(place.forebay(&["report", "--json"]).arg(&place.run)).code(0).text();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let names = &report["runs"][0]["names"]["n"];
    assert_eq!(names.as_u64(), Some(summary["tasks"].as_array().expect("tasks").len() as u64));
    place.nothing_left();
}
