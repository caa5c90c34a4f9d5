//! The same command on several nodes at once. If these fail, a server seems to give each of its
//! clients all that it has.

use crate::bench::told;
use crate::place::{Done, Place, done};

/// `forebay bench` on a storage that is emulated with these limits of writing, by one node and by
/// four; each command writes 20 MB and says where it is.
fn bench(place: &Place, limits: &str) -> std::process::Command {
    let profile = place.all.join("server.toml");
    let text = format!(
        "about = \"a server\"\nreach = \"shared\"\n[profile]\nsource = \"a test\"\nwrite = {{ {limits} }}\n"
    );
    std::fs::write(&profile, text).expect("a profile");
    let emulate = format!("server={}", profile.display());
    let script = "echo $FOREBAY_NODE.$FOREBAY_JOB; head -c 20000000 /dev/zero > file; ls";
    let words = ["bench", "--on", "server", "--emulate", &emulate, "--nodes", "1,4"];
    place.forebay(&[&words[..], &["--repeat", "3", "--", "sh", "-c", script]].concat())
}

/// What is measured: again where something else took the machine, so that one node alone took half
/// as long again as what it writes takes.
fn undisturbed(place: &Place, limits: &str) -> Done {
    for _ in 0..3 {
        let end = done(&mut bench(place, limits));
        if an_hour(&end.code(0).text())[0] > 3600.0 / 3.0 {
            return end;
        }
        std::fs::remove_dir_all(place.project.join("bench")).expect("its results");
    }
    panic!("20 MB at 10 MB/s took more than 3 s, three times")
}

/// Commands an hour with one node and with four.
fn an_hour(text: &str) -> [f64; 2] {
    let rows = text.lines().skip_while(|line| !line.contains("an hour")).skip(1).take(2);
    let cells = rows.map(|row| row.split_whitespace().nth(3).and_then(|cell| cell.parse().ok()));
    let all: Option<Vec<f64>> = cells.collect();
    all.and_then(|all| all.try_into().ok()).unwrap_or_else(|| panic!("two rows in:\n{text}"))
}

#[test]
fn each_node_runs_the_command_in_the_same_directory() {
    let place = Place::new();
    let end = done(&mut bench(&place, "total = \"100 MB/s\""));
    told(end.code(0), &["server@1x1", "server@4x1", "efficiency"]);
    assert!(an_hour(&end.text()).into_iter().all(|commands| commands > 0.0), "{}", end.text());
    let log = place.project.join("bench/0-server@4x1.log");
    let log = std::fs::read_to_string(log).expect("a log");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0.0", "1.0", "2.0", "3.0", "file", "file", "file", "file"]);
    let left = std::fs::read_dir(&place.project).expect("there").count();
    assert_eq!(left, 1, "only the results are left");
}

#[test]
#[ignore = "timing: make timing"]
fn timing_nodes_share_what_a_server_has() {
    let place = Place::new().alone();
    let end = undisturbed(&place, "total = \"10 MB/s\"");
    let [one, four] = an_hour(&end.text());
    // Where one node alone was slowed down, four do get a little more done, and that is said.
    let hardly = end.text().contains("hardly more done");
    assert_eq!(hardly, one >= four * 0.9, "{one} by one, {four} by four:\n{}", end.text());
    assert!(four < one * 1.3, "{one} by one, {four} by four:\n{}", end.text());
}

#[test]
#[ignore = "timing: make timing"]
fn timing_what_each_node_has_grows_with_them() {
    let place = Place::new().alone();
    let end = undisturbed(&place, "node = \"10 MB/s\"");
    told(&end, &["still got more done"]);
    let [one, four] = an_hour(&end.text());
    assert!(four > one * 2.5, "{one} by one, {four} by four:\n{}", end.text());
}

#[test]
fn sizes_that_cannot_be_are_said() {
    let place = Place::new();
    for (words, why) in [
        (&["--nodes", "0"][..], "0"),
        (&["--nodes", "1024", "--jobs", "8"], "more than 4096"),
        (&["--slurm"], "on how many nodes"),
    ] {
        let all = [&["bench", "--on", "local"][..], words, &["--", "true"]].concat();
        done(&mut place.forebay(&all)).code(2).says(why);
    }
}
