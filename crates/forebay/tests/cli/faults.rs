//! Things that die, vanish or fill up in the middle of a run. Programs may get errors; they must
//! never get less than they asked for and take it for all, and nothing may stay behind.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::place::{Done, PATIENCE, Place, done, finish, wait_until};
use crate::processes::{daemon, kill};

/// Starts a run whose script reads a line before it goes on.
fn start(run: &mut Command) -> Child {
    run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    run.spawn().expect("started")
}

/// Lets it go on.
fn go_on(mut child: Child) -> Done {
    let _ = child.stdin.take().expect("a pipe").write_all(b"go\n");
    finish(child, PATIENCE)
}

#[test]
fn a_killed_daemon_means_errors_and_never_short_data() {
    let Some(place) = Place::with_fuse() else { return };
    let data = "0123456789abcdef\n".repeat(40_000);
    std::fs::write(place.project.join("data"), &data).expect("written");
    let script = "exec 3< data; : > ../ready; read line; cat data; echo status $? >&2; cat <&3";
    let child = start(&mut place.script(&["--trace", "every-read", "--recorder", "fuse"], script));
    place.wait_for("ready");
    kill(daemon(&place.state));
    let end = go_on(child);
    // ENOTCONN, or ECONNABORTED to who asks while the kernel takes the mount down.
    end.code(120).says("the daemon was gone").says("cat: data: ").says("status 1");
    assert!(end.stdout.is_empty() || end.text() == data, "{} bytes", end.stdout.len());
    place.nobody_left();
    assert_eq!(place.read("data"), data);
}

#[test]
fn a_killed_daemons_record_can_be_salvaged() {
    let Some(place) = Place::with_fuse() else { return };
    let child = start(&mut place.script(&[], "echo x > made; : > ../ready; read line; exit 5"));
    place.wait_for("ready");
    // Long paths break its lines.
    let doctor = || {
        let text = done(&mut place.forebay(&["doctor"])).code(0).text();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(doctor().contains("1 run under way"), "{}", doctor());
    let states = std::fs::read_dir(place.state.join("forebay")).expect("a state directory");
    let mut states = states.flatten().map(|entry| entry.path());
    let state = states.find(|path| path.extension() == Some("run".as_ref())).expect("a state");
    // The record is written now and then.
    wait_until("the file is in the record", || {
        let made = "SELECT count(*) FROM files WHERE path = 'made'";
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let record = rusqlite::Connection::open_with_flags(&state, flags);
        record.and_then(|record| record.query_row(made, [], |row| row.get(0))).unwrap_or(0i64) == 1
    });
    let state = state.to_str().expect("a plain name").to_owned();
    let run = place.run.to_str().expect("a plain name");
    let mut salvage = place.forebay(&["doctor", "--salvage", &state, "-o", run]);
    done(&mut salvage).code(1).says("this run goes on");
    kill(daemon(&place.state));
    go_on(child).code(120);
    let told = doctor();
    assert!(told.contains(&format!("forebay doctor --salvage {state} -o")), "{told}");
    done(&mut salvage).code(0).says("salvaged");
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'made'"), 1);
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 0);
    assert_eq!(place.mode(&place.run), 0o600);
    done(&mut place.forebay(&["summary", run])).code(0);
    place.nothing_left();
}

#[test]
fn a_killed_front_takes_the_command_with_it() {
    let Some(place) = Place::with_fuse() else { return };
    let child = start(&mut place.script(&[], ": > ../ready; exec sleep 100"));
    place.wait_for("ready");
    kill(child.id() as i32);
    finish(child, PATIENCE);
    place.nothing_left();
    assert_eq!(place.record().number("SELECT value FROM header WHERE key = 'complete'"), 0);
}

#[test]
fn the_directory_is_removed_meanwhile() {
    let Some(place) = Place::with_fuse() else { return };
    let child = start(&mut place.script(&["-q"], ": > ../ready; read line; echo x > new; exit 9"));
    place.wait_for("ready");
    std::fs::remove_dir_all(&place.project).expect("removed");
    let end = go_on(child);
    // `new` can't be made; the shell goes on, and its status is the run's.
    end.code(9);
    assert!(!place.project.exists());
    place.nothing_left();
}

#[test]
fn a_full_state_directory_does_not_touch_the_command() {
    let Some(place) = Place::with_root() else { return };
    let script = "i=0; while [ $i -lt 6000 ]; do : > file_with_a_long_name_$i; i=$((i+1)); done; \
                  ls | wc -l; exit 4";
    let run = place.script(&[], script);
    let prepare = format!("mount -t tmpfs -o size=300k tmpfs {}", place.state.display());
    let end = done(&mut place.apart(&prepare, &run));
    assert_eq!(end.code(4).text(), "6000\n");
    end.says("no space left");
    place.nothing_left();
}

#[test]
fn a_full_disk_below_the_run_file_does_not_touch_the_command() {
    let Some(place) = Place::with_root() else { return };
    let out = place.all.join("small");
    std::fs::create_dir(&out).expect("made");
    let mut run = place.forebay(&["run", "-o"]);
    run.arg(out.join("x.run")).args(["--", "sh", "-c", "echo hi > a; cat a; exit 4"]);
    let prepare = format!("mount -t tmpfs -o size=16k tmpfs {}", out.display());
    let end = done(&mut place.apart(&prepare, &run));
    assert_eq!(end.code(4).text(), "hi\n");
    end.says("the run is").says(place.state.to_str().expect("a plain name"));
    place.nobody_left();
}

#[test]
fn a_full_home_does_not_touch_a_run_whose_record_goes_elsewhere() {
    let Some(place) = Place::with_root() else { return };
    let (state, all) = (place.state.display(), place.all.display());
    // Home, state and temporary directories are full; in the end there is room nowhere.
    let full = format!(
        "mkdir -p -m 700 /var/tmp/forebay-0
        for full in {state} /var/lib /var/tmp/forebay-0; do
            mount -t tmpfs -o size=4k,mode=755 full $full; head -c 4096 /dev/zero > $full/full || true
        done"
    );
    let mut run = place.script(&[], "echo hi > a; cat a; exit 4");
    run.env("HOME", &place.state).env("TMPDIR", &place.state);
    let with_env = |command: &mut Command| {
        command.env("HOME", &place.state).env("TMPDIR", &place.state);
        done(command)
    };
    let end = with_env(&mut place.apart(&full, &run));
    assert_eq!(end.code(4).text(), "hi\n");
    assert_eq!(place.record().number("SELECT value FROM header WHERE key = 'complete'"), 1);
    std::fs::remove_file(&place.run).expect("removed");
    std::fs::create_dir(place.all.join("small")).expect("made");
    let mut run = place.forebay(&["run", "-o", "../small/x.run", "--", "touch", "ran"]);
    let full = format!(
        "{full}
        mount -t tmpfs -o size=4k full {all}/small; head -c 4096 /dev/zero > {all}/small/full"
    );
    let end = with_env(&mut place.apart(&full, run.env("HOME", &place.state)));
    end.code(125).says("starting the daemon: ");
    assert!(!end.stderr.contains("endpoint") && !place.project.join("ran").exists());
    place.nobody_left();
}

#[test]
fn what_programs_have_open_together_is_more_than_the_limit_of_one() {
    let Some(place) = Place::with_root() else { return };
    let mut raise = place.program("sh");
    if !done(raise.args(["-c", "ulimit -n 256; ulimit -n 512"])).status.success() {
        return eprintln!("this root may not raise limits (CAP_SYS_RESOURCE)");
    }
    let program = "import os, sys, time\n\
        me = sys.argv[1]\n\
        files = [open('f%s.%d' % (me, number), 'w') for number in range(200)]\n\
        open('../up' + me, 'w').close()\n\
        while not all(os.path.exists('../up' + one) for one in '123'): time.sleep(0.02)\n\
        for file in files: file.write(me)\n";
    let script = format!(
        "for n in 1 2 3; do python3 -c \"{program}\" $n & pids=\"$pids $!\"; done
        for pid in $pids; do wait $pid || exit 9; done; cat f* | wc -c"
    );
    let run = place.script(&["-q"], &script);
    let end = done(&mut place.after("ulimit -n 256", &run));
    assert_eq!(end.code(0).text(), "600\n", "{}", end.stderr);
    place.nothing_left();
}
