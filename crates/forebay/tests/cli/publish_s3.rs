//! Files that are published to a bucket when the run ends. If these fail, a result is missing or
//! half there where others look for it, or somebody's key is in a message.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::place::{Done, done};
use crate::s3::Server;
use crate::s3::faults::Fault;
use crate::tiers::Tiered;

const RULES: &str = "[[rule]]\nmatch = \"results/**\"\nhome = \"in-place\"\npublish = \"shelf\"\n";

/// A place with a bucket that rules publish to.
struct Shelf {
    tiered: Tiered,
    buckets: PathBuf,
    server: Server,
}

impl Shelf {
    fn with(start: impl FnOnce(&std::path::Path) -> Server) -> Option<Shelf> {
        let tiered = Tiered::with_fuse()?;
        let buckets = tiered.place.all.join("buckets");
        std::fs::create_dir_all(buckets.join("ours")).expect("a bucket");
        tiered.site("[tier.shelf]\npath = \"s3://ours/lab/$RUN\"\nreach = \"world\"");
        let server = start(&buckets);
        Some(Shelf { tiered, buckets, server })
    }

    fn with_fuse() -> Option<Shelf> {
        Shelf::with(|buckets| Server::start(buckets, Duration::ZERO))
    }

    fn command(&self, rules: &str, script: &str) -> Command {
        let mut command = self.tiered.script(rules, script);
        command.envs(self.server.settings()).env("RUN", "r1");
        command
    }

    fn run(&self, rules: &str, script: &str) -> Done {
        done(&mut self.command(rules, script))
    }

    fn read(&self, name: &str) -> String {
        let path = self.buckets.join("ours/lab/r1").join(name);
        std::fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"))
    }
}

#[test]
fn results_are_plain_objects_and_only_what_changed_again() {
    let Some(shelf) = Shelf::with_fuse() else { return };
    let script = "mkdir -p results/a work; echo vcf > results/a/x.vcf; : > results/empty
        echo 'odd one' > 'results/a [1] ~%4'; echo spelt > results/%41; head -c 20000000 /dev/zero | tr '\\0' A > results/long
        echo behind > work/y.bam; ln -s ../work/y.bam results/y.bam
        ln -s $PWD/work/y.bam results/z.bam; mkfifo results/pipe";
    let end = shelf.run(RULES, script);
    end.code(0).says("forebay: 7 files (19.1 MiB) published\n");
    assert_eq!(shelf.read("results/a/x.vcf"), "vcf\n");
    assert_eq!(shelf.read("results/a [1] ~%4"), "odd one\n", "under its own name");
    assert_eq!(shelf.read("results/%2541"), "spelt\n", "docs/reference/rules.md says how");
    assert_eq!(shelf.read("results/empty"), "");
    assert_eq!(shelf.read("results/y.bam"), "behind\n", "what the link leads to");
    assert_eq!(shelf.read("results/z.bam"), "behind\n");
    assert!(shelf.read("results/long") == "A".repeat(20_000_000));
    assert!(shelf.read("results/pipe").starts_with('('));
    // Nothing new: nothing is told, and nothing is written.
    let end = shelf.run(RULES, "true");
    assert_eq!(end.code(0).stderr, "");
    // The same size, another time.
    let end = shelf.run(RULES, "echo tsv > results/a/x.vcf");
    end.code(0).says("forebay: 1 file (4 B) published\n");
    assert_eq!(shelf.read("results/a/x.vcf"), "tsv\n");
    shelf.tiered.all_home();
}

#[test]
fn placed_and_packed_files_are_published_as_plain_objects() {
    let Some(shelf) = Shelf::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"*.bam\"\nhome = \"far\"\npublish = \"shelf\"\n\
                 [[rule]]\nmatch = \"*.log\"\nhome = \"far\"\nlayout = \"packed\"\nafter = \"keep\"\n\
                 publish = \"shelf\"\n\
                 [[rule]]\nmatch = \"*.tmp\"\nhome = \"near\"\nafter = \"discard\"\n\
                 publish = \"shelf\"\n";
    let script = "echo body > a.bam; for n in 1 2 3; do echo log $n > $n.log; done
        head -c 300000 /dev/zero > big.log; echo gone > t.tmp";
    shelf.run(rules, script).code(0).says("6 files");
    for (name, text) in [("a.bam", "body\n"), ("2.log", "log 2\n"), ("t.tmp", "gone\n")] {
        assert_eq!(shelf.read(name), text, "{name}");
    }
    assert_eq!(shelf.read("big.log").len(), 300_000);
    assert!(!shelf.tiered.place.project.join("t.tmp").exists(), "it was to go");
}

#[test]
fn what_a_bucket_can_not_take_is_told_and_the_rest_is_published() {
    let Some(shelf) = Shelf::with_fuse() else { return };
    let script = "mkdir results; echo one > results/one; ln -s /etc/hostname results/out
        ln -s nowhere results/dangling; ln -s . results/folder";
    let end = shelf.run(RULES, script);
    end.code(121).says("3 files could not be published");
    end.says("1 file (4 B) published");
    assert_eq!(shelf.read("results/one"), "one\n");
    assert!(shelf.read("results/out").starts_with('('), "a link led out of the directory");
}

#[test]
fn a_bucket_that_is_not_to_be_had_is_told_before_the_command_starts() {
    let Some(shelf) = Shelf::with_fuse() else { return };
    let started = |end: &Done| end.text().contains("started");
    let mut wrong = shelf.command(RULES, "echo started");
    wrong.env("AWS_SECRET_ACCESS_KEY", "hush, another one");
    let end = done(&mut wrong);
    end.code(125).says("s3://ours/lab/r1");
    assert!(!started(&end) && !end.stderr.contains("hush"), "{}", end.stderr);
    std::fs::rename(shelf.buckets.join("ours"), shelf.buckets.join("others")).expect("renamed");
    let end = shelf.run(RULES, "echo started");
    end.code(125).says("NoSuchBucket");
    assert!(!started(&end));
    // Files can't live there, nor copies of them: the two ways that there are, are told.
    for rule in ["home = \"shelf\"", "home = \"in-place\"\ncache = \"shelf\""] {
        let end = shelf.run(&format!("[[rule]]\nmatch = \"*\"\n{rule}\n"), "echo started");
        end.code(125).says("it is a bucket").says("`publish`").says("forebay mount s3://");
        assert!(!started(&end));
    }
    shelf.tiered.place.nothing_left();
}

#[test]
fn a_bucket_with_which_much_goes_wrong_gets_all_results() {
    for fault in [Fault::ResetAfter, Fault::SlowDown, Fault::Truncated] {
        let Some(shelf) = Shelf::with(|buckets| Server::faulty(buckets, fault, 7)) else { return };
        let script = "mkdir results; for n in $(seq 100); do echo result $n > results/$n; done";
        shelf.run(RULES, script).code(0).says("100 files");
        for n in 1..=100 {
            assert_eq!(shelf.read(&format!("results/{n}")), format!("result {n}\n"), "{fault:?}");
        }
    }
}
