//! Files that are published when the run ends. If these fail, a result is missing or half there
//! where others look for it, or its only copy is discarded.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::place::{USER, done, skip};
use crate::tiers::Tiered;

/// Tiers, and a directory that others look into.
struct Published {
    tiered: Tiered,
    shelf: TempDir,
}

impl Published {
    fn with_fuse() -> Option<Published> {
        let tiered = Tiered::with_fuse()?;
        let shelf = tempfile::Builder::new().prefix("forebay-shelf-").tempdir_in("/dev/shm");
        let shelf = shelf.expect("/dev/shm is there");
        let path = shelf.path().display();
        tiered.site(&format!("[tier.shelf]\npath = \"{path}\"\nreach = \"shared\""));
        Some(Published { tiered, shelf })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.shelf.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| format!("({error})"))
    }

    /// All names below the shelf.
    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .tiered
            .bodies(self.shelf.path())
            .iter()
            .map(|path| path.strip_prefix(self.shelf.path()).expect("below").display().to_string())
            .collect();
        all.sort();
        all
    }

    fn run(&self, rules: &str, script: &str) -> crate::place::Done {
        done(&mut self.tiered.script(rules, script))
    }
}

fn stamp(path: &Path) -> (i64, i64, u64, u32) {
    let meta = std::fs::symlink_metadata(path).expect("there");
    (meta.mtime(), meta.mtime_nsec(), meta.ino(), meta.permissions().mode() & 0o7777)
}

const RESULTS: &str =
    "[[rule]]\nmatch = \"results/**\"\nhome = \"in-place\"\npublish = \"shelf\"\n";

#[test]
fn files_in_place_are_published_and_only_what_changed_again() {
    let Some(here) = Published::with_fuse() else { return };
    let script = "mkdir -p results/a/b; chmod 750 results/a; chmod 555 results/a/b
        chmod 700 results/a/b; echo vcf > results/a/b/x.vcf; chmod 640 results/a/b/x.vcf
        touch -d '2020-02-02 02:02:02.123456789 UTC' results/a/b/x.vcf; chmod 555 results/a/b
        ln -s b/x.vcf results/a/link; mkfifo results/pipe; echo other > work; : > results/empty
        : > results/.forebay.0.left";
    let end = here.run(RESULTS, script);
    end.code(0).says("forebay: 3 files (4 B) published\n");
    assert_eq!(here.names(), ["results/a/b/x.vcf", "results/a/link", "results/empty"]);
    assert_eq!(here.read("results/a/b/x.vcf"), "vcf\n");
    let (sec, nsec, ino, mode) = stamp(&here.path("results/a/b/x.vcf"));
    assert_eq!((sec, nsec, mode), (1_580_608_922, 123_456_789, 0o640));
    let link = std::fs::read_link(here.path("results/a/link")).expect("a link");
    assert_eq!(link, Path::new("b/x.vcf"));
    for (dir, mode) in [("results/a", 0o750), ("results/a/b", 0o555)] {
        assert_eq!(stamp(&here.path(dir)).3, mode, "{dir}");
    }
    // Nothing new: nothing is told, nothing is touched.
    let end = here.run(RESULTS, "true");
    assert!(!end.code(0).stderr.contains("published"), "{}", end.stderr);
    assert_eq!(stamp(&here.path("results/a/b/x.vcf")).2, ino);
    let empty = stamp(&here.path("results/empty")).2;
    // What has changed, and what is missing there; what is gone here stays there.
    std::fs::remove_file(here.path("results/a/link")).expect("removed");
    let end = here.run(RESULTS, "echo more >> results/a/b/x.vcf; rm results/empty");
    end.code(0).says("forebay: 2 files (9 B) published\n");
    assert_eq!(here.read("results/a/b/x.vcf"), "vcf\nmore\n");
    assert_eq!(stamp(&here.path("results/empty")).2, empty);
    assert_eq!(here.names().len(), 3, "no passing names are left");
    here.tiered.all_home();
}

#[test]
fn placed_and_packed_files_are_published_as_plain_ones() {
    let Some(here) = Published::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"back/**\"\nhome = \"far\"\npublish = \"shelf\"\n\
        [[rule]]\nmatch = \"kept/**\"\nhome = \"far\"\nafter = \"keep\"\npublish = \"shelf\"\n\
        [[rule]]\nmatch = \"gone/**\"\nhome = \"far\"\nafter = \"discard\"\npublish = \"shelf\"\n\
        [[rule]]\nmatch = \"p/kept\"\nhome = \"near\"\nlayout = \"packed\"\nafter = \"keep\"\n\
        publish = \"shelf\"\n\
        [[rule]]\nmatch = \"p/gone\"\nhome = \"near\"\nlayout = \"packed\"\nafter = \"discard\"\n\
        publish = \"shelf\"\n\
        [[rule]]\nmatch = \"p/**\"\nhome = \"near\"\nlayout = \"packed\"\npublish = \"shelf\"\n";
    let script = "mkdir back kept gone p
        for f in back/x kept/x gone/x p/kept p/gone p/back; do echo $f > $f; chmod 600 $f
        touch -d '2020-02-02 02:02:02.5 UTC' $f; done; ln gone/x gone/y";
    let end = here.run(rules, script);
    end.code(0).says("2 files (14 B) written back, 2 files (14 B) discarded, 2 files (14 B) kept");
    end.says("7 files (49 B) published");
    let all = ["back/x", "gone/x", "gone/y", "kept/x", "p/back", "p/gone", "p/kept"];
    assert_eq!(here.names(), all);
    for name in all {
        let text = if name == "gone/y" { "gone/x" } else { name };
        assert_eq!(here.read(name), format!("{text}\n"));
        let (sec, nsec, _, mode) = stamp(&here.path(name));
        assert_eq!((sec, nsec, mode), (1_580_608_922, 500_000_000, 0o600), "{name}");
        assert!(std::fs::symlink_metadata(here.path(name)).expect("there").is_file(), "{name}");
    }
    assert!(!here.tiered.place.project.join("gone/x").exists());
    let end = here.run(rules, "cat kept/x p/kept");
    assert!(!end.code(0).stderr.contains("published"), "{}", end.stderr);
    assert_eq!(end.text(), "kept/x\np/kept\n");
    done(&mut here.tiered.restore()).code(0);
    here.tiered.all_home();
}

#[test]
fn of_a_run_that_fails_nothing_is_published_and_nothing_discarded() {
    let Some(here) = Published::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"*.vcf\"\nhome = \"far\"\nafter = \"discard\"\n\
        publish = \"shelf\"\n[[rule]]\nmatch = \"*.sv\"\nhome = \"near\"\nlayout = \"packed\"\n\
        after = \"discard\"\npublish = \"shelf\"\n";
    let end = here.run(rules, "echo half > a.vcf; echo half > b.sv; exit 3");
    end.code(3)
        .says("2 files (10 B) written back")
        .says("nothing was published, since the command");
    assert_eq!(here.names(), Vec::<String>::new());
    assert_eq!(here.tiered.place.read("a.vcf"), "half\n");
    // The next one publishes what is in place, and leaves it there: it lives on no tier.
    here.run(rules, "echo whole > a.vcf").code(0).says("2 files (11 B) published");
    assert_eq!((here.read("a.vcf"), here.read("b.sv")), ("whole\n".into(), "half\n".into()));
    assert_eq!(here.tiered.place.read("a.vcf"), "whole\n");
    here.tiered.all_home();
}

#[test]
fn what_can_not_be_published_is_told_and_stays() {
    let Some(here) = Published::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"**\"\nhome = \"far\"\nafter = \"discard\"\n\
        publish = \"shelf\"\n";
    // Directories have the names.
    for name in ["a", "b"] {
        std::fs::create_dir(here.path(name)).expect("made");
    }
    let end = here.run(rules, "echo a > a; echo b > b; echo c > c");
    end.code(121).says("1 file (2 B) discarded, 1 file (2 B) published");
    end.says("2 files could not be published (first: a: to tier shelf: ");
    end.says("nothing is lost").says("then run again with these rules");
    assert_eq!(here.names(), ["c"]);
    assert_eq!(here.tiered.place.read("a"), "a\n", "through its link");
    assert_eq!(here.run(rules, "exit 4").status.code(), Some(4), "the command's own comes first");
    for name in ["a", "b"] {
        let _ = std::fs::remove_dir(here.path(name));
    }
    here.run(rules, "true").code(0).says("2 files (4 B) published");
    assert_eq!(here.names(), ["a", "b", "c"]);
    here.tiered.all_home();
}

#[test]
fn a_tier_that_can_not_be_published_to_stops_the_run_first() {
    let Some(here) = Published::with_fuse() else { return };
    let site = |path: &Path| {
        let text = format!("[tier.shelf]\npath = \"{}\"\nreach = \"shared\"", path.display());
        here.tiered.site(&text);
    };
    let place = &here.tiered.place;
    site(&here.path("missing"));
    here.run(RESULTS, "echo ran").code(125).says("publishing to").says("nothing was run");
    site(&place.project);
    here.run(RESULTS, "echo ran").code(125).says("it lies below the managed directory");
    site(&place.all);
    here.run(RESULTS, "echo ran").code(125).says("the managed directory lies below it");
    here.tiered.all_home();
}

#[test]
fn owners_and_awkward_paths_are_published_too() {
    let Some(here) = Published::with_fuse() else { return };
    let long = "n".repeat(255);
    let script = format!(
        "mkdir -p 'results/ a\n*'; echo 1 > 'results/ a\n*/{long}'; echo 2 > 'results/ a\n*/m{}'
         printf '' > results/.hidden; [ $(id -u) != 0 ] || chown {USER} results/.hidden",
        &long[1..]
    );
    // What a kill left behind of an earlier attempt.
    let source = std::fs::metadata(&here.tiered.place.project).expect("there");
    let passing = format!("results/.forebay.{:x}.{:x}..hidden", source.dev(), source.ino());
    std::fs::create_dir(here.path("results")).expect("made");
    std::fs::write(here.path(&passing), "half").expect("written");
    here.run(RESULTS, &script).code(0).says("3 files (4 B) published");
    assert_eq!(here.names().len(), 3, "{:?}", here.names());
    assert_eq!(here.read(&format!("results/ a\n*/{long}")), "1\n");
    assert_eq!(here.read(&format!("results/ a\n*/m{}", &long[1..])), "2\n");
    if rustix::process::geteuid().is_root() {
        let meta = std::fs::metadata(here.path("results/.hidden")).expect("there");
        assert_eq!(meta.uid(), USER);
    }
    here.tiered.all_home();
}

const KEPT: &str = "[[rule]]\nmatch = \"kept/**\"\nhome = \"far\"\nafter = \"keep\"\n\
    publish = \"shelf\"\n";

#[test]
fn a_tier_that_is_away_takes_no_published_file_along() {
    let Some(here) = Published::with_fuse() else { return };
    let end = here.run(KEPT, "mkdir kept; echo one > kept/a; echo two > kept/b; ln -s a kept/own");
    end.code(0).says("3 files (8 B) published");
    let whole = || {
        assert_eq!((here.read("kept/a"), here.read("kept/b")), ("one\n".into(), "two\n".into()));
        for name in ["kept/a", "kept/b"] {
            assert!(std::fs::symlink_metadata(here.path(name)).expect("there").is_file(), "{name}");
        }
    };
    whole();
    // One body, then all that the tier had.
    let body = std::fs::read_link(here.tiered.place.project.join("kept/a")).expect("a link");
    std::fs::remove_file(body).expect("removed");
    let end = here.run(KEPT, "true");
    end.code(121).says("1 file could not be published (first: kept/a: its body is not there");
    whole();
    for room in std::fs::read_dir(here.tiered.far.path()).expect("there").flatten() {
        std::fs::remove_dir_all(room.path()).expect("removed");
    }
    let end = here.run(KEPT, "true");
    end.code(121).says("2 files could not be published").says("its tier is not there");
    whole();
}

#[test]
fn what_is_discarded_is_published_whatever_is_there() {
    let Some(here) = Published::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"far/**\"\nhome = \"far\"\nafter = \"discard\"\n\
        publish = \"shelf\"\n[[rule]]\nmatch = \"packed/**\"\nhome = \"near\"\n\
        layout = \"packed\"\nafter = \"discard\"\npublish = \"shelf\"\n";
    for text in ["one", "two"] {
        let script = format!(
            "mkdir -p far packed; for f in far/x packed/x; do echo {text} > $f
             touch -d '2020-02-02 02:02:02 UTC' $f; done"
        );
        let end = here.run(rules, &script);
        end.code(0).says("2 files (8 B) discarded, 2 files (8 B) published");
        assert_eq!(here.read("far/x"), format!("{text}\n"));
        assert_eq!(here.read("packed/x"), format!("{text}\n"));
    }
    here.tiered.all_home();
}

#[test]
fn nothing_is_published_through_a_link_or_among_bodies() {
    let Some(here) = Published::with_fuse() else { return };
    here.run(RESULTS, "mkdir results; echo x > results/x").code(0).says("1 file (2 B) published");
    // The same file behind a link is not the published one.
    std::fs::rename(here.path("results"), here.path("moved")).expect("renamed");
    std::os::unix::fs::symlink("moved", here.path("results")).expect("linked");
    here.run(RESULTS, "true").code(121).says("1 file could not be published (first: results/x");
    let all = "[[rule]]\nmatch = \"forebay-*/**\"\nhome = \"in-place\"\npublish = \"shelf\"\n";
    let end = here.run(all, "mkdir forebay-7 forebay-x; echo > forebay-7/x; echo > forebay-x/x");
    end.code(121).says("1 file could not be published (first: forebay-7/x: to tier shelf: on a");
    assert_eq!(here.names(), ["forebay-x/x", "moved/x", "results"]);
    here.tiered.all_home();
}

#[test]
fn root_publishes_over_nothing_that_is_another_users() {
    let Some(here) = Published::with_fuse() else { return };
    if !rustix::process::geteuid().is_root() {
        skip::<()>("this test needs root");
        return;
    }
    for name in ["bin", "own"] {
        std::fs::create_dir(here.path(name)).expect("made");
        std::fs::write(here.path(name).join("tool"), "good").expect("written");
    }
    let rules = "[[rule]]\nmatch = \"**\"\nhome = \"in-place\"\npublish = \"shelf\"\n";
    let script = format!(
        "mkdir bin own theirs; for f in bin/tool bin/new own/tool theirs/x; do echo bad > $f; done
         ln -s x theirs/link; ln -s y own/link; chown -hR {USER} bin theirs own/tool own/link"
    );
    let end = here.run(rules, &script);
    end.code(121).says("3 files could not be published").says("belongs to another user");
    let names = ["bin/tool", "own/link", "own/tool", "theirs/link", "theirs/x"];
    assert_eq!(here.names(), names);
    assert_eq!((here.read("bin/tool"), here.read("own/tool")), ("good".into(), "good".into()));
    // Their own they may change.
    let script = format!(
        "rm -r bin own/tool; echo more >> theirs/x
         for l in theirs/link own/link; do ln -sfn z $l; chown -h {USER} $l; done"
    );
    here.run(rules, &script).code(0).says("3 files (9 B) published");
    assert_eq!(here.read("theirs/x"), "bad\nmore\n");
    for name in ["theirs/link", "own/link"] {
        let link = here.path(name);
        assert_eq!(std::fs::read_link(&link).expect("a link"), Path::new("z"));
        assert_eq!(std::fs::symlink_metadata(&link).expect("there").uid(), USER);
    }
    here.tiered.all_home();
}
