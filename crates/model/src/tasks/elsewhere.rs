//! Whether a command is about to hand its tasks to other machines: then files on a tier that only
//! this node can read must not be made. Told from the command line and the engine's configuration
//! before anything runs; what a script does later is told afterwards (`not_seen`).

use super::not_seen::handing_over;
use super::program::base_name;

/// Words after which the executor's name follows, by engine.
const OPTIONS: &[(&str, &[&str])] = &[
    ("snakemake", &["--executor", "-e"]),
    ("nextflow", &["-process.executor", "--process.executor"]),
];

/// Options that always mean another machine.
const ALWAYS: &[(&str, &[&str])] = &[
    (
        "snakemake",
        &[
            "--cluster",
            "--cluster-generic-submit-cmd",
            "--slurm",
            "--kubernetes",
            "--drmaa",
            "--tibanna",
            "--google-lifesciences",
            "--tes",
        ],
    ),
    ("Trinity", &["--grid_exec"]),
];

/// Executors that run tasks on this machine.
const LOCAL: &[&str] = &["local", "dryrun", "touch"];

/// What of a command, or of its engine's configuration (`config`, the text of nextflow.config or
/// of a Snakemake profile; empty if there is none), sends tasks to other machines.
pub fn elsewhere(command: &[Vec<u8>], config: &str) -> Option<String> {
    let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
    let first = base_name(words.first()?);
    if let Some(program) = handing_over(first, &words[1..]) {
        return Some(program.to_owned());
    }
    let at = words.iter().position(|word| engine(word).is_some())?;
    let engine = engine(words[at])?;
    let rest: Vec<String> =
        words[at + 1..].iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let of = |table: &[(&str, &'static [&'static str])]| {
        table.iter().find(|(name, _)| *name == engine).map_or(&[][..], |(_, words)| *words)
    };
    for (word, next) in rest.iter().zip(rest.iter().skip(1).map(Some).chain([None])) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), next.map(String::as_str)),
        };
        if of(ALWAYS).contains(&name) {
            return Some(format!("{engine} {name}"));
        }
        if of(OPTIONS).contains(&name)
            && let Some(value) = value.filter(|value| !LOCAL.contains(value))
        {
            return Some(format!("{engine} {name} {value}"));
        }
    }
    let told = rest.iter().any(|word| of(OPTIONS).contains(&word.as_str()));
    let value = configured(config).filter(|value| !told && !LOCAL.contains(&value.as_str()))?;
    Some(format!("{engine} with executor {value} in its configuration"))
}

/// The engine that a word starts.
fn engine(word: &[u8]) -> Option<&'static str> {
    let name = base_name(word);
    ["snakemake", "nextflow", "Trinity"].into_iter().find(|engine| engine.as_bytes() == name)
}

/// The executor that a configuration names: `executor = 'slurm'`, `process.executor = "slurm"`
/// (Nextflow), `executor: slurm` (a Snakemake profile).
fn configured(config: &str) -> Option<String> {
    config.lines().find_map(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix("process.").unwrap_or(line);
        let rest = rest.strip_prefix("process {").map_or(rest, str::trim_start);
        let rest = rest.strip_prefix("executor")?.trim_start().strip_prefix(['=', ':'])?;
        let value: String = rest
            .trim_start()
            .trim_start_matches(['"', '\''])
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .collect();
        (!value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    //! If these fail, tasks on other nodes look for files that are not there.
    use super::*;

    fn asked(line: &str, config: &str) -> Option<String> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        elsewhere(&words, config)
    }

    #[test]
    fn engines_that_send_tasks_away_are_found() {
        for (line, config, told) in [
            ("snakemake --executor slurm -j 9", "", Some("snakemake --executor slurm")),
            ("snakemake --executor=slurm", "", Some("snakemake --executor slurm")),
            ("snakemake -e local --cores 2", "", None),
            ("snakemake --cores 2", "", None),
            ("snakemake --cluster qsub", "", Some("snakemake --cluster")),
            ("env A=1 /opt/bin/snakemake -e slurm", "", Some("snakemake -e slurm")),
            (
                "snakemake -j 9",
                "jobs: 9\nexecutor: slurm\n",
                Some("snakemake with executor slurm in its configuration"),
            ),
            (
                "nextflow run main.nf",
                "process.executor = 'slurm'\n",
                Some("nextflow with executor slurm in its configuration"),
            ),
            (
                "nextflow run main.nf",
                "process {\n    executor = \"awsbatch\"\n}\n",
                Some("nextflow with executor awsbatch in its configuration"),
            ),
            ("nextflow run main.nf", "process { executor = 'local' }\n", None),
            ("nextflow run x -process.executor local", "process.executor = 'slurm'", None),
            ("nextflow run x -process.executor sge", "", Some("nextflow -process.executor sge")),
            ("nextflow run x", "// executor = 'slurm' one day\nexecutor.queueSize = 3\n", None),
            ("Trinity --grid_exec hpc --seqType fq", "", Some("Trinity --grid_exec")),
            ("sbatch job.sh", "", Some("sbatch")),
            ("ssh-keygen -l", "", None),
            ("make -j 4", "executor = 'slurm'", None),
        ] {
            assert_eq!(asked(line, config).as_deref(), told, "{line} | {config}");
        }
    }
}
