//! Folders that a run sees as a whole on a tier. If these fail, files in them are slower than they need
//! to be, seen by others, or lost.

use crate::place::{Place, USER, done, wait_until};
use crate::processes::{daemon, kill, kill_users_of};
use crate::tiers::Tiered;

const TMP: &str = "[[rule]]\nmatch = \"work/tmp/**\"\nhome = \"far\"\nwhole_folder = true\n";

#[test]
fn a_whole_folder_is_its_tier_while_the_run_lasts() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let far = tiered.far.path().display().to_string();
    let script = format!(
        "cd work && mkdir tmp/a && echo text > tmp/a/f && mv tmp/a/f tmp/a/g
        [ $(stat -c %d tmp) = $(stat -c %d {far}) ] && echo on the tier
        ln tmp/a/g out 2>&1 | grep -o 'cross-device'
        rmdir tmp 2>&1 | grep -o 'busy'
        mv tmp/a/g out; cat out; echo more > tmp/more; chmod 640 tmp/more
        ls -A tmp"
    );
    let end = done(&mut tiered.script(TMP, &script));
    let inside = "on the tier\ncross-device\nbusy\ntext\na\nmore\n";
    assert_eq!(end.code(0).text().to_lowercase(), inside, "{}", end.stderr);
    end.says("1 file (5 B) written back");
    assert!(!end.stderr.contains("matched no file"), "{}", end.stderr);
    assert_eq!(tiered.place.read("work/out"), "text\n");
    assert_eq!(tiered.place.read("work/tmp/more"), "more\n");
    assert_eq!(tiered.place.mode(&tiered.place.project.join("work/tmp/more")), 0o640);
    assert!(tiered.place.project.join("work/tmp/a").is_dir());
    let record = tiered.place.record();
    let inside = "SELECT count(*) FROM files WHERE path LIKE 'work/tmp/%'";
    assert_eq!(record.number(inside), 0, "nobody saw them");
    let summary = done(tiered.place.forebay(&["summary"]).arg(&tiered.place.run));
    let words = "what happened in a folder that was on a tier as a whole";
    assert!(summary.code(0).text().contains(words), "{}", summary.text());
    let row = summary.text().lines().find(|line| line.starts_with("tier far")).map(str::to_owned);
    let figures = row.as_deref().and_then(|row| row.split_once(')')).map(|(_, figures)| figures);
    let figures: Vec<_> = figures.unwrap_or_default().split_whitespace().collect();
    assert_eq!(figures, ["-"; 5], "{row:?}");
    let told = done(tiered.place.forebay(&["explain"]).arg(&tiered.place.run));
    let words = "1 folder was on a tier as a whole: what happened in it was not recorded";
    assert!(told.code(0).text().contains(words), "{}", told.text());
    tiered.all_home();
}

#[test]
fn what_is_no_empty_folder_has_its_files_placed_one_by_one() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let tmp = tiered.place.project.join("work/tmp");
    std::fs::create_dir_all(&tmp)
        .and_then(|()| std::fs::write(tmp.join("old"), "old"))
        .expect("made");
    let end = done(&mut tiered.script(TMP, "cat work/tmp/old; echo new > work/tmp/new"));
    assert_eq!(end.code(0).text(), "old");
    end.says("work/tmp is no whole folder on far (rule 1), so its files are placed one by one");
    end.says("there are files in it already");
    assert_eq!(tiered.place.read("work/tmp/new"), "new\n");
    tiered.all_home();
}

#[test]
fn a_kill_loses_nothing_of_a_whole_folder() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let script = "mkdir work/tmp/a; echo told > work/tmp/a/f; echo > ../go
        exec sleep 1000 < work/tmp/a/f";
    let mut run = tiered.script(TMP, script).spawn().expect("started");
    tiered.place.wait_for("go");
    kill(daemon(&tiered.place.state));
    let check = done(&mut tiered.place.forebay(&["check", "."]));
    check.code(1).says("where a run that was killed had it");
    // The program goes on: nobody takes its files away from under it.
    let early = done(&mut tiered.restore());
    early.code(121).says("programs of a run that was killed still work in it");
    kill_users_of(&tiered.place.all);
    let _ = run.wait();
    wait_until("nobody uses it", || done(&mut tiered.restore()).status.code() == Some(0));
    assert_eq!(tiered.place.read("work/tmp/a/f"), "told\n");
    assert_eq!(tiered.bodies(tiered.far.path()), Vec::<std::path::PathBuf>::new());
    assert!(!tiered.place.project.join(".forebay").exists());
}

#[test]
fn ordinary_users_have_whole_folders_too() {
    let Some(tiered) = Tiered::with_fuse().filter(|_| Place::with_root().is_some()) else { return };
    let place = &tiered.place;
    let (user, node) = (USER.to_string(), place.all.join("node"));
    let mut run = place.program("setpriv");
    run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    run.arg(place.give_to_user());
    for path in [tiered.far.path(), &place.all.join("near")] {
        std::os::unix::fs::chown(path, Some(USER), Some(USER)).expect("given");
    }
    let far = tiered.far.path().display();
    let script = format!(
        "cd work/tmp && echo text > f && mkdir d && mv f d/g && ln -s g d/l && cat d/l
        [ $(stat -c %d .) = $(stat -c %d {far}) ] && echo on the tier"
    );
    run.args(tiered.script(TMP, &script).get_args());
    let prepare = format!(
        "mknod -m 666 {node} c 10 229; chmod 666 {node}; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    let end = done(&mut place.apart(&prepare, &run));
    assert_eq!(end.code(0).text(), "text\non the tier\n", "{}", end.stderr);
    end.says("1 file (5 B) written back");
    assert_eq!(place.read("work/tmp/d/l"), "text\n");
    assert!(!place.project.join("work/tmp/d/g").is_symlink());
}
