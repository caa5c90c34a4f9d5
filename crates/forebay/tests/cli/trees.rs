//! What is covered, and for whom. A tree that is missed is I/O that nobody sees.

use std::os::unix::fs::MetadataExt;

use crate::place::{Place, USER, done};

#[test]
fn two_trees() {
    let Some(place) = Place::with_fuse() else { return };
    let (one, two) = (place.all.join("one"), place.all.join("two"));
    for dir in [&one, &two] {
        std::fs::create_dir(dir).expect("made");
    }
    let script = "echo x > ../one/f; cat ../one/f > ../two/g; echo bare > here";
    done(&mut place.script(&["-q", "--at", "../one", "--at", "../two"], script)).code(0);
    assert_eq!(std::fs::read_to_string(two.join("g")).expect("there"), "x\n");
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM trees"), 2);
    assert_eq!(record.number("SELECT count(DISTINCT tree) FROM files WHERE path IN ('f', 'g')"), 2);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'here'"), 0);
    place.nothing_left();
}

#[test]
fn a_tree_inside_another_is_covered_once() {
    let Some(place) = Place::with_fuse() else { return };
    std::fs::create_dir_all(place.project.join("sub/deep")).expect("made");
    let at = ["-q", "--at", ".", "--at", "sub", "--at", "sub/deep/", "--at", "sub/../sub"];
    done(&mut place.script(&at, "echo x > sub/deep/f")).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM trees"), 1);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'sub/deep/f'"), 1);
    place.nothing_left();
}

#[test]
fn a_mount_inside_a_tree_is_visible_and_traced() {
    let Some(place) = Place::with_root() else { return };
    let run = place.script(&["-q"], "cat sub/file; echo out > sub/new; cp sub/new new");
    let prepare = "mkdir sub; mount -t tmpfs tmpfs sub; echo in > sub/file";
    let end = done(&mut place.apart(prepare, &run));
    assert_eq!(end.code(0).text(), "in\n", "{}", end.stderr);
    assert_eq!(place.read("new"), "out\n");
    assert!(!place.project.join("sub/new").exists(), "it went to the mount");
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM trees WHERE fs_type = 'tmpfs'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM trees"), 2);
    place.nothing_left();
}

#[test]
fn an_ordinary_user_gets_the_same() {
    let Some(place) = Place::with_root() else { return };
    let (user, node) = (USER.to_string(), place.all.join("node"));
    let mut run = place.program("setpriv");
    run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    run.arg(place.give_to_user()).args(["run", "-q", "-o"]).arg(&place.run);
    run.args(["--", "sh", "-c", "id -u; echo hi > a; cat a; exit 7"]);
    let prepare = format!(
        "mknod -m 666 {node} c 10 229; chmod 666 {node}; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    let end = done(&mut place.apart(&prepare, &run));
    assert_eq!(end.code(7).text(), format!("{user}\nhi\n"));
    let made = std::fs::metadata(place.project.join("a")).expect("there");
    assert_eq!((made.uid(), made.gid()), (USER, USER));
    let record = place.record();
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM opens WHERE hidden"), 0);
    assert_eq!(record.number("SELECT sum(written_bytes) FROM opens"), 3);
    place.nothing_left();
}
