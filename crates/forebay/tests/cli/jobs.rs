//! Jobs that a run sends to other nodes. If these fail, a job does not run because somebody wants to
//! look on, or what it did is in no record. Slurm's programs are shell scripts here; the real ones are
//! in `tests/real/cases/jobs-nextflow.sh`.

use forebay_model::Run;
use forebay_model::run::note_key;

use crate::place::{Place, done};

/// In the place of Slurm: runs the job at once, in a session of its own.
const SBATCH: &str = r#"#!/bin/bash
export SLURM_JOB_ID=$$ SLURMD_NODENAME=n1
environment=(env)
while :; do
    case $1 in
        --export=NONE)
            environment=(env -i PATH=/usr/bin:/bin "HOME=$ALL" "SLURM_JOB_ID=$$" SLURMD_NODENAME=n1)
            shift ;;
        --requeue) again=1; shift ;;
        --array=*) array=${1#--array=}; shift ;;
        --hold) hold=1; shift ;;
        -J) printf '%s' "$2" >> "$ALL/name"; shift 2 ;;
        *) break ;;
    esac
done
case $1 in
    --wrap=*) printf '#!/bin/sh\n%s\n' "${1#--wrap=}" > "$ALL/spool.$$"; shift ;;
    "") cat > "$ALL/spool.$$" ;;
    *) cat < "$1" > "$ALL/spool.$$"; basename "$1" >> "$ALL/scripts"; shift ;;
esac
start() {
    read -r interpreter < "$ALL/spool.$$"
    interpreter=${interpreter#??}
    "${environment[@]}" setsid --wait $interpreter "$ALL/spool.$$" "$@"
}
if [ -n "$hold" ]; then
    # Whoever waits beside the run starts it.
    mv "$ALL/spool.$$" "$ALL/later"
    exit
fi
if [ -n "$array" ]; then
    for ((task = 1; task <= array; task++)); do
        SLURM_ARRAY_JOB_ID=$$ SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=$$0$task start "$@" &
    done
    wait
    exit
fi
start "$@"
status=$?
[ -z "$again" ] || { export SLURM_RESTART_COUNT=1; start "$@"; }
exit $status
"#;
const SRUN: &str = r#"#!/bin/bash
export SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_PROCID=0 SLURMD_NODENAME=n2
[ "$1" = -n1 ] && shift
setsid --wait "$@"
"#;

fn with_slurm() -> Place {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.all.join("bin")).expect("made");
    for (name, script) in [("sbatch", SBATCH), ("srun", SRUN)] {
        let path = place.all.join("bin").join(name);
        let script = script.replace("$ALL", &place.all.to_string_lossy());
        std::fs::write(&path, script).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }
    std::fs::write(place.project.join("job.sh"), "#!/bin/bash\n#SBATCH -n 1\nseq $1 > job.$1\n")
        .expect("written");
    place
}

fn flow(place: &Place, script: &str) -> crate::place::Done {
    let jobs = place.all.join("jobs").to_string_lossy().into_owned();
    let mut run = place.script(&["--recorder", "notify", "--jobs", &jobs], script);
    let path = std::env::var("PATH").unwrap_or_default();
    done(run.env("PATH", format!("{}/bin:{path}", place.all.display())))
}

#[test]
fn jobs_of_all_kinds_are_recorded_where_they_run_and_joined() {
    let place = with_slurm();
    let script =
        "sbatch job.sh 3; sbatch --wrap='cut -c1 job.3 > wrapped; exit 7'; echo $? > status
                  printf '#!/bin/sh\\nsort job.3 > stdin\\n' | sbatch; srun -n1 cp job.3 step";
    let end = flow(&place, script);
    end.code(0).says("5 run files of");
    assert!(!end.stderr.contains("handed over"), "{}", end.stderr);
    assert_eq!((place.read("wrapped"), place.read("status")), ("1\n2\n3\n".into(), "7\n".into()));
    assert_eq!(
        (place.read("stdin"), place.read("step")),
        (place.read("job.3"), "1\n2\n3\n".into())
    );
    let run = Run::open(&place.run).expect("readable");
    let tasks = run.tasks().expect("tasks");
    for (name, node) in [("seq", "n1"), ("cut", "n1"), ("sort", "n1"), ("cp", "n2")] {
        let found: Vec<_> = tasks.iter().filter(|task| task.name == name).collect();
        let nodes: Vec<_> = found.iter().map(|task| task.node.as_deref()).collect();
        assert!(nodes.len() == 1, "{name}: {nodes:?}");
        // Here all is one machine, and the run itself may have seen it first.
        assert!(nodes[0].is_some(), "{name} on {node}");
    }
    assert!(!place.all.join("jobs").exists(), "records of jobs are left");
}

#[test]
fn a_job_that_is_cancelled_has_a_record() {
    let place = with_slurm();
    // A scheduler signals processes one by one: the recorder's signal comes after the command's end,
    // which is made sure of by holding the daemon. While that is held nothing here may open a file.
    let script = r#"cat > cancelled.sh <<'JOB'
#!/bin/bash
seq 5 > before
front=$PPID job=$$
read -r children < /proc/$front/task/$front/children
for child in $children; do
    read -r name < /proc/$child/comm
    [ $child = $job ] || [ $name = forebay-rescue ] || daemon=$child
done
mkfifo quiet; exec 3<> quiet 2> /dev/null
{ while kill -0 $job; do read -r -t 0.02 <&3; done; kill -TERM $front; kill -CONT $daemon; } &
kill -STOP $daemon; kill -KILL $job
JOB
sbatch cancelled.sh; echo $? > status"#;
    let end = flow(&place, script);
    end.code(0).says("2 run files of");
    assert!(!end.stderr.contains("left no record"), "{}", end.stderr);
    assert_eq!(place.read("status"), "137\n", "the job's own end");
    let run = Run::open(&place.run).expect("readable");
    assert!(run.tasks().expect("tasks").iter().any(|task| task.name == "seq"), "what it did");
}

#[test]
fn a_job_that_can_not_be_recorded_runs_as_it_is() {
    let place = with_slurm();
    // A record can't be begun, a line is not understood, a script is for no shell.
    let script = "rm $FOREBAY_JOBS/trees; sbatch job.sh 2; sbatch --wrap='exit 5'; echo $? > status
                  printf '#!/usr/bin/env python3\\n' > py; echo 'open(\"made\", \"w\")' >> py
                  sbatch py";
    flow(&place, script).code(0).says("handed over by sbatch (3)");
    assert_eq!((place.read("job.2"), place.read("status")), ("1\n2\n".into(), "5\n".into()));
    assert!(place.project.join("made").exists(), "the script in Python");
}

#[test]
fn scripts_are_read_once_wherever_they_come_from() {
    let place = with_slurm();
    // Of another program's output, by the names that engines and shells have for it.
    let script = r##"
        printf '#!/bin/sh\nseq 2 > stdin\n' | sbatch /dev/stdin
        bash -c 'sbatch <(printf "#!/bin/sh\nseq 2 > substituted\n")'
        printf '#!/usr/bin/env python3\nopen("python", "w").write("1\\n2\\n")\n' | sbatch
        printf '#!/usr/bin/env python3\nopen("named", "w").write("1\\n2\\n")\n' | sbatch /dev/stdin
        printf '#!/bin/sh\nscontrol show job | grep Command=\nseq 2 > asks\n' > asks.sh
        sbatch asks.sh 2> /dev/null"##;
    flow(&place, script).code(0).says("handed over by sbatch (3)").says("3 run files of");
    for made in ["stdin", "substituted", "python", "named", "asks"] {
        assert_eq!(place.read(made), "1\n2\n", "{made}");
    }
    let scripts = std::fs::read_to_string(place.all.join("scripts")).expect("written");
    let scripts: Vec<&str> = scripts.lines().collect();
    assert!(
        matches!(scripts[..], ["stdin", number, "stdin", "asks.sh"] if number.parse::<u32>().is_ok()),
        "Slurm names jobs by their scripts: {scripts:?}"
    );
}

#[test]
fn names_and_commands_of_any_bytes_come_as_they_were() {
    let place = with_slurm();
    let script = r#"
        name=$(printf 'a\377 "b";$(touch no)\nc')
        sbatch -J "$name" job.sh 2
        cp job.sh "it's \"a\" job"; sbatch "it's \"a\" job" 3
        sbatch --wrap="printf '%s' \"it's \\\$HOME\" > wrapped"
        srun -n1 sh -c 'printf %s "$1" > step' sh "a'b\"c \$d"
        sbatch -J "$(printf '%04096d' 7)" --wrap='seq 2 > four_kilobytes'
        # Longer than a word of a command line may be, with what Forebay adds.
        sbatch --wrap="$(printf 'seq 2 > long #%0131020d' 0)""#;
    flow(&place, script).code(0).says("6 run files of").says("handed over by sbatch (1)");
    let names = std::fs::read(place.all.join("name")).expect("written");
    let four_kilobytes = format!("{:04096}", 7);
    assert_eq!(names, [b"a\xff \"b\";$(touch no)\nc", four_kilobytes.as_bytes()].concat());
    let read = |name: &str| place.read(name);
    assert_eq!((read("job.2"), read("job.3")), ("1\n2\n".into(), "1\n2\n3\n".into()));
    assert_eq!((read("wrapped"), read("step")), ("it's $HOME".into(), "a'b\"c $d".into()));
    assert_eq!((read("long"), read("four_kilobytes")), ("1\n2\n".into(), "1\n2\n".into()));
    assert!(!place.project.join("no").exists());
}

#[test]
fn a_clean_environment_a_second_try_and_a_signal_are_as_without() {
    let place = with_slurm();
    let script = r#"
        sbatch --export=NONE --wrap='seq 2 > clean; env > variables'
        sbatch --requeue --wrap='echo "try ${SLURM_RESTART_COUNT-0}" >> tries'
        # Slurm gives a signal to the first process of a job: what has its number. It comes while the
        # shell makes no call that waits for the recorder, which the signal might end with EINTR.
        sbatch --wrap='trap "echo caught > caught; got=yes" USR1; kill -USR1 $PPID
                       while [ -z "$got" ]; do :; done'"#;
    flow(&place, script).code(0).says("5 run files of");
    let variables = place.read("variables");
    assert!(!variables.contains("FOREBAY_JOBS") && variables.contains("HOME="), "{variables}");
    assert_eq!(place.read("clean"), "1\n2\n");
    assert_eq!(place.read("tries"), "try 0\ntry 1\n");
    assert_eq!(place.read("caught"), "caught\n");
}

#[test]
fn each_task_of_an_array_has_a_record_and_all_are_one_job_that_was_sent() {
    let place = with_slurm();
    std::fs::write(
        place.project.join("array.sh"),
        "#!/bin/bash\nseq $SLURM_ARRAY_TASK_ID > part.$SLURM_ARRAY_TASK_ID\n",
    )
    .expect("written");
    let end = flow(&place, "sbatch --array=12 array.sh");
    end.code(0).says("13 run files of");
    assert!(!end.stderr.contains("handed over"), "{}", end.stderr);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM tasks WHERE name = 'seq'"), 12);
    let each = "SELECT sum(o.written_bytes) FROM opens o JOIN files f USING (file)
                WHERE f.path GLOB 'part.*'";
    // Two bytes for each number below 10, three for 10, 11 and 12.
    assert_eq!(record.number(each), 2 * (45 + 3 * 9) + 3 * (1 + 2 + 3));
}

#[test]
fn both_tries_of_a_job_that_is_sent_again_count_and_nothing_twice() {
    let place = with_slurm();
    let end = flow(&place, "sbatch --requeue --wrap='seq 3 > try.${SLURM_RESTART_COUNT-0}'");
    end.code(0).says("3 run files of");
    assert!(!end.stderr.contains("handed over"), "{}", end.stderr);
    let record = place.record();
    assert_eq!(record.number("SELECT count(*) FROM tasks WHERE name = 'seq'"), 2);
    for made in ["try.0", "try.1"] {
        let written = format!(
            "SELECT sum(o.written_bytes) FROM opens o JOIN files f USING (file) WHERE path = '{made}'"
        );
        assert_eq!(record.number(&written), 6, "{made}");
    }
}

#[test]
fn a_job_that_outlives_the_run_is_told_and_joined_by_the_line_that_is_told() {
    use std::os::unix::process::CommandExt;
    let place = with_slurm();
    let later = "printf '#!/bin/sh\\ntouch began\\nwhile [ ! -e ended ]; do sleep 0.1; done\\nseq 4 > late\\n' \
                 > late.sh; sbatch --hold late.sh; while [ ! -e began ]; do sleep 0.1; done";
    // It is no child of the run, as with Slurm.
    let (job, end) = std::thread::scope(|scope| {
        let job = scope.spawn(|| {
            place.wait_for("later");
            let mut job = place.program("sh");
            job.arg(place.all.join("later")).env("SLURM_JOB_ID", "7").process_group(0);
            job.spawn().expect("started")
        });
        let end = flow(&place, later);
        (job.join().expect("started"), end)
    });
    end.code(0).says("1 job has begun and left no record").says("forebay join");
    assert_eq!(place.record().number("SELECT count(*) FROM tasks WHERE name = 'seq'"), 0);
    std::fs::write(place.project.join("ended"), "").expect("written");
    crate::place::finish(job, std::time::Duration::from_secs(60)).code(0);
    // As it says: forebay join FOLDER/head.run FOLDER/records -o FILE.
    let (_, told) = end.stderr.split_once("forebay join ").expect("the line");
    let words: Vec<&str> = told.split_whitespace().take(2).collect();
    let whole = place.all.join("whole.run");
    done(place.forebay(&["join"]).args(words).arg("-o").arg(&whole)).code(0).says("2 run files of");
    let run = Run::open(&whole).expect("readable");
    assert!(run.is_complete().expect("read"));
    assert_eq!(run.tasks().expect("tasks").iter().filter(|task| task.name == "seq").count(), 1);
    assert_eq!(run.unseen_programs().expect("read"), [], "all jobs are in it");
}

#[test]
fn a_record_that_is_cut_is_left_out_and_the_rest_is_joined() {
    let place = with_slurm();
    let script = "sbatch job.sh 2; head -c 5000 $FOREBAY_JOBS/records/*.run > cut
                  mv cut $FOREBAY_JOBS/records/sbatch-1-1.9.0.run";
    flow(&place, script)
        .code(0)
        .says("2 run files of")
        .says("sbatch-1-1.9.0.run is left out")
        .says("records of jobs can't be read");
    assert!(!Run::open(&place.run).expect("readable").is_complete().expect("read"));
    assert!(place.all.join("jobs").exists(), "what was recorded is kept");
}

#[test]
fn a_job_without_a_record_is_counted_and_the_rest_is_joined() {
    let place = with_slurm();
    let script = "sbatch job.sh 2; touch $FOREBAY_JOBS/began/sbatch-1-1.9.0";
    flow(&place, script).code(0).says("1 job has begun and left no record").says("forebay join");
    let run = Run::open(&place.run).expect("readable");
    assert_eq!(run.header().expect("header").note(&note_key::JOBS_NOT_RECORDED), Some(1));
    assert!(!run.is_complete().expect("read"));
    assert!(place.all.join("jobs").exists(), "what was recorded is kept");
}
