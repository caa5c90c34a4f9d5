//! Slurm: what it starts, it starts elsewhere.

use super::finding::Finding;
use super::here::{Here, on_path};

pub(super) fn look(_: &Here) -> Finding {
    let present = !on_path(&["sbatch", "srun"]).is_empty();
    judge(present, std::env::var("SLURM_JOB_ID").ok().as_deref())
}

fn judge(present: bool, job: Option<&str>) -> Finding {
    match (present, job) {
        (_, Some(job)) => Finding::limited(format!(
            "inside job {job}: tasks on this node are seen, those started with srun or sbatch are \
             not"
        ))
        .you("let the engine start them: `snakemake --cores N`, `process.executor = 'local'`"),
        (true, None) => Finding::limited("tasks that an engine submits run where Forebay is not")
            .you("inside salloc or an sbatch script: forebay run -- snakemake --cores N"),
        (false, None) => Finding::ok("not here: tasks stay on this machine"),
    }
}

#[cfg(test)]
mod tests {
    //! Tasks that left through sbatch must not be taken for tasks without I/O.
    use super::super::finding::Standing;
    use super::*;

    #[test]
    fn inside_and_outside_a_job() {
        assert_eq!(judge(false, None).standing, Standing::Ok);
        assert!(judge(true, None).fixes[0].what.contains("forebay run"));
        assert!(judge(true, Some("4711")).means.contains("job 4711"));
    }
}
