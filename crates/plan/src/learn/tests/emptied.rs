//! If these fail, a plan proposes a whole folder in which the next run fails: a rename across its edge,
//! a `mkdir` of what is there, a result that stays in it.

use super::*;
use forebay_model::run::ProcessRow;

/// A task that fills `tmp`, which is there, reads it, and removes what it made.
fn story() -> Story {
    let mut story = Story::new(vec![task(1, "sort", 0.0, 9.0)]);
    for name in ["tmp/a1", "tmp/deep/b.idx"] {
        story.wrote(1, name, 1.0, 10).read(1, name, 2.0, 10);
        gone(&mut story, name);
    }
    story.wrote(1, "out/all.bam", 3.0, 20);
    did(&mut story, Op::Mkdir, "tmp/deep", 1);
    did(&mut story, Op::Rmdir, "tmp/deep", 1);
    story
}

fn gone(story: &mut Story, path: &str) {
    let file = story.file(path);
    story.rows.gone.insert(file, secs(8.0));
}

fn did(story: &mut Story, op: Op, path: &str, count: u64) {
    story.ops(1, path, OpKey::without_bytes(op), count, 0.0);
}

fn found(story: &Story) -> Vec<String> {
    super::super::emptied_folders::find_emptied_folders(&story.rows)
}

fn found_after(change: impl FnOnce(&mut Story)) -> Vec<String> {
    let mut story = story();
    change(&mut story);
    found(&story)
}

fn called(story: &mut Story, words: &[&str], cwd: &str) {
    story.rows.processes.push(ProcessRow {
        id: ProcessId(7),
        argv: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        cwd: Some(cwd.as_bytes().to_vec()),
        ..ProcessRow::default()
    });
}

#[test]
fn a_folder_that_is_there_and_left_empty_is_found_as_a_whole() {
    assert_eq!(found(&story()), ["tmp"]);
    // Names that change within it do no harm.
    let renamed = found_after(|story| {
        story.renamed("tmp/a.part", "tmp/a1");
        did(story, Op::Rename, "tmp/a1", 1);
    });
    assert_eq!(renamed, ["tmp"]);
}

#[test]
fn what_crosses_its_edge_or_stays_rules_a_folder_out() {
    let none: [&str; 0] = [];
    let into = found_after(|story| {
        story.renamed("new/a1", "tmp/a1");
        did(story, Op::Rename, "tmp/a1", 1);
    });
    assert_eq!(into, none);
    let out = found_after(|story| {
        story.renamed("tmp/all", "out/all.bam");
        did(story, Op::Rename, "out/all.bam", 1);
    });
    assert_eq!(out, none);
    let through = found_after(|story| did(story, Op::Rename, "tmp/a1", 1));
    assert_eq!(through, none, "who was renamed is not known");
    assert_eq!(found_after(|story| did(story, Op::Link, "out/x", 1)), none);
    assert_eq!(found_after(|story| did(story, Op::Symlink, "tmp/link", 1)), none);
    assert_eq!(found_after(|story| did(story, Op::Mkdir, "tmp/left", 1)), none);
    let stays = found_after(|story| {
        story.wrote(1, "tmp/result", 4.0, 5);
    });
    assert_eq!(stays, none);
    let input = found_after(|story| {
        story.read(1, "tmp/input", 0.5, 5);
        gone(story, "tmp/input");
    });
    assert_eq!(input, none);
}

#[test]
fn a_folder_is_made_by_what_does_not_mind_that_it_is_there_or_not_proposed() {
    let none: [&str; 0] = [];
    let made = |words: &[&str], cwd: &str| {
        found_after(|story| {
            did(story, Op::Mkdir, "tmp", 1);
            called(story, words, cwd);
        })
    };
    assert_eq!(made(&["mkdir", "tmp"], "/data"), none);
    assert_eq!(made(&["/bin/mkdir", "-p", "tmp"], "/data"), ["tmp"]);
    assert_eq!(made(&["mkdir", "-vp", "/data/x/../tmp/deep"], "/"), ["tmp"]);
    assert_eq!(made(&["mkdir", "--parents", "tmp"], "/elsewhere"), none);
    let removed = found_after(|story| {
        did(story, Op::Mkdir, "tmp", 1);
        did(story, Op::Rmdir, "tmp", 1);
        called(story, &["mkdir", "-p", "tmp"], "/data");
    });
    assert_eq!(removed, none, "who removes the folder itself would be told that it is busy");
}

#[test]
fn what_others_use_or_nobody_saw_and_names_of_chance_rule_a_folder_out() {
    let none: [&str; 0] = [];
    let shared = found_after(|story| {
        called(story, &["dockerd"], "/");
        story.rows.processes[0].stranger = true;
        for open in &mut story.rows.opens {
            open.process = ProcessId(7);
        }
    });
    assert_eq!(shared, none);
    let lost = found_after(|story| {
        story.rows.header.more.push(("lost_events".to_owned(), "3".to_owned()));
    });
    assert_eq!(lost, none);
    assert_eq!(found_after(|story| story.rows.complete = false), none);
    assert_eq!(found_after(|story| story.rows.not_seen.push(("sbatch".to_owned(), 1))), none);
    let mut drawn = Story::new(vec![task(1, "sort", 0.0, 9.0)]);
    drawn.wrote(1, "tmp17/a", 1.0, 10);
    gone(&mut drawn, "tmp17/a");
    assert_eq!(found(&drawn), none, "the next run has another name");
}
