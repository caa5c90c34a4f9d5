//! Slurm: what it starts, it starts elsewhere.

use super::finding::Finding;
use super::machine_facts::{MachineFacts, find_on_path};

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let present = !find_on_path(&["sbatch", "srun"]).is_empty();
    finding_for(present, std::env::var("SLURM_JOB_ID").ok().as_deref())
}

fn finding_for(present: bool, job: Option<&str>) -> Finding {
    match (present, job) {
        (_, Some(job)) => Finding::limited(format!(
            "inside job {job}: tasks on this node are seen, those started with srun or sbatch are \
             not"
        ))
        .fix_by_user(
            "let the engine start them: `snakemake --cores N`, `process.executor = 'local'`",
        ),
        (true, None) => Finding::limited("tasks that an engine submits run where Forebay is not")
            .fix_by_user("inside salloc or an sbatch script: forebay run -- snakemake --cores N"),
        (false, None) => Finding::ok("not here: tasks stay on this machine"),
    }
}

#[cfg(test)]
mod tests {
    //! Tasks that left through sbatch must not be taken for tasks without I/O.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn inside_and_outside_a_job() {
        assert_eq!(finding_for(false, None).standing, CheckStatus::Ok);
        assert!(finding_for(true, None).fixes[0].what.contains("forebay run"));
        assert!(finding_for(true, Some("4711")).means.contains("job 4711"));
    }
}
