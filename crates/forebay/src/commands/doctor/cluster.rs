//! The same of all nodes of a cluster: Slurm runs the doctor on each, and what differs is told. It asks
//! nodes that are up, each by itself, so that one that hangs keeps nobody from answering.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;

use crate::console;
use crate::exit::CommandError;
use crate::slurm_programs::{SlurmError, ask_slurm};

/// Nodes that are asked at the same time.
const AT_ONCE: usize = 16;
/// How long a node may keep us waiting for a free slot, in seconds.
const PATIENCE_S: u32 = 60;
/// How long its doctor and its mounts may take then.
const EXAMINATION: Duration = Duration::from_secs(120);
/// A clock that is off by more makes times of files and leases wrong, in seconds.
const CLOCK_OFF_MOST_S: f64 = 1.0;

/// What is known of a node.
#[derive(Debug, Default, Serialize)]
struct NodeReport {
    node: String,
    /// Version of its Forebay; `None`: it did not answer.
    forebay: Option<String>,
    kernel: Option<String>,
    /// By how much its clock is off at least, in seconds; early ones are negative.
    clock_off_s: Option<f64>,
    /// What does not work, a sentence each.
    troubles: Vec<String>,
    /// What works with less, a sentence each.
    limits: Vec<String>,
}

/// Asks all nodes; the exit code is 1 if one of them has a trouble. `limit`: how long Slurm may take
/// to say which there are.
pub(super) fn examine_cluster(json: bool, limit: Duration) -> Result<i32, CommandError> {
    let mut list = Command::new("sinfo");
    list.args(["-h", "-N", "-o", "%N %T"]);
    let listed = ask_slurm("sinfo", &mut list, limit).map_err(SlurmError::into_command_error)?;
    let forebay = std::env::current_exe().unwrap_or_else(|_| "forebay".into());
    let reports = ask_nodes(nodes_of_list(&listed), |node| ask_node(node, &forebay));
    let text = match json {
        true => serde_json::json!({ "schema": 1, "nodes": reports }).to_string() + "\n",
        false => render_nodes(&reports),
    };
    console::print(&text);
    Ok(i32::from(reports.iter().any(|node| !node.troubles.is_empty())))
}

/// Names and states, each node once, in the order of the list.
fn nodes_of_list(text: &str) -> Vec<(String, String)> {
    let mut nodes: Vec<(String, String)> = Vec::new();
    for (name, state) in text.lines().filter_map(|line| line.trim().split_once(' ')) {
        if !nodes.iter().any(|(known, _)| known == name) {
            nodes.push((name.to_owned(), state.trim().to_owned()));
        }
    }
    nodes
}

/// Whether Slurm gives it work.
fn is_up(state: &str) -> bool {
    let plain = state.trim_end_matches(['*', '~', '#', '$', '@', '%', '!', '^', '-', '+']);
    plain == state && ["idle", "mixed", "allocated", "completing", "planned"].contains(&plain)
}

fn ask_nodes(
    nodes: Vec<(String, String)>,
    ask: impl Fn(&str) -> NodeReport + Sync,
) -> Vec<NodeReport> {
    let count = nodes.len();
    let waiting = Arc::new(Mutex::new(nodes.into_iter().enumerate()));
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..count.min(AT_ONCE) {
            let (sender, waiting, ask) = (sender.clone(), Arc::clone(&waiting), &ask);
            scope.spawn(move || {
                loop {
                    let next = waiting.lock().map_or(None, |mut all| all.next());
                    let Some((at, (node, state))) = next else { return };
                    let report = match is_up(&state) {
                        true => ask(&node),
                        false => NodeReport {
                            troubles: vec![format!("it is {state}, and was not asked")],
                            node,
                            ..NodeReport::default()
                        },
                    };
                    if sender.send((at, report)).is_err() {
                        return; // Nobody listens any more.
                    }
                }
            });
        }
        drop(sender);
        let mut reports: Vec<(usize, NodeReport)> = receiver.iter().collect();
        reports.sort_by_key(|(at, _)| *at);
        reports.into_iter().map(|(_, report)| report).collect()
    })
}

fn ask_node(node: &str, forebay: &Path) -> NodeReport {
    let script = "date +%s.%N; \"$0\" doctor --json; \"$0\" status --json; :";
    let before = unix_seconds();
    let answer = ask_slurm(
        "srun",
        Command::new("srun")
            .args(["--quiet", "--nodes=1", "--ntasks=1", "--mem=10", "--chdir=/"])
            .arg(format!("--nodelist={node}"))
            .arg(format!("--immediate={PATIENCE_S}"))
            .args(["sh", "-c", script])
            .arg(forebay),
        Duration::from_secs(PATIENCE_S.into()) + EXAMINATION,
    );
    match answer {
        Ok(text) => read_answer(node, &text, (before, unix_seconds())),
        Err(why) => NodeReport {
            node: node.to_owned(),
            troubles: vec![format!("it does not answer: {}", why.message())],
            ..NodeReport::default()
        },
    }
}

/// What a node has printed: its time, what the doctor says, and what `forebay status` says. It was
/// asked between two moments of our clock.
fn read_answer(node: &str, text: &str, (before, after): (f64, f64)) -> NodeReport {
    let mut report = NodeReport { node: node.to_owned(), ..NodeReport::default() };
    let mut lines = text.lines();
    if let Some(time) = lines.next().and_then(|line| line.trim().parse::<f64>().ok()) {
        let off = if time < before { time - before } else { (time - after).max(0.0) };
        report.clock_off_s = Some(off);
        if off.abs() > CLOCK_OFF_MOST_S {
            let way = if off > 0.0 { "fast" } else { "slow" };
            let by = off.abs();
            report.troubles.push(format!("its clock is {by:.1} s {way}: has it NTP?"));
        }
    }
    let values: Vec<Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text_of = |value: &Value| value.as_str().map(str::to_owned);
    match values.iter().find(|value| value["checks"].is_array()) {
        Some(doctor) => {
            report.forebay = text_of(&doctor["forebay"]);
            report.kernel = text_of(&doctor["kernel"]);
            let own = env!("CARGO_PKG_VERSION");
            if let Some(other) = report.forebay.as_deref().filter(|version| *version != own) {
                report.troubles.push(format!("it has Forebay {other}, and this node {own}"));
            }
            let works = doctor["works"].as_bool() == Some(true);
            for check in doctor["checks"].as_array().into_iter().flatten() {
                let said = format!(
                    "{}: {}",
                    check["name"].as_str().unwrap_or_default(),
                    check["means"].as_str().unwrap_or_default()
                );
                match check["standing"].as_str() {
                    Some("missing") if works => report.limits.push(said),
                    Some("missing") => report.troubles.push(said),
                    _ => {}
                }
            }
        }
        None => report.troubles.push("Forebay is not there, by the path that it has here".into()),
    }
    let mounts = values.iter().find_map(|value| value["mounts"].as_array());
    for mount in mounts.into_iter().flatten() {
        let health = mount["health"].as_str().unwrap_or_default();
        let why = mount["why"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let why: Vec<&str> = why.collect();
        let place = mount["points"][0].as_str().unwrap_or("a mount");
        if health != "well" {
            report.troubles.push(format!("{place} is {health}: {}", why.join("; ")));
        }
        let away = mount["peers"]["away"].as_array().into_iter().flatten();
        for peer in away.filter_map(Value::as_str) {
            report.limits.push(format!("{place}: {peer}"));
        }
        for space in mount["space"].as_array().into_iter().flatten() {
            let bytes = |name: &str| space[name].as_f64();
            if let (Some(free), Some(room)) = (bytes("free"), bytes("room"))
                && free < room / 20.0
            {
                let path = space["path"].as_str().unwrap_or_default();
                report.limits.push(format!("{path} has less than a twentieth of its room free"));
            }
        }
    }
    report
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn render_nodes(reports: &[NodeReport]) -> String {
    let width = reports.iter().map(|node| node.node.len()).max().unwrap_or(0);
    let mut text = String::new();
    for node in reports {
        let what = match (&node.forebay, &node.kernel) {
            (Some(version), Some(kernel)) => format!("forebay {version}, Linux {kernel}"),
            _ => "not known".to_owned(),
        };
        let standing = match (node.troubles.is_empty(), node.limits.is_empty()) {
            (true, true) => "well",
            (true, false) => "well, with limits",
            (false, _) => "not well",
        };
        text.push_str(&format!("{:<width$}  {what}: {standing}\n", node.node));
        for said in node.troubles.iter().chain(&node.limits) {
            text.push_str(&format!("{:<width$}  - {said}\n", ""));
        }
    }
    let well = reports.iter().filter(|node| node.troubles.is_empty()).count();
    text + &format!("\n{well} of {} nodes are well.\n", reports.len())
}

#[cfg(test)]
mod tests {
    //! If these fail, a cluster with a bad node is called well, or a good one is not.
    use super::*;

    const DOCTOR: &str = r#"{"forebay":"VERSION","kernel":"6.12.1","user":"root","works":true,"checks":[
        {"name":"FUSE device","asks":"?","standing":"ok","means":"it opens","fixes":[]},
        {"name":"passthrough","asks":"?","standing":"missing","means":"Linux 6.9 has it","fixes":[]}]}"#;
    const STATUS: &str = r#"{"schema":1,"health":"well","mounts":[{"points":["/v"],"health":"well","why":[],
        "peers":{"away":["n9 is away"]},"space":[{"path":"/t","free":1,"room":100}]}],"newer":[]}"#;

    fn answer(doctor: &str, status: &str) -> String {
        let line =
            |text: &str| text.replace('\n', "").replace("VERSION", env!("CARGO_PKG_VERSION"));
        format!("100.5\n{}\n{}\n", line(doctor), line(status))
    }

    #[test]
    fn a_node_that_works_has_no_troubles_and_its_limits() {
        let report = read_answer("n1", &answer(DOCTOR, STATUS), (100.0, 101.0));
        assert_eq!(report.troubles, [""; 0]);
        let limits = [
            "passthrough: Linux 6.9 has it",
            "/v: n9 is away",
            "/t has less than a twentieth of its room free",
        ];
        assert_eq!(report.limits, limits);
        assert_eq!((report.kernel.as_deref(), report.clock_off_s), (Some("6.12.1"), Some(0.0)));
        assert!(render_nodes(&[report]).ends_with("1 of 1 nodes are well.\n"));
    }

    #[test]
    fn each_trouble_is_told() {
        let trouble = |text: &str, asked| read_answer("n1", text, asked).troubles.join("|");
        let good = answer(DOCTOR, STATUS);
        assert!(trouble(&good, (103.0, 104.0)).contains("2.5 s slow"));
        assert!(trouble(&good, (90.0, 97.0)).contains("3.5 s fast"));
        let fails = answer(&DOCTOR.replace("\"works\":true", "\"works\":false"), STATUS);
        assert!(trouble(&fails, (100.0, 101.0)).contains("passthrough: "));
        let other = answer(&DOCTOR.replace("VERSION", "0.0.7"), STATUS);
        assert!(trouble(&other, (100.0, 101.0)).contains("it has Forebay 0.0.7"));
        let lost = STATUS
            .replace("\"health\":\"well\",\"why\":[]", "\"health\":\"lost\",\"why\":[\"gone\"]");
        assert_eq!(trouble(&answer(DOCTOR, &lost), (100.0, 101.0)), "/v is lost: gone");
        for nothing in ["", "100.5\nsh: no forebay\n"] {
            assert!(trouble(nothing, (100.0, 101.0)).contains("Forebay is not there"), "{nothing}");
        }
    }

    #[test]
    fn nodes_are_asked_once_and_only_those_that_are_up() {
        let nodes = nodes_of_list("n1 idle\nn2 drained\nn1 idle\nn3 mixed\nn4 idle*\n");
        let asked = Mutex::new(Vec::new());
        let reports = ask_nodes(nodes, |node| {
            asked.lock().expect("nobody panicked").push(node.to_owned());
            NodeReport { node: node.to_owned(), ..NodeReport::default() }
        });
        let mut asked = asked.into_inner().expect("nobody panicked");
        asked.sort();
        assert_eq!(asked, ["n1", "n3"]);
        let told: Vec<(&str, usize)> =
            reports.iter().map(|one| (&*one.node, one.troubles.len())).collect();
        assert_eq!(told, [("n1", 0), ("n2", 1), ("n3", 0), ("n4", 1)]);
    }
}
