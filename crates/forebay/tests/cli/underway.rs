//! The time when a command has ended and its files come home. If these fail, somebody who is tired
//! of waiting loses files, or a log file fills with lines for a terminal.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::place::{PATIENCE, finish, wait_until};
use crate::tiers::Tiered;

/// Long enough for a line to be worth showing, where one would be.
const NOTICED: Duration = Duration::from_millis(700);
const SAM: &str = "[[rule]]\nmatch = \"*.sam\"\nhome = \"far\"\n";

/// A body that nobody can open until it is let go: a lease, which the kernel breaks only after
/// 45 s.
struct Held(File);

impl Held {
    fn of(tiered: &Tiered, name: &str) -> Held {
        // SAFETY: plain numbers. The kernel's signal to who holds a lease would end this process.
        unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        let body = std::fs::read_link(tiered.place.project.join(name)).expect("a link");
        let file = File::open(body).expect("the body");
        let lease = || {
            // SAFETY: an open descriptor and plain numbers.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0 }
        };
        wait_until("the body is closed", lease);
        Held(file)
    }

    /// Waits for who wants to open it.
    fn wait(&self) {
        wait_until("somebody opens the body", || {
            // SAFETY: as above.
            unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE) != libc::F_WRLCK }
        });
    }

    fn let_go(self) {
        // SAFETY: as above.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    }
}

/// Starts a run, and tells when its files are on their way home, one of them held.
fn homeward(tiered: &Tiered, status: i32, prepare: impl FnOnce(&mut Command)) -> (Child, Held) {
    let script = format!(
        "echo one > a.sam; echo two > b.sam; echo > ../go; cd ..
         while [ ! -e on ]; do sleep 0.01; done; exit {status}"
    );
    tiered.rules(SAM);
    let run = tiered.place.run.to_str().expect("a plain name").to_owned();
    let words = ["run", "-o", &run, "--site", "../site.toml", "--rules", "../rules.toml", "--"];
    let mut command = tiered.place.forebay(&words);
    command.args(["sh", "-c", &script]).stdout(Stdio::null()).stderr(Stdio::piped());
    // What a shell starts in the background, these tests too, ignores SIGINT; so would the run.
    let heeds_signals = || {
        // SAFETY: a plain number and a default action.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: what runs between fork and exec calls `signal` alone, which may be called there.
    unsafe { command.pre_exec(heeds_signals) };
    prepare(&mut command);
    let child = command.spawn().expect("started");
    tiered.place.wait_for("go");
    let held = Held::of(tiered, "b.sam");
    std::fs::write(tiered.place.all.join("on"), "").expect("written");
    held.wait();
    (child, held)
}

#[test]
fn who_does_not_wait_loses_nothing() {
    for (status, signal, code) in [(0, libc::SIGINT, 121), (3, libc::SIGTERM, 3)] {
        let Some(tiered) = Tiered::with_fuse() else { return };
        let (child, held) = homeward(&tiered, status, |_| ());
        // SAFETY: plain numbers.
        unsafe { libc::kill(child.id() as i32, signal) };
        let end = finish(child, PATIENCE);
        end.code(code).says("left while writing files back: 0 of 2 files").says("goes on with it");
        end.says("`forebay restore` in the managed directory");
        held.let_go();
        let at_home = |name| {
            let path = tiered.place.project.join(name);
            std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
        };
        wait_until("all files are at home", || at_home("a.sam") && at_home("b.sam"));
        assert_eq!(tiered.place.read("b.sam"), "two\n");
        tiered.place.nobody_left();
        tiered.all_home();
        assert_eq!(tiered.place.record().number("SELECT count(*) FROM opens WHERE write"), 2);
    }
}

#[test]
fn a_terminal_shows_how_far_files_have_come() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let (mut master, mut slave) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: two places for numbers; no name, no settings, no size.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) };
    assert_eq!(opened, 0, "a terminal");
    // SAFETY: both are open, and nobody else's.
    let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let (child, held) = homeward(&tiered, 0, |command| {
        command.stderr(slave);
    });
    let mut shown = Vec::new();
    let line = b"writing files back: ";
    while !shown.windows(line.len()).any(|bytes| bytes == line) {
        let mut some = [0; 1024];
        let read = (&master).read(&mut some).expect("the run lives");
        shown.extend_from_slice(&some[..read]);
    }
    held.let_go();
    finish(child, PATIENCE).code(0);
    // The other side is closed: EIO.
    let _ = (&master).read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    let line = shown.find("\rforebay: writing files back: ").unwrap_or_else(|| panic!("{shown}"));
    let rest = &shown[line..];
    assert!(rest.contains(" of 2 files, ") && rest.contains(" of 8 B"), "{rest}");
    let gone = rest.rfind("\r\x1b[K").expect("it goes");
    assert!(rest[gone..].contains("2 files (8 B) written back"), "{rest}");
    tiered.all_home();
}

#[test]
fn what_is_no_terminal_gets_no_such_lines() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let (child, held) = homeward(&tiered, 0, |_| ());
    std::thread::sleep(NOTICED);
    held.let_go();
    let end = finish(child, PATIENCE);
    end.code(0).says("2 files (8 B) written back");
    assert!(!end.stderr.contains("writing files back") && !end.stderr.contains('\r'));
    tiered.all_home();
}
