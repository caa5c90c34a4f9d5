//! The doctor says what is so: its exit code is what scripts and admins build on.

use crate::place::{Place, USER, done};

#[test]
fn says_that_a_run_works_where_it_does() {
    let Some(place) = Place::with_fuse() else { return };
    let end = done(&mut place.forebay(&["doctor"]));
    let text = end.code(0).text();
    assert!(text.ends_with("`forebay run` works here.\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert_eq!(end.stderr, "");
    let json = done(&mut place.forebay(&["doctor", "--json"]));
    let json: serde_json::Value = serde_json::from_slice(&json.code(0).stdout).expect("JSON");
    assert_eq!(json["works"], true);
    for check in json["checks"].as_array().expect("a list") {
        let (name, standing) = (check["name"].as_str(), check["standing"].as_str());
        assert!(text.contains(name.expect("a name")) && standing.is_some());
        let fixes = check["fixes"].as_array().expect("a list").len();
        assert!(standing == Some("ok") || fixes > 0, "no way to mend it: {check}");
    }
    assert_eq!(std::fs::read_dir(&place.project).expect("there").count(), 0, "it left something");
    place.nothing_left();
}

#[test]
fn says_what_closes_the_door() {
    let Some(place) = Place::with_root() else { return };
    let mut doctor = place.program("setpriv");
    let user = USER.to_string();
    doctor.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    doctor.arg(place.give_to_user()).arg("doctor");
    let node = place.all.join("node");
    let prepare = format!(
        "mknod -m 600 {node} c 10 229; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    let text = done(&mut place.apart(&prepare, &doctor)).code(1).text();
    assert!(text.contains("closed to this user (mode 0600)"), "{text}");
    assert!(text.contains("chmod 666 /dev/fuse") && text.contains("does not work here"), "{text}");
    place.nothing_left();
}

#[test]
fn salvages_only_what_it_can() {
    let place = Place::new();
    let saved = place.all.join("saved.run");
    let saved = saved.to_str().expect("a plain name");
    done(&mut place.forebay(&["doctor", "--salvage", "nothing.run", "-o", saved])).code(1);
    std::fs::write(place.project.join("text.run"), "no run file").expect("written");
    done(&mut place.forebay(&["doctor", "--salvage", "text.run", "-o", saved])).code(1);
    done(&mut place.forebay(&["doctor", "--salvage", "text.run"])).code(2);
    assert!(!std::path::Path::new(saved).exists());
    place.nothing_left();
}
