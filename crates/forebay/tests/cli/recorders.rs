//! The contract of recorders: the same programs under the mount and under the kernel's programs leave
//! the same opens and operations in the record, but for what `docs/semantics/exceptions.md` lists.
//! If these fail, what a record says depends on who wrote it, or a run without a mount is not bare.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;

use forebay_volume::kernel_events;

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{PATIENCE, Place, Record, USER, done, finish, skip, wait_until};
use crate::processes;

/// One program each; its name is the directory in which it works. `py` is Python without any file of
/// its own in the directory.
const PROGRAMS: [(&str, &str); 31] = [
    ("create", "head -c 300 /dev/zero > new; true"),
    ("append", "echo one > f; echo two >> f"),
    ("overwrite", "head -c 5000 /dev/zero > f; echo short > f"),
    ("large", "head -c 3000000 /dev/zero > f"),
    ("read", "head -c 70000 /dev/zero > f; cat f > /dev/null"),
    (
        "random",
        "py 'import os\nf=os.open(\"f\",os.O_RDWR|os.O_CREAT,0o644)\nos.ftruncate(f,1<<20)\n\
        for i in (9,3,200,77): os.pwrite(f,b\"x\"*512,i<<12)'",
    ),
    ("rename", "echo x > a; mv a b; mkdir d; mv b d/c; mv d e; cat e/c"),
    ("replace", "echo x > a; echo y > b; py 'import os; os.replace(\"a\",\"b\")'"),
    ("unlink", "echo x > a; rm a"),
    ("mkdir", "mkdir -p a; mkdir a/b; rmdir a/b"),
    ("readdir", "mkdir d; touch d/1 d/2; py 'import os; print(os.listdir(\"d\"))'"),
    ("absent", "py 'import os\nfor n in \"abc\":\n  try: os.stat(n)\n  except OSError: pass'"),
    ("hardlink", "echo x > a; ln a b; cat b; rm a; rm b"),
    ("symlink", "ln -s target link; py 'import os; os.readlink(\"link\")'"),
    ("through-link", "mkdir d; ln -s d link; echo x > link/f; rm link/f"),
    ("dots", "mkdir -p d/e; cd d/e; echo x > ../f; mv ../f ../../g"),
    ("absolute", "echo x > \"$PWD/f\"; cat \"$PWD/f\"; rm \"$PWD/f\""),
    ("truncate", "echo long > f; py 'import os; os.truncate(\"f\",2)'"),
    (
        "fsync",
        "py 'import os\nf=os.open(\"f\",os.O_WRONLY|os.O_CREAT)\nos.write(f,b\"x\")\n\
        os.fsync(f); os.fdatasync(f)'",
    ),
    ("attributes", "touch f; chmod 600 f; touch -d @1 f"),
    (
        "xattr",
        "touch f; py 'import os\nos.setxattr(\"f\",\"user.a\",b\"1\")\nos.getxattr(\"f\",\"user.a\")'",
    ),
    (
        "fallocate",
        "py 'import os\nf=os.open(\"f\",os.O_WRONLY|os.O_CREAT)\nos.posix_fallocate(f,0,8192)'",
    ),
    (
        "mapped",
        "head -c 8192 /dev/zero > f; py 'import mmap,os\nf=os.open(\"f\",os.O_RDWR)\n\
        m=mmap.mmap(f,8192); m[0]=1; m.flush(); m.close()'",
    ),
    (
        "copy",
        "head -c 9000 /dev/zero > a; py 'import os\na=os.open(\"a\",0)\n\
        b=os.open(\"b\",os.O_WRONLY|os.O_CREAT)\nos.copy_file_range(a,b,9000)'",
    ),
    (
        "openat2",
        "echo x > f; py 'import ctypes,os\nl=ctypes.CDLL(None,use_errno=True)\n\
        h=(ctypes.c_uint64*3)(0,0,0)\nf=l.syscall(437,-100,b\"f\",h,24)\nprint(os.read(f,9))'",
    ),
    (
        "own-descriptor",
        "py 'import os\nf=os.open(\"f\",os.O_RDWR|os.O_CREAT)\n\
        g=os.open(\"/proc/self/fd/%d\"%f,os.O_WRONLY)\nos.write(g,b\"abc\")'",
    ),
    (
        "below-descriptor",
        "mkdir d; py 'import os\nd=os.open(\"d\",os.O_RDONLY)\n\
        f=os.open(\"f\",os.O_WRONLY|os.O_CREAT,dir_fd=d)\nos.write(f,b\"x\")\nos.close(f)\n\
        os.rename(\"f\",\"g\",src_dir_fd=d,dst_dir_fd=d)\nos.unlink(\"g\",dir_fd=d)'",
    ),
    (
        "inherited",
        "py 'import os\nf=os.open(\"f\",os.O_WRONLY|os.O_CREAT)\nos.set_inheritable(f,True)\n\
        p=os.fork()\nif p==0:\n  os.write(f,b\"child\")\n  os._exit(0)\nos.waitpid(p,0)\n\
        os.write(f,b\"parent\")'",
    ),
    (
        "threads",
        "py 'import os,threading as t\ndef w(n):\n  f=os.open(n,os.O_WRONLY|os.O_CREAT)\n\
        \x20 os.write(f,b\"x\"*100)\n  os.close(f)\n\
        a=[t.Thread(target=w,args=(n,)) for n in \"abcd\"]\n[x.start() for x in a]\n[x.join() for x in a]'",
    ),
    (
        "duplicate",
        "py 'import os\nf=os.open(\"f\",os.O_WRONLY|os.O_CREAT)\ng=os.dup(f)\n\
        os.close(f)\nos.write(g,b\"x\")\nos.close(g)'",
    ),
    ("killed", "sh -c 'exec > f; echo x; kill -9 $$' || true"),
];

/// Kinds of operation that both must count alike. The others depend on what the kernel keeps in mind
/// (names, attributes, pages) and so does not ask a mount for.
const COUNTED: &str = "'create', 'open', 'close', 'unlink', 'rename', 'mkdir', 'rmdir', 'link', \
    'symlink', 'truncate', 'fsync', 'opendir', 'copy_range', 'fallocate'";

/// `None`, loudly, where the kernel does not let itself be looked at.
fn place_for_both() -> Option<Place> {
    let place = Place::with_root()?;
    match kernel_events::probe() {
        Ok(()) => Some(place),
        Err(why) => skip(&format!("the kernel can't record here: {why}")),
    }
}

/// The state file of the run that is under way.
pub(crate) fn state_file(place: &Place) -> Option<PathBuf> {
    let files = std::fs::read_dir(place.state.join("forebay")).into_iter().flatten().flatten();
    files.map(|file| file.path()).find(|path| path.extension().is_some_and(|ext| ext == "run"))
}

fn number_in_state(place: &Place, sql: &str) -> Option<i64> {
    let open = rusqlite::Connection::open(state_file(place)?).ok()?;
    open.query_row(sql, [], |row| row.get(0)).ok()
}

pub(crate) fn all_programs() -> String {
    let mut script = String::from("py() { /usr/bin/python3 -I -S -c \"$1\" > /dev/null; }\n");
    for (name, program) in PROGRAMS {
        script.push_str(&format!("mkdir {name}; (cd {name}; {program})\n"));
    }
    script
}

/// What the record says, as lines: opens of each file, and operations of each directory.
pub(crate) fn lines(record: &Record) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    let mut add = |sql: String| {
        let mut asked = record.0.prepare(&sql).expect("SQL");
        let rows = asked.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
        all.extend(rows.expect("rows").map(|row| row.expect("a row")));
    };
    // By program, for a file that was renamed has its last name.
    let task = "coalesce((SELECT name FROM tasks WHERE task = processes.task), '-')";
    add(format!(
        "SELECT 'open ' || path || ' by ' || {task} || ' write=' || write || ' created=' || created \
         || ' size=' || coalesce(size_at_close, '?'), count(*) FROM opens JOIN files USING (file) \
         JOIN processes USING (process) WHERE write GROUP BY 1"
    ));
    add(format!(
        "SELECT 'read ' || path || ' by ' || {task}, count(*) FROM opens JOIN files USING (file) \
         JOIN processes USING (process) WHERE NOT write GROUP BY 1"
    ));
    add("SELECT 'written ' || path, sum(written_bytes) FROM opens JOIN files USING (file) \
         WHERE written_bytes > 0 AND path NOT LIKE 'mapped/%' GROUP BY 1"
        .to_owned());
    // By directory alone: a mount counts some requests after their answer, when a file may have
    // another name already.
    add(format!(
        "SELECT op || ' in ' || substr(pattern, 1, instr(pattern || '/', '/')) || ' by ' || \
         coalesce((SELECT name FROM tasks WHERE task = ops.task), '-'), sum(count) FROM \
         (SELECT op, task, class, count FROM ops WHERE op IN ({COUNTED})) AS ops \
         JOIN classes USING (class) \
         WHERE NOT (op = 'fsync' AND pattern LIKE 'mapped/%') GROUP BY 1"
    ));
    all
}

#[test]
fn both_recorders_tell_the_same() {
    let Some(mut place) = place_for_both() else { return };
    let mut told = Vec::new();
    for recorder in ["fuse", "bpf"] {
        place.project = place.all.join("project");
        std::fs::remove_dir_all(&place.project).expect("removed");
        std::fs::create_dir(&place.project).expect("made");
        let options = ["-q", "--recorder", recorder, "--trace", "every-read", "--force"];
        done(&mut place.script(&options, &all_programs())).code(0);
        let record = place.record();
        assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
        told.push(lines(&record));
        place.nothing_left();
    }
    let differences: Vec<String> = told[0]
        .keys()
        .chain(told[1].keys())
        .filter(|key| told[0].get(*key) != told[1].get(*key))
        .map(|key| format!("{key}: fuse {:?}, bpf {:?}", told[0].get(key), told[1].get(key)))
        .collect();
    assert!(told[1].len() > 150, "too little: {:#?}", told[1]);
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn each_read_and_write_is_seen_without_a_mount() {
    let Some(place) = place_for_both() else { return };
    let script =
        "head -c 300000 /dev/zero > a; cat a a > /dev/null; grep \" $PWD \" /proc/mounts || true";
    let end = done(&mut place.script(&["-q", "--recorder", "bpf"], script));
    assert_eq!(end.code(0).text(), "", "something is mounted");
    let record = place.record();
    assert_eq!(record.number("SELECT sum(written_bytes) FROM opens"), 300_000);
    assert_eq!(record.number("SELECT sum(read_bytes) FROM opens"), 600_000);
    assert_eq!(record.number("SELECT count(*) FROM opens WHERE hidden"), 0);
    assert_eq!(record.number("SELECT value = 'bpf' FROM header WHERE key = 'more.recorder'"), 1);
    assert_eq!(
        record.number("SELECT sum(bytes) FROM ops WHERE op = 'read' AND pattern = 'sequential'"),
        600_000
    );
    place.nothing_left();
}

/// What sees each read takes the page cache from no program where the kernel tells it.
#[test]
fn each_read_is_told_by_the_kernel_where_nothing_needs_a_mount() {
    let Some(place) = place_for_both() else { return };
    let script = "head -c 300000 /dev/zero > a; cat a > /dev/null";
    let options = ["--force", "--trace", "every-read"];
    let recorder_is = |name: &str| {
        let record = place.record();
        let of = format!("SELECT value = '{name}' FROM header WHERE key = 'more.recorder'");
        assert_eq!(record.number(&of), 1, "{name}");
        assert_eq!(record.number("SELECT sum(read_bytes) FROM opens WHERE NOT hidden"), 300_000);
        assert_eq!(record.number("SELECT sum(time_us) > 0 FROM ops WHERE op = 'read'"), 1);
    };
    let end = done(&mut place.script(&options, script));
    end.code(0).says("recorder: bpf; the directory stays bare");
    recorder_is("bpf");
    for (more, recorder) in [(&["--recorder", "fuse"][..], "fuse"), (&[], "bpf")] {
        let quiet = [&options[..], &["-q"], more].concat();
        assert_eq!(done(&mut place.script(&quiet, script)).code(0).stderr, "");
        recorder_is(recorder);
    }
    // Notifications tell no times, which is what each read is asked for.
    let hide = "mount -t tmpfs none /sys/kernel/btf";
    let end = done(&mut place.apart(hide, &place.script(&options, script)));
    end.code(0).says("recorder: fuse (not bpf: ");
    recorder_is("fuse");
    place.nothing_left();
}

/// A plan takes what is counted for questions to the storage.
#[test]
fn attributes_are_counted_as_a_client_asks_for_them() {
    let Some(place) = place_for_both() else { return };
    let script = "echo x > polled; /usr/bin/python3 -I -S -c '
import os
f = os.open(\"polled\", os.O_RDONLY)
for i in range(3000): os.stat(\"polled\"); os.access(\"polled\", 0); os.fstat(f)
for i in range(300): os.stat(\"made%d\" % i)'";
    for number in 0..300 {
        std::fs::write(place.project.join(format!("made{number}")), "x").expect("written");
    }
    let mut recorders = vec!["bpf"];
    recorders.extend(forebay_volume::notifications::probe().is_ok().then_some("notify"));
    for recorder in recorders {
        let options = ["-q", "--force", "--trace", "every-read", "--recorder", recorder];
        done(&mut place.script(&options, script)).code(0);
        let record = place.record();
        let asked = |class: &str| {
            let of = "SELECT coalesce(sum(count), 0) FROM ops JOIN classes USING (class)";
            record.number(&format!("{of} WHERE op = 'getattr' AND classes.pattern = '{class}'"))
        };
        // Some more on a machine on which 9,000 calls take seconds.
        assert!(asked("polled") < 100, "{recorder}: {} of one file", asked("polled"));
        assert!(asked("made#") == 300, "{recorder}: {} of 300 others", asked("made#"));
    }
    place.nothing_left();
}

#[test]
fn only_the_commands_own_tree_is_recorded() {
    let Some(place) = place_for_both() else { return };
    let script = "touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done; echo mine > mine";
    let child = place.script(&["-q", "--recorder", "bpf"], script).stdout(Stdio::null()).spawn();
    place.wait_for("begun");
    std::fs::write(place.project.join("foreign"), "x").expect("written");
    std::fs::write(place.all.join("go"), "").expect("written");
    finish(child.expect("started"), PATIENCE).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'mine'"), 1);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path != 'mine'"), 0);
    place.nothing_left();
}

#[test]
fn bind_mounts_and_other_roots_lead_to_the_same_files() {
    let Some(place) = place_for_both() else { return };
    // The namespace is known once the shell in it is in the record.
    let script = "unshare -m sh -c 'mkdir ../bound; mount --bind . ../bound; touch ../begun; \
        while [ ! -e ../go ]; do sleep 0.05; done; cd /; \
        echo x > $0/bound/f; mv $0/bound/f $0/bound/g; mount --bind $0/bound /mnt; rm /mnt/g'; \
        cd ..; echo y > project/k; mv project/k project/l";
    let script = script.replace("$0", place.all.to_str().expect("a plain name"));
    let child = place.script(&["-q", "--recorder", "bpf"], &script).stdout(Stdio::null()).spawn();
    place.wait_for("begun");
    wait_until("the shell is in the state file", || {
        let sql = "SELECT count(*) FROM processes WHERE argv LIKE '[\"sh\",\"-c\",\"mkdir%'";
        number_in_state(&place, sql) == Some(1)
    });
    std::fs::write(place.all.join("go"), "").expect("written");
    finish(child.expect("started"), PATIENCE).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'g' AND gone_us > 0"), 1);
    assert_eq!(record.number("SELECT sum(count) FROM ops WHERE op IN ('rename', 'unlink')"), 3);
    assert_eq!(record.number("SELECT count(*) FROM files WHERE path = 'l'"), 1);
    place.nothing_left();
}

#[test]
fn a_killed_recorder_harms_no_program_and_leaves_its_record() {
    let Some(place) = place_for_both() else { return };
    let script = "echo before > a; touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done; \
        echo after > b";
    let child = place.script(&["-q", "--recorder", "bpf"], script).stderr(Stdio::piped()).spawn();
    let child = child.expect("started");
    place.wait_for("begun");
    let daemon = processes::daemon(&place.state);
    wait_until("what was done is in the state file", || {
        number_in_state(&place, "SELECT count(*) FROM files WHERE path = 'a'") == Some(1)
    });
    processes::kill(daemon);
    std::fs::write(place.all.join("go"), "").expect("written");
    let end = finish(child, PATIENCE);
    end.code(0).says("the command went on");
    assert_eq!(place.read("b"), "after\n", "no program was harmed");
    place.nobody_left();
    let run = state_file(&place).expect("the record");
    let saved = place.all.join("saved.run");
    let words = ["doctor", "--salvage", run.to_str().expect("plain"), "-o"];
    done(place.forebay(&words).arg(&saved)).code(0);
}

#[test]
fn lost_events_are_counted_and_said() {
    let Some(place) = place_for_both() else { return };
    let storm = "import os\nfor i in range(250000): os.access('absent%d' % i, 0)";
    let script = format!(
        "touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done; \
         /usr/bin/python3 -I -S -c \"{storm}\"; touch ../over; \
         while [ ! -e ../on ]; do sleep 0.05; done"
    );
    let mut command = place.script(&["--recorder", "bpf"], &script);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    place.wait_for("begun");
    let daemon = Pid::from_raw(processes::daemon(&place.state)).expect("a pid");
    kill_process(daemon, Signal::STOP).expect("it was there");
    std::fs::write(place.all.join("go"), "").expect("written");
    place.wait_for("over");
    kill_process(daemon, Signal::CONT).expect("it was there");
    std::fs::write(place.all.join("on"), "").expect("written");
    let end = finish(child, PATIENCE);
    end.code(0).says("were lost while it was recorded: read every count and sum as ≥");
    let record = place.record();
    let lost =
        record.number("SELECT CAST(value AS INTEGER) FROM header WHERE key = 'more.lost_events'");
    let failed = "SELECT sum(count) FROM ops WHERE op = 'lookup_failed'";
    let seen = record.number(failed);
    assert!(lost > 10_000 && seen > 10_000, "{lost} lost, {seen} seen");
    assert!(lost + seen >= 250_000, "{lost} lost, {seen} seen");
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 0);
    place.nothing_left();
}

#[test]
fn a_killed_command_and_many_forks_end_the_run() {
    let Some(place) = place_for_both() else { return };
    let options = ["-q", "--recorder", "bpf", "--force"];
    let end = done(&mut place.script(&options, "echo x > a; kill -9 $$"));
    assert_eq!(end.status.signal(), Some(9));
    assert_eq!(place.record().number("SELECT count(*) FROM opens WHERE closed_us IS NULL"), 0);
    let forks = "f() { [ $1 = 0 ] || { f $(($1 - 1)) & f $(($1 - 1)) & wait; }; }; f 8; echo x > b";
    done(&mut place.script(&options, forks)).code(0);
    let record = place.record();
    assert_eq!(record.number("SELECT value FROM header WHERE key = 'complete'"), 1);
    assert!(record.number("SELECT count(*) FROM processes") > 500);
    done(&mut place.script(&options, "(sleep 1; echo late > late) & echo x > c")).code(0);
    wait_until("the run file is whole", || {
        place.record().number("SELECT count(*) FROM files WHERE path = 'late'") == 1
    });
    place.nothing_left();
}

#[test]
fn who_may_not_or_needs_a_mount_is_told() {
    let Some(place) = place_for_both() else { return };
    let binary = place.give_to_user();
    let words = ["run", "--recorder", "bpf", "true"];
    let mut user = place.program("setpriv");
    let identity = USER.to_string();
    user.args(["--reuid", &identity, "--regid", &identity, "--clear-groups"]).arg(&binary);
    let end = done(user.args(words));
    end.code(125).says("it takes root, or CAP_BPF and CAP_PERFMON");
    std::fs::write(place.all.join("rules.toml"), "version = 1\n").expect("written");
    let auto = done(&mut place.script(&["-q", "--recorder", "auto"], "true"));
    auto.code(0).says("recorder: bpf; the directory stays bare");
    place.nothing_left();
}

#[test]
fn a_kernel_that_does_not_describe_itself_is_named() {
    let Some(place) = place_for_both() else { return };
    let hide = "mount -t tmpfs none /sys/kernel/btf";
    let asked = place.script(&["-q", "--recorder", "bpf"], "echo never");
    let end = done(&mut place.apart(hide, &asked));
    end.code(125).says("does not describe itself");
    assert!(!end.text().contains("never"));
    let auto = place.script(&["-q", "--recorder", "auto"], "echo x > f; cat f");
    assert_eq!(done(&mut place.apart(hide, &auto)).code(0).text(), "x\n");
    place.nothing_left();
}
