//! If these fail, a cluster gets settings that it does not need, loses some of its own, or runs a
//! script as root that does harm. Slurm itself is in `tests/real/cases/slurm-setup.sh`.

use std::process::Command;

use super::setup::CountedTier;
use super::*;

fn setup() -> SlurmSetup {
    SlurmSetup {
        node_tiers: vec![CountedTier { resource: "forebay_near".into(), mib: 90 }],
        shared_tiers: vec![CountedTier { resource: "forebay_net".into(), mib: 500 }],
        mounts: vec!["/mnt/it's here".into()],
        stage_in: true,
        low: Some("low".into()),
        folder: "/etc/slurm".into(),
        forebay: "/opt/it's/forebay".into(),
        ..SlurmSetup::default()
    }
}

fn text_of(files: &[SetupFile], name: &str) -> String {
    files.iter().find(|file| file.name == name).expect(name).text.clone()
}

/// A cluster of two nodes that has all.
fn whole_cluster() -> ClusterState {
    let mut cluster = ClusterState::from_texts(
        "GresTypes = gpu,forebay_near\nLicenses = forebay_net:500\nProlog = /etc/slurm/forebay-prolog\n\
         Epilog = /etc/slurm/forebay-epilog\nSchedulerParameters = nohold_on_prolog_fail\n\
         BurstBufferType = burst_buffer/lua\nMaxArraySize = 10001\nMaxJobCount = 50000\n\
         SlurmUser = root(0)\n",
        "NodeName=n1 Gres=gpu:2,forebay_near:90 State=IDLE\nNodeName=n2 Gres=forebay_near:90 State=MIXED\n",
        "PartitionName=all State=UP PriorityTier=10\nPartitionName=low State=UP PriorityTier=1\n",
    );
    cluster.burst_buffers = "Name=lua DefaultPool=(null)".into();
    cluster
}

fn missing(cluster: &ClusterState) -> Vec<&'static str> {
    let report = check_cluster(&setup(), cluster);
    let missing = report.findings.iter().filter(|one| one.finding.standing == Standing::Missing);
    missing.map(|one| one.section).collect()
}

#[test]
fn settings_that_are_there_stay() {
    let cluster = ClusterState::from_texts(
        "GresTypes = gpu\nLicenses = matlab:5\nProlog = /site/prolog.sh\n\
         SchedulerParameters = bf_max_job_test=9,nohold_on_prolog_fail\nMaxArraySize = 20000\n",
        "",
        "",
    );
    let conf = text_of(&setup_files(&setup(), Some(&cluster)), "forebay.conf");
    for line in [
        "GresTypes=gpu,forebay_near",
        "Licenses=matlab:5,forebay_net:500",
        "# Prolog is /site/prolog.sh already: have it run /etc/slurm/forebay-prolog, and end as that ends.",
        "SchedulerParameters=bf_max_job_test=9,nohold_on_prolog_fail",
        "Epilog=/etc/slurm/forebay-epilog",
        "MaxJobCount=50000",
    ] {
        assert!(conf.lines().any(|there| there == line), "{line}\n{conf}");
    }
    assert!(!conf.contains("MaxArraySize"), "it is more than enough");
    // Nobody is given what was not asked for.
    let bare = setup_files(&SlurmSetup::default(), None);
    let names: Vec<&str> = bare.iter().map(|file| file.name).collect();
    assert_eq!(names, ["forebay.conf", "forebay-epilog"]);
}

#[test]
fn each_thing_that_a_cluster_lacks_is_told() {
    assert_eq!(missing(&whole_cluster()), [""; 0]);
    let all = ClusterState::default();
    let told = missing(&all);
    for section in
        ["room on nodes", "room for all", "begin of jobs", "end of jobs", "stage in", "low queue"]
    {
        assert!(told.contains(&section), "{section}: {told:?}");
    }
    let mut cluster = whole_cluster();
    cluster.nodes[1].remove("Gres");
    cluster.partitions[0].insert("PriorityTier".into(), "1".into());
    let report = check_cluster(&setup(), &cluster);
    let text = render_report(&report);
    assert_eq!(missing(&cluster), ["room on nodes", "low queue"], "{text}");
    assert!(text.contains("missing  room on nodes: n2 have no forebay_near\n"), "{text}");
    assert!(text.ends_with("see the lines that begin with `missing`.\n"), "{text}");
    assert!(render_report(&check_cluster(&setup(), &whole_cluster())).ends_with("needs.\n"));
}

#[test]
fn a_node_that_was_drained_and_a_short_array_are_told_and_decide_nothing() {
    let mut cluster = whole_cluster();
    cluster.nodes[0].insert("State".into(), "IDLE+DRAIN".into());
    cluster.nodes[0].insert("Reason".into(), "Prolog error".into());
    assert_eq!(missing(&cluster), [""; 0]);
    let text = render_report(&check_cluster(&setup(), &cluster));
    assert!(text.contains("limited  nodes: n1 is IDLE+DRAIN, because: Prolog error\n"), "{text}");
}

/// Runs the prolog as Slurm does: without a PATH. Its exit code, and what it said.
fn run_prolog(setup: &SlurmSetup, user: &str) -> (Option<i32>, String) {
    let place = tempfile::tempdir().expect("a directory");
    let script = place.path().join("prolog");
    std::fs::write(&script, text_of(&setup_files(setup, None), "forebay-prolog")).expect("written");
    let id = rustix::process::geteuid().as_raw().to_string();
    let out = Command::new("/bin/sh")
        .arg(&script)
        .env_clear()
        .envs([("SLURM_JOB_ID", "7"), ("SLURM_JOB_USER", user), ("SLURM_JOB_UID", &id)])
        .output()
        .expect("started");
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

#[test]
fn a_node_whose_volume_is_not_well_refuses_the_job() {
    let place = tempfile::tempdir().expect("a directory");
    let forebay = place.path().join("it's forebay");
    for (status, code) in [(0, 0), (1, 0), (3, 1), (4, 1), (127, 1)] {
        let script = format!(
            "#!/bin/sh\n[ \"$1 $2\" = \"status /mnt/it's here\" ] || exit 9\nexit {status}\n"
        );
        std::fs::write(&forebay, script).expect("written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&forebay, mode).expect("set");
        let setup = SlurmSetup { forebay: forebay.clone(), ..setup() };
        let (ended, said) = run_prolog(&setup, "ada");
        assert_eq!(ended, Some(code), "status {status}: {said}");
        assert_eq!(said.contains("/mnt/it's here is not well"), code == 1, "{said}");
    }
}

#[test]
fn only_a_directory_that_was_not_there_is_made_and_given_away() {
    let place = tempfile::tempdir().expect("a directory");
    let before = format!("{}/it's ", place.path().display());
    let directories = vec![(before.clone(), ".d".to_owned())];
    let setup = SlurmSetup { user_directories: directories, ..SlurmSetup::default() };
    assert_eq!(run_prolog(&setup, "ada"), (Some(0), String::new()));
    let made = std::fs::metadata(format!("{before}ada.d")).expect("made");
    assert_eq!(made.permissions().mode() & 0o7777, 0o700);
    // A link that somebody put there is not followed.
    let victim = place.path().join("victim");
    std::fs::create_dir(&victim).expect("made");
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o755)).expect("set");
    std::os::unix::fs::symlink(&victim, format!("{before}eve.d")).expect("linked");
    assert_eq!(run_prolog(&setup, "eve").0, Some(0));
    let mode = std::fs::metadata(&victim).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o755);
    // Names that are none make nothing.
    let count = || std::fs::read_dir(place.path()).expect("listed").count();
    let there = count();
    for user in ["", "..", "a/b", ".", "/"] {
        assert_eq!(run_prolog(&setup, user).0, Some(0), "{user}");
    }
    assert_eq!(count(), there);
}

#[test]
fn the_epilog_leaves_alone_what_lives() {
    let files = setup_files(&setup(), None);
    let out = Command::new("/bin/sh")
        .arg("-c")
        .arg(text_of(&files, "forebay-epilog"))
        .env_clear()
        .env("SLURM_JOB_UID", "4242")
        .output()
        .expect("started");
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
}
