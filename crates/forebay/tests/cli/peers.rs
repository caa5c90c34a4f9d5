//! Nodes that read one volume and share what they fetch. If these fail, a reference is fetched as
//! often as there are nodes, a node that is gone or lies stops or spoils the work of the others, or
//! somebody without the token reads their files.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use forebay_objstore::{BucketClient, BucketSettings};
use forebay_peers::{PeerName, parse_peers, rank_peers};

use crate::bucket::Volume;
use crate::place::{Done, PATIENCE, done, finish, wait_until};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER_TOKEN: &str = "fedcba9876543210fedcba9876543210";
const MIB: u64 = 1 << 20;
/// Bytes of the reference: nine parts.
const SIZE: u64 = 72 * MIB - 12_345;

/// Nodes of one machine, each with an address, a mount point and a state directory of its own.
struct Nodes {
    volume: Volume,
    addresses: Vec<String>,
    sum: String,
}

impl Nodes {
    /// A volume with a reference in it, and addresses that no other test has.
    fn with_fuse(count: usize) -> Option<Nodes> {
        let volume = Volume::with_fuse()?;
        volume.mount("writer", &volume.at());
        let make = format!(
            "mkdir refs; head -c {SIZE} /dev/urandom > refs/hg38.fa; head -c 300000 /dev/urandom > \
             refs/hg38.fa.fai; echo small > refs/README"
        );
        volume.sh(&volume.at(), &make);
        let sum = volume.sh(&volume.at(), "md5sum < refs/hg38.fa");
        volume.unmount(&volume.at()).code(0);
        let addresses = Nodes::addresses_with_homes(&volume, count);
        let nodes = Nodes { volume, addresses, sum };
        for node in 0..count {
            std::fs::create_dir(nodes.point(node)).expect("a mount point");
        }
        nodes.write_token("token", TOKEN);
        Some(nodes)
    }

    /// Addresses of which each is the home of some part of the reference, so that what becomes of a
    /// node matters to the others.
    fn addresses_with_homes(volume: &Volume, count: usize) -> Vec<String> {
        static NETS: AtomicU32 = AtomicU32::new(0);
        let settings: BucketSettings = volume.server.settings().into();
        let bucket = BucketClient::open("s3://ours/lab/v", settings).expect("a client");
        let found = bucket.head("refs/hg38.fa").expect("it answers").expect("an object");
        let version = found.version.expect("an ETag").0;
        loop {
            let (net, pid) = (NETS.fetch_add(1, Relaxed), std::process::id());
            let net = format!("127.{}.{}", 1 + (pid + net / 250) % 250, 1 + net % 250);
            let addresses: Vec<String> =
                (1..=count).map(|node| format!("{net}.{node}:7420")).collect();
            let peers = parse_peers(&addresses.join(","), 1).expect("a list");
            let homes: BTreeSet<PeerName> = (0..SIZE.div_ceil(8 * MIB))
                .map(|part| {
                    // As `bucket::peers` names a part.
                    let names = format!("s3://ours\0lab/v/refs/hg38.fa\0{version}\0");
                    let part = [names.as_bytes(), &part.to_le_bytes()].concat();
                    rank_peers(&peers, &part)[0].clone()
                })
                .collect();
            if homes.len() == count {
                return addresses;
            }
        }
    }

    fn write_token(&self, name: &str, token: &str) {
        let file = self.volume.place.all.join(name);
        std::fs::write(&file, token).expect("written");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("its mode");
    }

    fn point(&self, node: usize) -> PathBuf {
        self.volume.place.all.join(format!("node{node}"))
    }

    fn list(&self) -> String {
        self.addresses.join(",")
    }

    fn try_mount_with(&self, node: usize, options: &[&str]) -> Done {
        let mut command = self.volume.forebay(&["mount", "--read-only", "--state"]);
        command.arg(self.volume.place.all.join(format!("state{node}"))).args(options);
        done(command.arg("s3://ours/lab/v").arg(self.point(node)))
    }

    fn mount_with_token(&self, node: usize, token: &str) {
        let token = self.volume.place.all.join(token);
        let token = token.to_str().expect("a path");
        let (list, own) = (self.list(), &self.addresses[node]);
        let options = ["--peers", &list, "--peer-listen", own, "--peer-token", token];
        self.try_mount_with(node, &options).code(0);
    }

    fn mount(&self, node: usize) {
        self.mount_with_token(node, "token");
    }

    fn begin_read(&self, node: usize) -> Child {
        let mut read = Command::new("sh");
        read.args(["-c", "md5sum < refs/hg38.fa"]).current_dir(self.point(node));
        read.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    #[track_caller]
    fn end_read(&self, read: Child) {
        assert_eq!(finish(read, PATIENCE).code(0).text(), self.sum);
    }

    /// All of these read it at the same time.
    #[track_caller]
    fn read_together(&self, nodes: &[usize]) {
        let reads: Vec<Child> = nodes.iter().map(|node| self.begin_read(*node)).collect();
        reads.into_iter().for_each(|read| self.end_read(read));
    }

    /// Bytes that the bucket gave so far.
    fn sent(&self) -> u64 {
        self.volume.server.tally().get("GET").map_or(0, |counts| counts.sent)
    }

    fn status(&self, node: usize) -> serde_json::Value {
        let point = self.point(node);
        let point = point.to_str().expect("a path");
        let end = done(&mut self.volume.forebay(&["status", "--json", point]));
        let status: serde_json::Value = serde_json::from_str(&end.text()).expect("JSON");
        status["mounts"][0].clone()
    }

    fn warnings(&self, node: usize) -> String {
        self.status(node)["warnings"].to_string()
    }

    fn end(self, nodes: &[usize]) {
        for node in nodes {
            self.volume.unmount(&self.point(*node)).code(0).says("came from peers");
            let parts = self.volume.place.all.join(format!("state{node}/parts"));
            let left: Vec<_> = std::fs::read_dir(&parts).into_iter().flatten().flatten().collect();
            assert!(left.iter().all(|entry| entry.file_name() == "lock"), "{left:?}");
        }
        self.volume.place.nobody_left();
    }
}

#[test]
fn four_nodes_that_read_at_once_fetch_a_reference_once() {
    let Some(nodes) = Nodes::with_fuse(4) else { return };
    (0..4).for_each(|node| nodes.mount(node));
    let before = nodes.sent();
    nodes.read_together(&[0, 1, 2, 3]);
    let sent = nodes.sent() - before;
    assert!(sent * 10 <= SIZE * 11, "{sent} bytes of {SIZE}");
    let peers: Vec<_> = (0..4).map(|node| nodes.status(node)["peers"].clone()).collect();
    let sum = |figure: &str| -> u64 {
        peers.iter().map(|peers| peers[figure].as_u64().expect("a number")).sum()
    };
    assert!(sum("from_peers") > 2 * SIZE && sum("from_peers") == sum("to_peers"), "{peers:?}");
    assert_eq!((sum("kept"), sum("peers")), (SIZE, 16), "{peers:?}");
    for node in 0..4 {
        assert_eq!(nodes.warnings(node), "[]");
    }
    // The rest of the volume is what it was, and text says the same.
    let small = nodes.volume.sh(&nodes.point(2), "cat refs/README; wc -c < refs/hg38.fa.fai");
    assert_eq!(small, "small\n300000\n");
    let text = done(&mut nodes.volume.forebay(&["status"])).text();
    assert!(text.contains("4 peers: ") && text.contains(&nodes.addresses[3]), "{text}");
    assert!(!text.contains(TOKEN));
    nodes.end(&[0, 1, 2, 3]);
}

#[test]
fn a_node_that_is_killed_or_started_anew_costs_the_others_nothing_but_time() {
    let Some(nodes) = Nodes::with_fuse(3) else { return };
    (0..3).for_each(|node| nodes.mount(node));
    let reads = [nodes.begin_read(0), nodes.begin_read(1)];
    nodes.volume.kill(&nodes.point(2));
    reads.into_iter().for_each(|read| nodes.end_read(read));
    let status = nodes.status(0);
    assert!(status["health"] == "well", "{status}");
    // It comes again: its address and its directory are free.
    nodes.mount(2);
    nodes.read_together(&[2]);
    assert!(nodes.status(2)["peers"]["from_peers"].as_u64() > Some(0));
    nodes.end(&[0, 1, 2]);
}

#[test]
fn a_peer_that_accepts_and_never_answers_is_named_and_left() {
    let Some(nodes) = Nodes::with_fuse(3) else { return };
    let stalled = TcpListener::bind(&nodes.addresses[2]).expect("an address");
    (0..2).for_each(|node| nodes.mount(node));
    nodes.read_together(&[0, 1]);
    let named = format!("peer {} can't be reached within 5s", nodes.addresses[2]);
    for node in 0..2 {
        let peers = nodes.status(node)["peers"].clone();
        let away = peers["away"].as_array().expect("a list");
        assert!(away.iter().any(|away| *away == named), "{peers}");
        assert!(nodes.warnings(node).contains(&named));
    }
    let end = nodes.volume.unmount(&nodes.point(0));
    end.code(0).says("came from peers").says(&named);
    drop(stalled);
    nodes.end(&[1]);
}

#[test]
fn a_node_that_is_stopped_costs_one_time_out_and_is_asked_again_when_it_goes_on() {
    let Some(nodes) = Nodes::with_fuse(2) else { return };
    (0..2).for_each(|node| nodes.mount(node));
    // A block of each part: connections stand, and are kept.
    let blocks = "for part in 0 1 2 3 4 5 6 7 8; do
        dd if=refs/hg38.fa bs=65536 skip=$((part * 128 + 60)) count=1 status=none; done | wc -c";
    assert_eq!(nodes.volume.sh(&nodes.point(0), blocks), "589824\n");
    let daemon = nodes.status(1)["pid"].to_string();
    let signal = |signal: &str| {
        let sent = Command::new("kill").args([signal, &daemon]).status().expect("kill");
        assert!(sent.success());
    };
    signal("-STOP");
    nodes.read_together(&[0]);
    let peers = nodes.status(0)["peers"].clone();
    let away = peers["away"][0].as_str().unwrap_or_default().to_owned();
    signal("-CONT");
    assert!(away.starts_with(&format!("peer {} ", nodes.addresses[1])), "{peers}");
    // Not one for each of nine parts; on a busy machine the read may last until it is tried again.
    assert!(peers["troubles"][0]["times"].as_u64() < Some(4), "{peers}");
    nodes.read_together(&[1]);
    nodes.end(&[0, 1]);
}

#[test]
fn a_node_with_another_token_gets_nothing_of_the_others_and_they_say_so() {
    let Some(nodes) = Nodes::with_fuse(2) else { return };
    nodes.write_token("other", OTHER_TOKEN);
    nodes.mount(0);
    nodes.mount_with_token(1, "other");
    nodes.read_together(&[0, 1]);
    for (node, other) in [(0, 1), (1, 0)] {
        let named = format!("peer {} has another token", nodes.addresses[other]);
        assert!(nodes.warnings(node).contains(&named), "{}", nodes.warnings(node));
        let peers = nodes.status(node)["peers"].clone();
        assert_eq!((&peers["from_peers"], &peers["to_peers"]), (&0.into(), &0.into()));
    }
    // No secret is in a log.
    let logs = nodes.volume.place.state.join("forebay");
    let words = ["-rlE", &format!("{TOKEN}|{OTHER_TOKEN}")].map(str::to_owned);
    let found = Command::new("grep").args(words).arg(logs).output().expect("grep");
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    nodes.end(&[0, 1]);
}

#[test]
fn a_node_that_only_asks_listens_nowhere() {
    let Some(nodes) = Nodes::with_fuse(1) else { return };
    nodes.mount(0);
    nodes.read_together(&[0]);
    let before = nodes.sent();
    let asks = nodes.volume.place.all.join("asks");
    std::fs::create_dir(&asks).expect("a mount point");
    // From the environment, and a list in a file.
    let list = nodes.volume.place.all.join("nodes.txt");
    std::fs::write(&list, format!("# all of them\n{}\n", nodes.addresses[0])).expect("written");
    let mut mount = nodes.volume.forebay(&["mount", "--read-only", "--peers"]);
    mount.arg(&list).arg("s3://ours/lab/v").arg(&asks).env("FOREBAY_PEER_TOKEN", TOKEN);
    done(&mut mount).code(0);
    assert_eq!(nodes.volume.sh(&asks, "md5sum < refs/hg38.fa"), nodes.sum);
    let sent = nodes.sent() - before;
    assert!(sent < MIB, "{sent} bytes came from the bucket");
    nodes.volume.unmount(&asks).code(0).says("came from peers");
    nodes.end(&[0]);
}

#[test]
fn attached_buckets_of_runs_are_shared_too() {
    let Some(nodes) = Nodes::with_fuse(2) else { return };
    nodes.mount(0);
    // How much that takes of the bucket is luck: the other node, home of some parts, is not there.
    nodes.read_together(&[0]);
    let before = nodes.sent();
    let attach = ["attach", ".", "s3://ours/lab/v/refs", "refs"];
    done(&mut nodes.volume.forebay(&attach)).code(0);
    let list = nodes.list();
    let options = ["--quiet", "--peers", &list, "--peer-listen", &nodes.addresses[1]];
    let mut run = nodes.volume.place.script(&options, "md5sum < refs/hg38.fa");
    run.envs(nodes.volume.server.settings()).env("FOREBAY_PEER_TOKEN", TOKEN);
    let end = done(&mut run);
    assert_eq!(end.code(0).text(), nodes.sum);
    end.says("came from peers");
    // A part that the other node had is not asked of the bucket.
    let sent = nodes.sent() - before;
    assert!(sent + 4 * MIB < SIZE, "{sent}");
    let run = std::fs::read(&nodes.volume.place.run).expect("a run file");
    let holds = |text: &str| run.windows(text.len()).any(|some| some == text.as_bytes());
    assert!(!holds(TOKEN), "the run file has no secret");
    nodes.end(&[0]);
}

#[test]
fn what_can_not_be_shared_is_said_before_anything_is_mounted() {
    let Some(nodes) = Nodes::with_fuse(2) else { return };
    nodes.write_token("short", "secret");
    nodes.write_token("open", TOKEN);
    let all = &nodes.volume.place.all;
    std::fs::set_permissions(all.join("open"), PermissionsExt::from_mode(0o644)).expect("its mode");
    let file = |name: &str| all.join(name).to_str().expect("a path").to_owned();
    let (token, own, other) = (file("token"), &nodes.addresses[0], &nodes.addresses[1]);
    let list = nodes.list();
    let twice = format!("{own},{own}");
    let unbound = "192.0.2.7:7420";
    let with_unbound = format!("{own},{unbound}");
    let with_token = |words: &[&str]| {
        let words = [words, &["--peer-token", &token]].concat();
        nodes.try_mount_with(0, &words)
    };
    let refused: [(&[&str], &str); 9] = [
        (&["--peers", &twice, "--peer-listen", own], "is in the list of peers twice"),
        (&["--peers", "", "--peer-listen", own], "the list of peers is empty"),
        (&["--peers", "node[1-4]"], "scontrol show hostnames"),
        (&["--peers", "http://node1/"], "can't be read"),
        (&["--peers", other, "--peer-listen", own], "is not in the list of peers"),
        (&["--peers", &list, "--peer-listen", own, "--peer-name", "node9"], "not in the list"),
        (&["--peers", &list, "--peer-listen", "everywhere"], "no address of a machine"),
        (&["--peers", &list, "--peer-listen", own, "--peer-space", "1 MiB"], "is too little"),
        (&["--peers", &with_unbound, "--peer-listen", unbound], "for peers"),
    ];
    for (words, why) in refused {
        with_token(words).code(125).says(why).says("nothing was");
    }
    let asks = ["--peers", &list];
    nodes.try_mount_with(0, &asks).code(125).says("peers need a token").says("openssl rand");
    for (name, why) in [("short", "24 are the fewest"), ("open", "chmod 600"), ("none", "none")] {
        let words = ["--peers", &list, "--peer-token", &file(name)];
        nodes.try_mount_with(0, &words).code(125).says(why);
    }
    for words in [["--peer-listen", own], ["--peer-token", &token], ["--peer-space", "1 GiB"]] {
        assert!(nodes.try_mount_with(0, &words).stderr.contains("required"), "{words:?}");
    }
    // Another process has the address; the same again, once it is free.
    let taken = TcpListener::bind(own).expect("an address");
    with_token(&["--peers", &list, "--peer-listen", own]).code(125).says("in use");
    drop(taken);
    with_token(&["--peers", &list, "--peer-listen", own]).code(0);
    wait_until("it is mounted", || nodes.point(0).join("refs").exists());
    nodes.end(&[0]);
}

/// `forebay warm`, and what it prints.
fn warm(nodes: &Nodes, words: &[&str]) -> (Done, serde_json::Value) {
    let mut command = nodes.volume.forebay(&["warm", "--json"]);
    let end = done(command.args(words).current_dir(nodes.point(0)));
    let told = serde_json::from_str(&end.text()).unwrap_or_default();
    (end, told)
}

#[test]
fn files_that_are_warmed_are_on_all_nodes_and_the_bucket_is_asked_once() {
    let Some(nodes) = Nodes::with_fuse(3) else { return };
    (0..3).for_each(|node| nodes.mount(node));
    let before = nodes.sent();
    let (end, told) = warm(&nodes, &["refs"]);
    end.code(0);
    let all = told["nodes"].as_array().expect("nodes");
    assert_eq!(all.len(), 3, "{told}");
    for (node, address) in all.iter().zip(&nodes.addresses) {
        assert_eq!(node["name"], **address, "{told}");
        assert_eq!(node["files"], serde_json::json!([3, 3]), "{told}");
        assert_eq!(node["bytes"], serde_json::json!([SIZE + 300_006, SIZE + 300_006]), "{told}");
    }
    let sent = nodes.sent() - before;
    assert!(sent * 10 <= SIZE * 11, "{sent} bytes of {SIZE}");
    // All is here: nobody is asked for it any more.
    let before = nodes.sent();
    nodes.volume.server.refuse(Some(crate::s3::faults::Refusal::Away));
    nodes.read_together(&[0, 1, 2]);
    assert_eq!(nodes.sent(), before);
    nodes.volume.server.refuse(None);
    // In words, of what is here already.
    let mut command = nodes.volume.forebay(&["warm"]);
    let end = done(command.arg(nodes.point(1).join("refs/hg38.fa")));
    end.code(0).says(&format!("{} has 1 file (", nodes.addresses[2]));
    nodes.end(&[0, 1, 2]);
}

#[test]
fn who_can_not_be_warmed_is_named_and_the_others_are() {
    let Some(nodes) = Nodes::with_fuse(2) else { return };
    nodes.mount(0);
    let (end, told) = warm(&nodes, &["refs/hg38.fa"]);
    end.code(1);
    let [here, away] = &told["nodes"].as_array().expect("nodes")[..] else { panic!("{told}") };
    assert_eq!((&here["failed"], &here["files"]), (&0.into(), &serde_json::json!([1, 1])));
    assert!(away["why"][0].as_str().is_some_and(|why| why.contains("can't be reached")), "{told}");
    let (end, told) = warm(&nodes, &["--here", "refs"]);
    end.code(0);
    assert_eq!(told["nodes"].as_array().map(Vec::len), Some(1), "{told}");
    warm(&nodes, &["none"]).0.code(1).says("No such file");
    warm(&nodes, &["/etc/hostname"]).0.code(1).says("is in no mount of yours");
    nodes.end(&[0]);
}

#[test]
fn a_node_alone_and_a_writer_are_warmed_too() {
    let Some(nodes) = Nodes::with_fuse(1) else { return };
    nodes.volume.mount("another", &nodes.volume.at());
    let mut command = nodes.volume.forebay(&["warm", "."]);
    done(command.current_dir(nodes.volume.at())).code(0).says("this node has 3 files");
    nodes.volume.server.refuse(Some(crate::s3::faults::Refusal::Away));
    assert_eq!(nodes.volume.sh(&nodes.volume.at(), "md5sum < refs/hg38.fa"), nodes.sum);
    nodes.volume.server.refuse(None);
    nodes.volume.unmount(&nodes.volume.at()).code(0);
    nodes.end(&[]);
}
