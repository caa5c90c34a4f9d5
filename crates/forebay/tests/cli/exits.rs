//! A run ends as its command ends, and what Forebay adds can be told from it.

use std::os::unix::process::ExitStatusExt;

use crate::place::{Place, USER, done};

#[test]
fn the_commands_own_status() {
    let Some(place) = Place::with_fuse() else { return };
    for code in [0, 1, 7, 255] {
        done(&mut place.script(&["-q"], &format!("exit {code}"))).code(code);
    }
    place.nothing_left();
    assert_eq!(place.record().number("SELECT value FROM header WHERE key = 'exit_status'"), 255);
}

#[test]
fn the_commands_own_signal() {
    let Some(place) = Place::with_fuse() else { return };
    for (name, signal) in
        [("TERM", libc::SIGTERM), ("SEGV", libc::SIGSEGV), ("KILL", libc::SIGKILL)]
    {
        let end = done(&mut place.script(&["-q"], &format!("kill -{name} $$")));
        assert_eq!(end.status.signal(), Some(signal), "{}", end.stderr);
    }
    place.nothing_left();
    assert_eq!(place.record().number("SELECT value FROM header WHERE key = 'exit_signal'"), 9);
}

#[test]
fn a_command_that_is_not_there_is_127() {
    let Some(place) = Place::with_fuse() else { return };
    for program in ["no-such-program-here", "./not-here-either"] {
        done(&mut place.forebay(&["run", "--", program])).code(127).says("not found");
    }
    place.nothing_left();
}

#[test]
fn a_command_that_cannot_be_executed_is_126() {
    let Some(place) = Place::with_fuse() else { return };
    std::fs::write(place.project.join("plain"), "#!/bin/sh\n").expect("written");
    for program in ["./plain", "/"] {
        done(&mut place.forebay(&["run", "--", program])).code(126).says("can't be executed");
    }
    place.nothing_left();
}

#[test]
fn a_tree_that_is_not_there_is_125() {
    let Some(place) = Place::with_fuse() else { return };
    std::fs::write(place.project.join("file"), "").expect("written");
    for tree in ["missing", "file", "/"] {
        let end = done(&mut place.forebay(&["run", "--at", tree, "--", "touch", "ran"]));
        end.code(125).says("can't be managed");
    }
    assert!(!place.project.join("ran").exists());
    place.nothing_left();
}

#[test]
fn a_run_file_with_nowhere_to_go_is_refused_before_anything_runs() {
    let Some(place) = Place::with_fuse() else { return };
    let mut run = place.forebay(&["run", "-o", "missing/x.run", "--", "touch", "ran"]);
    done(&mut run).code(125).says("missing/x.run");
    done(&mut place.forebay(&["run", "-o", ".", "--", "touch", "ran"])).code(125);
    assert!(!place.project.join("ran").exists());
    place.nothing_left();
}

#[test]
fn a_wrong_device_is_125() {
    let Some(place) = Place::with_root() else { return };
    let run = place.forebay(&["run", "--", "touch", "ran"]);
    let end = done(&mut place.apart("mount --bind /dev/null /dev/fuse", &run));
    end.code(125).says("forebay doctor");
    assert!(!place.project.join("ran").exists());
    place.nothing_left();
}

#[test]
fn a_closed_device_is_125() {
    let Some(place) = Place::with_root() else { return };
    let mut run = place.program("setpriv");
    let user = USER.to_string();
    run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    run.arg(place.give_to_user()).args(["run", "--", "touch", "ran"]);
    let node = place.all.join("node");
    let prepare = format!(
        "mknod -m 600 {node} c 10 229; mount --bind {node} /dev/fuse",
        node = node.display()
    );
    let end = done(&mut place.apart(&prepare, &run));
    end.code(125).says("opening /dev/fuse").says("forebay doctor");
    assert!(!place.project.join("ran").exists());
    place.nothing_left();
}

#[test]
fn a_reader_that_leaves_ends_the_command_as_without_us() {
    let Some(place) = Place::with_fuse() else { return };
    let run = place.forebay(&["run", "-q", "-o", "../out.run", "--", "yes"]);
    let mut bash = place.program("bash");
    bash.args(["-c", "\"$@\" | head -n 1; echo ${PIPESTATUS[0]}", "bash"]);
    bash.arg(run.get_program()).args(run.get_args());
    assert_eq!(done(&mut bash).code(0).text(), format!("y\n{}\n", 128 + libc::SIGPIPE));
    place.nothing_left();
}

/// Whatever a file or a server is called or says: a terminal is told of it, and does nothing.
#[test]
fn no_name_and_no_server_writes_to_a_terminal() {
    use std::io::{Read, Write};
    const EVIL: &str = "x\x1b]0;PWN\x07\u{9b}2J\u{202e}y";
    let place = Place::new();
    let quiet = |words: &[&str], end: &crate::place::Done| {
        let told = end.stderr.clone() + &end.text();
        let is_bad = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
        assert!(!told.contains(is_bad), "{words:?}: {told:?}");
        // The parser of options leaves out what it takes for a sequence of a terminal.
        // An answer to HEAD has no words to repeat.
        let is_given = words.iter().any(|word| word.contains("PWN"));
        let is_told = told.contains("PWN") || told.contains("2J") || !is_given && !told.is_empty();
        assert!(is_told, "{words:?}: it is told of: {told:?}");
    };
    std::fs::create_dir(place.project.join(EVIL)).expect("made");
    for words in [
        &["summary", EVIL][..],
        &["mount", EVIL, EVIL, EVIL],
        &["unmount", EVIL],
        &["restore", EVIL],
        &["reads", "info", EVIL],
        &[EVIL],
    ] {
        quiet(words, &done(&mut place.forebay(words)));
    }
    // A server whose every answer is an error with escapes.
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let Ok(mut stream) = stream else { return };
            let said =
                format!("<?xml version='1.0'?><Error><Code>AccessDenied{EVIL}</Code></Error>");
            let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n", said.len());
            let Ok(1..) = stream.read(&mut [0; 4096]) else { continue };
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{said}").as_bytes());
        }
    });
    for words in [&["check", "s3://b/v"][..], &["reads", "info", "s3://b/v"]] {
        let mut asked = place.forebay(words);
        asked.env("AWS_ENDPOINT_URL", &url).env("AWS_ACCESS_KEY_ID", "k");
        asked.env("AWS_SECRET_ACCESS_KEY", "s").env("AWS_REGION", "us-east-1");
        quiet(words, &done(&mut asked));
    }
}
