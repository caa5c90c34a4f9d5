//! Jobs that a run sends to other nodes. If these fail, a job does not run because somebody wants to
//! look on, or what it did is in no record. Slurm's programs are shell scripts here; the real ones are
//! in `tests/real/cases/jobs-nextflow.sh`.

use forebay_model::Run;
use forebay_model::run::note_key;

use crate::place::{Place, done};

/// In the place of Slurm: runs the job at once, in a session of its own.
const SBATCH: &str = r#"#!/bin/bash
export SLURM_JOB_ID=$$ SLURMD_NODENAME=n1
case $1 in
    --wrap=*) printf '#!/bin/sh\n%s\n' "${1#--wrap=}" > "$ALL/spool.$$" ;;
    "") cat > "$ALL/spool.$$" ;;
    *) cp "$1" "$ALL/spool.$$"; shift ;;
esac
setsid --wait bash "$ALL/spool.$$" "$@"
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
fn a_job_that_can_not_be_recorded_runs_as_it_is() {
    let place = with_slurm();
    // A record can't be begun, a line is not understood, a script is for no shell.
    let script = "rm $FOREBAY_JOBS/trees; sbatch job.sh 2; sbatch --wrap='exit 5'; echo $? > status
                  printf '#!/usr/bin/env python3\\n' > py; echo 'open(\"made\", \"w\")' >> py
                  sbatch py 2> /dev/null; true";
    flow(&place, script).code(0).says("handed over by sbatch (3)");
    assert_eq!((place.read("job.2"), place.read("status")), ("1\n2\n".into(), "5\n".into()));
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
