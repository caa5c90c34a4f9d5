//! A bucket out of reach while its volume is mounted. If these fail, programs stop or lose what they
//! wrote when the network does, or nobody is told.

use std::process::{Child, Command, Stdio};

use crate::bucket::Volume;
use crate::place::{Done, PATIENCE, USER, done, finish, wait_until};
use crate::s3::faults::Refusal;

/// Longer than any of these tests takes.
const LONG: &str = "120 s";
/// Over at once.
const SHORT: &str = "300 ms";

fn start(volume: &Volume, script: &str) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).current_dir(volume.there());
    let shell = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.spawn().expect("started")
}

/// Whether the doctor tells that of this mount, among others.
fn is_out_of_reach(volume: &Volume) -> bool {
    let text = done(&mut volume.forebay(&["doctor"])).text();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let there = volume.there();
    let told = format!("s3://ours/lab/v at {}: out of reach since 20", there.display());
    text.contains(&told) && text.contains("let programs go on")
}

fn mount(volume: &Volume, patience: &str) -> Done {
    volume.try_mount("two", &["--patience", patience], &volume.there())
}

/// A volume with files that are in the bucket alone.
fn with_files_away() -> Option<(Volume, String)> {
    let volume = Volume::with_fuse()?;
    volume.mount("one", &volume.at());
    let make = "for n in $(seq 60); do head -c 200000 /dev/urandom > large$n; done
        mkdir d; for n in $(seq 9); do echo small $n > d/$n; done";
    volume.sh(&volume.at(), make);
    let sums = volume.sh(&volume.at(), "md5sum large* d/*");
    volume.unmount(&volume.at()).code(0);
    Some((volume, sums))
}

#[test]
fn programs_go_on_while_a_bucket_is_out_of_reach() {
    let Some((volume, sums)) = with_files_away() else { return };
    mount(&volume, LONG).code(0);
    let there = volume.there();
    volume.server.refuse(Some(Refusal::Away));
    // More readers than threads at the start; and a rename over a file that is read needs its bytes.
    let readers = start(
        &volume,
        "exec 3< large60; mv d/9 large60 & for n in $(seq 59); do cat large$n > ../got$n & done
        cat d/1 > /dev/null & wait; md5sum <&3",
    );
    let write = "sleep 0.5; echo new > new; sync new; sleep 1.5; mkdir e; mv new e/new
        dd if=/dev/urandom of=e/large bs=150k count=1 conv=fsync status=none; rm d/8; md5sum e/*";
    let written = volume.sh(&there, write);
    wait_until("the doctor knows", || is_out_of_reach(&volume));
    volume.server.refuse(None);
    let end = finish(readers, 3 * PATIENCE);
    end.code(0);
    let sum = |of: &str| {
        let line = sums.lines().find(|line| line.ends_with(&format!("  {of}"))).expect(of);
        line.split(' ').next().expect("a sum").to_owned()
    };
    assert!(end.text().starts_with(&sum("large60")), "who had it open reads on");
    let got = volume.sh(&volume.place.all, "md5sum got1 got30 got59");
    for name in ["1", "30", "59"] {
        assert!(got.contains(&format!("{}  got{name}", sum(&format!("large{name}")))), "{got}");
    }
    wait_until("the doctor knows", || !is_out_of_reach(&volume));
    volume.unmount(&there).code(0);
    volume.mount("three", &volume.at());
    assert_eq!(volume.sh(&volume.at(), "md5sum e/*; test ! -e d/8; test ! -e d/9"), written);
    assert_eq!(volume.sh(&volume.at(), "cat large60"), "small 9\n");
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn after_its_patience_a_read_fails_and_an_unmount_says_what_is_here_alone() {
    let Some((volume, sums)) = with_files_away() else { return };
    mount(&volume, SHORT).code(0);
    let there = volume.there();
    let state = "stat -c '%s %y' large1 d/1";
    let before = volume.sh(&there, state);
    volume.server.refuse(Some(Refusal::Away));
    let fails = "! cat large1 > /dev/null 2> ../why; ! cat d/1 > /dev/null 2>> ../why; cat ../why";
    let why = volume.sh(&there, fails);
    assert_eq!(why.matches("Input/output error").count(), 2, "{why}");
    assert_eq!(volume.sh(&there, state), before);
    volume.sh(&there, "echo here > x; sync x; ! echo more >> large2");
    wait_until("the doctor knows", || is_out_of_reach(&volume));
    let end = volume.unmount(&there);
    end.code(121).says("s3://ours/lab/v is out of reach since 20").says("Ctrl-C stops the waiting");
    end.says("not all of it is in s3://ours/lab/v").says("two/tree; mounting it again goes on");
    let kept = std::fs::read_to_string(volume.place.all.join("two/tree/x")).expect("kept");
    assert_eq!(kept, "here\n");
    mount(&volume, SHORT).code(125).says("is the network there");
    volume.server.refuse(None);
    mount(&volume, LONG).code(0);
    assert_eq!(volume.sh(&there, "cat x; md5sum large* d/*"), format!("here\n{sums}"));
    assert_eq!(volume.sh(&there, state), before);
    volume.unmount(&there).code(0).says("all of it is in s3://ours/lab/v");
    volume.mount("three", &volume.at());
    assert_eq!(volume.sh(&volume.at(), "cat x; md5sum large* d/*"), format!("here\n{sums}"));
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn who_unmounts_is_told_what_is_waited_for_and_need_not_wait() {
    let Some(volume) = Volume::with_fuse() else { return };
    let (at, said) = (volume.at(), volume.place.all.join("said"));
    for lazy in [false, true] {
        volume.try_mount("one", &["--patience", LONG], &at).code(0);
        volume.sh(&at, "echo early > early; sync early; head -c 200000 /dev/urandom > large");
        let sum = volume.sh(&at, "md5sum large");
        volume.server.refuse(Some(Refusal::Away));
        let mut unmount = volume.forebay(&["unmount"]);
        unmount.args(lazy.then_some("--lazy")).arg(&at);
        if lazy {
            let end = done(&mut unmount);
            end.code(121).says("is unmounted; not all of it is in s3://ours/lab/v: ");
            end.says("its daemon goes on trying, and it is in ").says("one/tree");
            volume.server.refuse(None);
        } else {
            let to = std::fs::File::create(&said).expect("made");
            let child = unmount.stderr(to).spawn().expect("started");
            let text = || std::fs::read_to_string(&said).expect("there");
            wait_until("it says what it waits for", || text().contains("daemon goes on trying"));
            let text = text();
            assert!(text.contains("waiting for s3://ours/lab/v, which does not have "), "{text}");
            assert!(text.contains("Ctrl-C stops the waiting alone") && text.contains("one/tree"));
            volume.server.refuse(None);
            finish(child, PATIENCE).code(0);
        }
        volume.place.nobody_left();
        volume.mount("two", &volume.there());
        assert_eq!(volume.sh(&volume.there(), "md5sum large"), sum);
        volume.unmount(&volume.there()).code(0);
    }
    volume.place.nobody_left();
}

#[test]
fn bytes_come_for_who_may_only_read() {
    let Some(volume) = Volume::with_root() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "head -c 600000 /dev/urandom > large; echo small > small; chmod 644 *");
    let sums = volume.sh(&volume.at(), "md5sum large small");
    volume.unmount(&volume.at()).code(0);
    let mut reach = Command::new("chmod");
    reach.arg("711").args([&volume.place.all, &volume.there()]);
    done(&mut reach).code(0);
    volume.try_mount("two", &["--allow-other"], &volume.there()).code(0);
    let user = USER.to_string();
    let read = || {
        let mut read = Command::new("setpriv");
        read.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--", "sh", "-euc"]);
        // Each thread has acted for them then.
        let read = read.arg("for n in $(seq 300); do test ! -e no$n; done; md5sum large small");
        assert_eq!(done(read.current_dir(volume.there())).code(0).text(), sums);
        volume.server.requests()
    };
    let came = read();
    assert_eq!(read(), came, "what has come is here");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}
