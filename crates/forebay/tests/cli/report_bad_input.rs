//! Reports of what is no run, and to where none can be. If these fail, a page is made of nothing,
//! half of one is left behind, or it takes the place of the only record of a run.

use crate::made;
use crate::place::{Place, done};

#[test]
fn what_is_no_run_is_told_and_no_page_is_made() {
    let place = Place::new();
    let at = |name: &str| place.project.join(name);
    let run = made::named(&place.project, "one-task").expect("known").expect("a run");
    let whole = std::fs::read(&run).expect("its bytes");
    std::fs::write(at("nothing.run"), "").expect("a file");
    std::fs::write(at("text.run"), "a text that is no run\n".repeat(20)).expect("a file");
    std::fs::write(at("cut.run"), &whole[..whole.len() / 2]).expect("a file");
    let sql = |name: &str, sql: &str| {
        let file = rusqlite::Connection::open(at(name)).expect("SQLite");
        file.execute_batch(sql).expect("done");
    };
    std::fs::write(at("newer.run"), &whole).expect("a file");
    sql("newer.run", "PRAGMA user_version = 999");
    std::fs::write(at("torn.run"), &whole).expect("a file");
    sql("torn.run", "DROP TABLE tasks");
    sql("foreign.run", "CREATE TABLE a (b); PRAGMA application_id = 7");
    std::fs::create_dir(at("folder")).expect("a directory");
    for (name, says) in [
        ("nothing.run", "it is empty"),
        ("text.run", "no SQLite file"),
        ("cut.run", "cut short"),
        ("newer.run", "a newer Forebay wrote it"),
        ("torn.run", "torn.run"),
        ("foreign.run", "another program"),
        ("missing.run", "there is no such file"),
        ("folder", "there is no run in this directory"),
    ] {
        let words = ["report", "one-task.run", name, "-o", "page.html"];
        let told = done(&mut place.forebay(&words));
        told.code(1).says(name).says(says);
        assert!(told.stderr.lines().count() >= 2, "the next step is told: {}", told.stderr);
        assert!(!at("page.html").exists(), "{name}: a page was made");
    }
    let none = done(&mut place.forebay(&["report", "-o", "page.html"]));
    none.code(1).says("no run was named, and there is none in .forebay/runs here");
}

#[test]
fn a_page_takes_no_place_that_is_not_its_own() {
    let place = Place::new();
    let run = made::named(&place.project, "one-task").expect("known").expect("a run");
    let whole = std::fs::read(&run).expect("its bytes");
    std::fs::create_dir(place.project.join("folder")).expect("a directory");
    for (output, says) in [
        ("one-task.run", "would be lost"),
        ("folder", "it is a directory"),
        ("nowhere/page.html", "its directory is not there"),
    ] {
        done(&mut place.forebay(&["report", "one-task.run", "-o", output])).code(1).says(says);
    }
    assert!(std::fs::read(&run).expect("its bytes") == whole, "the run was changed");
    // A page that is there stays until the new one is whole.
    let mut small = place.forebay(&["report", "one-task.run", "-o", "page.html"]);
    done(&mut small).code(0);
    let old = place.read("page.html");
    assert!(old.starts_with("<!doctype html>"));
    done(&mut place.after("trap '' XFSZ; ulimit -f 2", &small)).code(1).says("page.html");
    assert_eq!(place.read("page.html"), old);
    done(&mut small).code(0);
    let names = std::fs::read_dir(&place.project).expect("the project").flatten();
    let left: Vec<_> = names.map(|entry| entry.file_name()).collect();
    let part = left.iter().any(|name| name.to_string_lossy().contains(".part"));
    assert!(!part, "a part was left: {left:?}");
}

#[test]
fn who_has_read_enough_is_no_failure() {
    let place = Place::new();
    made::named(&place.project, "measured").expect("known").expect("a run");
    for form in ["--json", "-o -"] {
        let script = format!("{} report measured.run {form} | head -c 10", crate::place::FOREBAY);
        let told = done(place.program("bash").args(["-o", "pipefail", "-c", &script]));
        told.code(0);
        assert_eq!(told.stdout.len(), 10, "{}", told.text());
        assert!(!told.stderr.contains("panicked"), "{}", told.stderr);
    }
}
