//! Tasks on other machines never miss a file. If these fail, a pipeline that sends its tasks away
//! ends in the middle with files that are not found, or is refused for nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::place::done;
use crate::tiers::Tiered;

const SHARED: &str = "[[rule]]\nmatch = \"work/**\"\nhome = \"far\"\nlayout = \"packed\"\n";
const NODE: &str = "[[rule]]\nmatch = \"work/**\"\nhome = \"far\"\n";

struct Away {
    tiered: Tiered,
    /// Programs that stand for engines and batch systems.
    programs: PathBuf,
}

impl Away {
    fn with_fuse(reach: &str) -> Option<Away> {
        let tiered = Tiered::with_fuse()?;
        let far = tiered.far.path().display();
        let site = format!("[tier.far]\npath = \"{far}\"\nreach = \"{reach}\"\n");
        std::fs::write(tiered.place.all.join("site.toml"), site).expect("written");
        let programs = tiered.place.all.join("bin");
        std::fs::create_dir(&programs).expect("made");
        Some(Away { tiered, programs })
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.programs.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }

    fn run(&self, rules: &str, command: &[&str], variables: &[(&str, &str)]) -> crate::place::Done {
        self.tiered.rules(rules);
        let options = ["run", "-q", "--site", "../site.toml", "--rules", "../rules.toml", "-o"];
        let mut run = self.tiered.place.forebay(&options);
        run.arg(&self.tiered.place.run).arg("--").args(command);
        let path = std::env::var("PATH").unwrap_or_default();
        run.env("PATH", format!("{}:{path}", self.programs.display()));
        run.env("HOME", &self.tiered.place.all).envs(variables.iter().copied());
        for name in ["NXF_EXECUTOR", "NXF_HOME", "SNAKEMAKE_PROFILE", "XDG_CONFIG_HOME"] {
            if !variables.iter().any(|(known, _)| *known == name) {
                run.env_remove(name);
            }
        }
        done(&mut run)
    }
}

#[test]
fn nextflow_is_asked_for_its_configuration() {
    let Some(away) = Away::with_fuse("node") else { return };
    // It knows of profiles; nobody else does.
    away.program(
        "nextflow",
        "case \"$*\" in
            *config\\ -flat\\ -profile\\ cluster\\ main.nf) echo \"process.executor = 'slurm'\" ;;
            *config*) echo \"process.executor = 'local'\" ;;
            *) mkdir -p work; echo x > work/x ;;
        esac",
    );
    let run =
        |words: &[&str]| away.run(NODE, &[&["nextflow", "run", "main.nf"], words].concat(), &[]);
    run(&["-profile", "cluster"]).code(125).says("nextflow with executor slurm");
    run(&["-profile", "laptop"]).code(0);
    // A file that is not included says nothing.
    let config = away.tiered.place.project.join("nextflow.config");
    std::fs::write(config, "profiles { cluster { process.executor = 'slurm' } }\n")
        .expect("written");
    run(&["-profile", "laptop"]).code(0);
    away.tiered.place.nothing_left();
}

#[test]
fn what_says_where_tasks_go_is_found_wherever_engines_look() {
    let Some(away) = Away::with_fuse("node") else { return };
    let write = |name: &str, text: &str| {
        let path = away.tiered.place.all.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    // An engine that can't tell: its files are read.
    away.program("nextflow", "case \"$*\" in *config*) exit 1 ;; esac");
    away.program("snakemake", "true");
    let nextflow = ["nextflow", "run", "main.nf"];
    away.run(NODE, &nextflow, &[]).code(0);
    away.run(NODE, &nextflow, &[("NXF_EXECUTOR", "slurm")]).code(125).says("executor slurm");
    write("home/config", "process.executor = 'pbs'\n");
    away.run(NODE, &nextflow, &[("NXF_HOME", "../home")]).code(125).says("executor pbs");
    write("project/nextflow.config", "includeConfig 'conf/site.config'\n");
    write("project/conf/site.config", "process {\n  executor = 'sge'\n}\n");
    away.run(NODE, &nextflow, &[]).code(125).says("executor sge");
    let snakemake = ["snakemake", "--cores", "2"];
    away.run(NODE, &snakemake, &[]).code(0);
    write(".config/snakemake/site/config.v8+.yaml", "executor: slurm\n");
    away.run(NODE, &snakemake, &[("SNAKEMAKE_PROFILE", "site")]).code(125).says("executor slurm");
    away.run(NODE, &["snakemake", "--profile", "site"], &[]).code(125).says("executor slurm");
    away.tiered.place.nothing_left();
}

#[test]
fn packed_rules_lose_what_other_machines_would_not_see() {
    let Some(away) = Away::with_fuse("shared") else { return };
    away.program("snakemake", "mkdir -p work; echo x > work/x; echo y > work/y");
    let told = away.run(SHARED, &["snakemake", "--executor", "slurm"], &[]);
    told.code(0).says("do not see names of packed files");
    // Each file has a body of its own: none is in the log of packed ones.
    let record = away.tiered.place.record();
    let placed =
        "SELECT count(*) FROM files JOIN trees ON files.home = trees.tree WHERE tier = 'far'";
    assert_eq!(record.number(placed), 2);
    let here = away.run(SHARED, &["snakemake", "--cores", "2"], &[]);
    here.code(0);
    assert!(!here.stderr.contains("packed"), "{}", here.stderr);
    away.tiered.place.nothing_left();
}

#[test]
fn a_program_that_sends_tasks_away_is_told_of_when_it_starts() {
    let Some(away) = Away::with_fuse("node") else { return };
    away.program("sbatch", "cat \"$1\" > /dev/null; exec sleep 0");
    let script = "echo 'echo job' > job.sh; sbatch job.sh; sbatch job.sh";
    let told = away.run(NODE, &["sh", "-c", script], &[]);
    told.code(0).says("sbatch was started");
    assert_eq!(told.stderr.matches("was started").count(), 1, "{}", told.stderr);
    // Where all machines see all files there is nothing to say.
    let Some(away) = Away::with_fuse("shared") else { return };
    away.program("sbatch", "cat \"$1\" > /dev/null");
    let told = away.run(NODE, &["sh", "-c", script], &[]);
    assert!(!told.code(0).stderr.contains("was started"), "{}", told.stderr);
}
