//! The end of a volume of which another namespace has a copy, as containers have. If these fail,
//! whoever unmounts waits for ever, or a program loses what it has open.

use std::process::Child;

use crate::place::{AWAIT, Done, PATIENCE, Place, done, finish, wait_until};

/// Mounts the volume beside the project, with a tier to which all files go.
fn mount(place: &Place) {
    for dir in ["volume", "at", "tier", "copy"] {
        std::fs::create_dir(place.all.join(dir)).expect("made");
    }
    let site =
        format!("[tier.fast]\nreach = \"node\"\npath = \"{}\"\n", place.all.join("tier").display());
    std::fs::write(place.all.join("site.toml"), site).expect("written");
    let rules = "[[rule]]\nmatch = \"**\"\nhome = \"fast\"\n";
    std::fs::write(place.all.join("rules.toml"), rules).expect("written");
    let words =
        ["mount", "--site", "../site.toml", "--rules", "../rules.toml", "../volume", "../at"];
    done(&mut place.forebay(&words)).code(0);
}

fn unmount(place: &Place, lazy: bool) -> Done {
    let words: &[&str] = if lazy { &["unmount", "--lazy", "../at"] } else { &["unmount", "../at"] };
    done(&mut place.forebay(words))
}

/// A shell in a namespace of its own, where the volume lies at another place, too.
fn elsewhere(place: &Place, script: &str) -> Child {
    let prepare = "mount --make-rprivate /; mount --bind ../at ../copy";
    let mut shell = place.program("sh");
    shell.args(["-c", &format!("set -e\n{AWAIT}{script}")]);
    let mut shell = place.apart(prepare, &shell);
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    shell.spawn().expect("started")
}

fn tell(place: &Place, name: &str) {
    std::fs::write(place.all.join(name), "").expect("written");
}

#[test]
fn a_volume_ends_when_nobody_uses_the_copies_that_others_have() {
    let Some(place) = Place::with_root() else { return };
    mount(&place);
    let script = "exec 5> ../copy/file; echo one >&5; touch ../open; await ../close
        echo two >&5; exec 5>&-; touch ../closed; await ../over
        cat ../copy/file 2>&1 || true; echo three 2>&1 > ../at/file || true";
    let shell = elsewhere(&place, script);
    place.wait_for("open");
    unmount(&place, false).code(1).says("is in use: ").says("sh (pid ");
    tell(&place, "close");
    place.wait_for("closed");
    unmount(&place, false).code(0);
    let file = place.all.join("volume/file");
    let is_plain = std::fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file());
    assert!(is_plain, "it came home");
    assert_eq!(std::fs::read_to_string(file).expect("there"), "one\ntwo\n");
    tell(&place, "over");
    let end = finish(shell, PATIENCE);
    let said = end.code(0).text() + &end.stderr;
    assert_eq!(said.matches("endpoint is not connected").count(), 2, "{said}");
    place.nobody_left();
}

#[test]
fn who_is_in_a_copy_or_has_mapped_a_file_of_it_keeps_the_volume() {
    let Some(place) = Place::with_root() else { return };
    mount(&place);
    std::fs::write(place.all.join("at/file"), vec![b'.'; 4096]).expect("written");
    // A mapping alone, past us: the file is closed. Until then somebody is inside, or the volume
    // would be one that nobody uses.
    let map = "import mmap, os, time\n\
        f = os.open('file', os.O_RDWR); m = mmap.mmap(f, 4096); os.close(f)\n\
        os.chdir('..'); open('mapped', 'w').close()\n\
        while not os.path.exists('write'): time.sleep(0.05)\n\
        m[:5] = b'later'; m.close()";
    let script = format!(
        "cd ../copy; touch ../inside; await ../leave; cat file > ../read; echo new > fresh\n\
        exec python3 -c \"{map}\""
    );
    let shell = elsewhere(&place, &script);
    place.wait_for("inside");
    unmount(&place, false).code(1).says("is in use: ").says("sh (pid ");
    unmount(&place, true).code(0).says("when ").says("sh (pid ");
    // Longer than anybody is waited for who does not use it.
    std::thread::sleep(std::time::Duration::from_secs(3));
    tell(&place, "leave");
    place.wait_for("mapped");
    assert_eq!(std::fs::read(place.all.join("read")).expect("there").len(), 4096);
    std::thread::sleep(std::time::Duration::from_secs(3));
    let home = place.all.join("volume/file");
    let is_home = || std::fs::symlink_metadata(&home).is_ok_and(|meta| meta.is_file());
    assert!(!is_home(), "somebody has mapped it");
    tell(&place, "write");
    finish(shell, PATIENCE).code(0);
    wait_until("it is home", is_home);
    assert_eq!(&std::fs::read(&home).expect("there")[..6], b"later.");
    assert_eq!(std::fs::read_to_string(place.all.join("volume/fresh")).expect("there"), "new\n");
    place.nobody_left();
}
