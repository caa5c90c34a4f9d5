//! Many at a time: open files, processes, and processes that begin others as fast as they can. If these
//! fail, a program that works bare fails or hangs under a recorder, or its record is not whole.
//!
//! `FOREBAY_CROWD=10` makes each ten times as large: 100,000 open files, 10,000 processes.

use forebay_volume::{kernel_events, notifications};

use crate::place::{Done, Place, done, skip};

/// What looks on, where it works here.
fn recorders() -> Vec<&'static str> {
    let mut all = vec!["fuse"];
    match kernel_events::probe() {
        Ok(()) => all.push("bpf"),
        Err(why) => drop(skip::<()>(&format!("the kernel can't record here: {why}"))),
    }
    match notifications::probe() {
        Ok(()) => all.push("notify"),
        Err(why) => drop(skip::<()>(&format!("system calls can't be watched here: {why}"))),
    }
    all
}

fn larger() -> usize {
    std::env::var("FOREBAY_CROWD").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// A run of `script` under `recorder`.
fn recorded(place: &Place, recorder: &str, script: &str) -> Done {
    let options = ["-q", "--recorder", recorder, "--force"];
    done(&mut place.script(&options, script))
}

fn empty(place: &Place) {
    std::fs::remove_dir_all(&place.project).expect("removed");
    std::fs::create_dir(&place.project).expect("made");
}

/// Processes with many files open, all at the same time.
const OPENERS: &str = r#"
import os, sys
processes, each = int(sys.argv[1]), int(sys.argv[2])
ready, told = os.pipe()
go, start = os.pipe()
children = []
for number in range(processes):
    child = os.fork()
    if child == 0:
        files, why = [], ""
        try:
            for i in range(each):
                files.append(os.open("%d/%d" % (number, i), os.O_RDONLY))
        except OSError as error:
            why = "%d files, then: %s\n" % (len(files), error)
        os.write(2, why.encode())
        os.write(told, b"x")
        os.read(go, 1)
        right = all(os.read(file, 9) == b"" for file in files)
        os._exit(9 if not right else 7 if why else 0)
    children.append(child)
for _ in children:
    os.read(ready, 1)
os.write(start, b"x" * processes)
sys.exit(max(os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children))
"#;

#[test]
fn thousands_of_open_files_are_recorded() {
    let Some(place) = Place::with_root() else { return };
    let (processes, each) = (10, 1000 * larger());
    for process in 0..processes {
        let folder = place.project.join(process.to_string());
        std::fs::create_dir(&folder).expect("made");
        for file in 0..each {
            std::fs::File::create(folder.join(file.to_string())).expect("made");
        }
    }
    std::fs::write(place.all.join("openers.py"), OPENERS).expect("written");
    // Each process has its own limit.
    let script = format!(
        "ulimit -n $(({each} + 200)) && /usr/bin/python3 -I -S ../openers.py {processes} {each}"
    );
    for recorder in recorders() {
        let end = recorded(&place, recorder, &script);
        let record = place.record();
        let opens = "SELECT count(*) FROM opens JOIN files USING (file) WHERE path GLOB '[0-9]*'";
        let seen = record.number(opens);
        let all = (processes * each) as i64;
        if recorder == "fuse" && end.status.code() == Some(7) {
            // The mount has them all, and one limit, which it may not raise everywhere.
            end.says("Too many open files").says("the hard limit of open files");
            assert!(seen > all / 20, "{seen} of {all}");
        } else {
            end.code(0);
            assert_eq!(seen, all, "{recorder}");
        }
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        assert_eq!(record.number("SELECT count(*) FROM opens WHERE closed_us IS NULL"), 0);
    }
    place.nothing_left();
}

/// All are there at the same time, and each writes a file once all are.
const CROWD: &str = r#"
mkdir own; mkfifo ../gate; exec 3<> ../gate; rm ../gate
i=0
while [ $i -lt "$N" ]; do
    { read -r go <&3; echo $i > own/$i; } &
    i=$((i + 1))
done
yes '' | head -n "$N" >&3
wait
"#;

#[test]
fn thousands_of_processes_at_a_time_are_recorded() {
    let Some(place) = Place::with_root() else { return };
    let all = 1000 * larger();
    for recorder in recorders() {
        recorded(&place, recorder, &format!("N={all}{CROWD}")).code(0);
        let mut words: Vec<usize> = (0..all)
            .map(|i| place.read(&format!("own/{i}")).trim().parse().expect("a number"))
            .collect();
        words.dedup();
        assert_eq!(words, (0..all).collect::<Vec<_>>(), "{recorder}");
        let record = place.record();
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        let made = "FROM opens JOIN files USING (file) WHERE path GLOB 'own/*' AND write \
                    AND closed_us IS NOT NULL";
        for what in ["*", "DISTINCT file", "DISTINCT process"] {
            let seen = record.number(&format!("SELECT count({what}) {made}"));
            assert_eq!(seen, all as i64, "{recorder}: {what}");
        }
        empty(&place);
    }
    place.nothing_left();
}

/// Each makes two of itself and does not wait, as a fork bomb does, until this many generations are there.
const BOMB: &str = r#"
import os, sys
generations = int(sys.argv[1])
number = 1
while number >> generations == 0:
    number *= 2
    if os.fork() == 0:
        number += 1
with open("%d" % number, "w") as file:
    file.write("over")
"#;

#[test]
fn processes_that_begin_others_and_do_not_wait_are_recorded_to_the_last() {
    let Some(place) = Place::with_root() else { return };
    let generations = 8 + larger().ilog2();
    std::fs::write(place.all.join("bomb.py"), BOMB).expect("written");
    // `cat` ends when the last of them has closed its output.
    let script = format!("/usr/bin/python3 -I -S ../bomb.py {generations} | cat");
    for recorder in recorders() {
        recorded(&place, recorder, &script).code(0);
        let all = 1u32 << generations;
        for number in all..2 * all {
            assert_eq!(place.read(&number.to_string()), "over", "{recorder}");
        }
        let record = place.record();
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        let made = "SELECT count(DISTINCT process) FROM opens JOIN files USING (file) \
                    WHERE write AND path GLOB '[0-9]*'";
        assert_eq!(record.number(made), i64::from(all), "{recorder}");
        empty(&place);
    }
    place.nothing_left();
}
