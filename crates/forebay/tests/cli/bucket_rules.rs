//! Rules of a volume in a bucket. If these fail, a small result is where no other tool finds it, or
//! who called fsync has it on a disk that is gone.

use std::process::Command;

use crate::bucket::Volume;
use crate::place::done;

const RULES: &str = "[[rule]]\nmatch = 'results/**'\nhome = 'in-place'\nlayout = 'plain'\n\
    fsync = 'bucket'\n";

impl Volume {
    fn rules(&self, text: &str) -> String {
        let file = self.place.all.join("rules.toml");
        std::fs::write(&file, text).expect("written");
        file.display().to_string()
    }

    fn mount_by(&self, rules: &str, state: &str, there: bool) {
        let point = if there { self.there() } else { self.at() };
        self.try_mount(state, &["--rules", rules], &point).code(0);
    }
}

#[test]
fn small_results_are_objects_that_a_plain_get_reads() {
    let Some(volume) = Volume::with_fuse() else { return };
    let rules = volume.rules(RULES);
    volume.mount_by(&rules, "one", false);
    let make = "mkdir results scratch; seq 300 | split -l 1 -a 3 - scratch/f
        echo sum > results/sum.txt; : > results/none
        echo moved > late.tmp; mv late.tmp results/late; mkdir new; echo in > new/x; mv new results/
        echo gone > results/gone; mv results/gone scratch/was; (echo a; sleep 1.5; echo b) > results/slow";
    volume.sh(&volume.at(), make);
    let before = volume.sh(&volume.at(), "find . -type f | sort | xargs md5sum");
    volume.unmount(&volume.at()).code(0);
    let names = ["late", "new/x", "none", "slow", "sum.txt"].map(|name| format!("results/{name}"));
    assert_eq!(volume.plain(), names, "all others share objects");
    for (name, bytes) in names.iter().zip(["moved\n", "in\n", "", "a\nb\n", "sum\n"]) {
        let object = std::fs::read_to_string(volume.object(name)).expect("an object");
        assert_eq!(object, bytes, "{name}");
    }
    let check = ["check", "s3://ours/lab/v"];
    done(&mut volume.forebay(&check)).code(0).says("all are there and whole");
    // Another machine reads them, and gives them other names without having read them.
    volume.mount_by(&rules, "two", true);
    volume.sh(&volume.there(), "mv results/sum.txt scratch/sum; mv scratch/was results/back");
    volume.sh(&volume.there(), "echo more >> results/none; mv results/new old");
    volume.unmount(&volume.there()).code(0);
    assert_eq!(volume.plain(), ["back", "late", "none", "slow"].map(|n| format!("results/{n}")));
    done(&mut volume.forebay(&check)).code(0);
    volume.mount("three", &volume.at());
    let read = "cat results/back results/late results/none results/slow scratch/sum old/x";
    let after = volume.sh(&volume.at(), &format!("{read}; cat scratch/f* | md5sum"));
    assert!(after.starts_with("gone\nmoved\nmore\na\nb\nsum\nin\n"), "{after}");
    let scratch = "find . -type f | grep scratch/f | sort | xargs md5sum";
    let lines = volume.sh(&volume.at(), scratch);
    assert!(lines.lines().count() == 300 && lines.lines().all(|line| before.contains(line)));
    volume.unmount(&volume.at()).code(0);
    // Without Forebay.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/unpack-volume.py");
    let out = volume.place.all.join("unpacked");
    done(Command::new("python3").arg(script).arg(volume.object("")).arg(&out)).code(0);
    let all = done(Command::new("sh").args(["-c", read]).current_dir(&out));
    assert_eq!(all.code(0).text(), "gone\nmoved\nmore\na\nb\nsum\nin\n");
    volume.place.nobody_left();
}

#[test]
fn an_fsync_waits_for_the_bucket_where_its_rule_says_so() {
    let Some(volume) = Volume::with_fuse() else { return };
    let rules = volume.rules(RULES);
    volume.mount_by(&rules, "one", false);
    let synced = |folder: &str| {
        let before = volume.server.requests();
        let script = format!(
            "mkdir -p {folder}; for n in $(seq 60); do echo $n > {folder}/$n; sync {folder}/$n; done"
        );
        volume.sh(&volume.at(), &script);
        volume.server.requests() - before
    };
    let (waited, went_on) = (synced("results"), synced("scratch"));
    // A cut for each, with an object and a segment; of the others some in the background.
    assert!(waited >= 120 && went_on < 60, "{waited} and {went_on} requests");
    let name = "echo last > results/t; python3 -c 'import os
os.rename(\"results/t\", \"results/last\"); os.fsync(os.open(\"results\", os.O_RDONLY))'";
    volume.sh(&volume.at(), name);
    volume.kill(&volume.at());
    // Its disk is lost, too.
    std::fs::remove_dir_all(volume.place.all.join("one")).expect("removed");
    let options = ["--take-over", "--rules", &rules];
    volume.try_mount("two", &options, &volume.there()).code(0);
    let seen = volume.sh(&volume.there(), "cat results/last; ls results | wc -l; cat results/60");
    assert_eq!(seen, "last\n61\n60\n");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn rules_that_a_bucket_can_not_keep_are_refused_where_they_are() {
    let Some(volume) = Volume::with_fuse() else { return };
    let refused = |text: &str, what: &str| {
        let rules = volume.rules(text);
        let end = volume.try_mount("one", &["--rules", &rules], &volume.at());
        end.code(125).says(what).says("nothing was mounted");
    };
    refused("[[rule]]\nmatch = 'a'\nhome = 'nvme'\n", "rules.toml:3:8: files of a volume that");
    refused(
        "[[rule]]\nmatch = 'a'\nhome = 'in-place'\npublish = 'x'\n",
        "rules.toml:4:1: publish is",
    );
    let rules = volume.rules(RULES);
    let site = ["--site", rules.as_str(), "--rules", rules.as_str()];
    volume.try_mount("one", &site, &volume.at()).code(125).says("takes no site");
    // And of a directory what a bucket alone can keep.
    let site = volume.place.all.join("site.toml");
    std::fs::write(&site, "[tier.t]\npath = \"/tmp\"\nreach = \"node\"\n").expect("written");
    let rules = volume.rules("[[rule]]\nmatch = 'a'\nhome = 'in-place'\nfsync = 'bucket'\n");
    let mut mount = volume.forebay(&["mount", "--rules", &rules, "--site"]);
    let end = done(mount.arg(&site).arg(&volume.place.project).arg(volume.at()));
    end.code(125).says("rules.toml:4:9: fsync = \"bucket\" is for a volume that a bucket keeps");
    volume.place.nobody_left();
}
