//! Whether a command is about to hand its tasks to other machines: then files on a tier that only
//! this node can read must not be made. Told from the command line and the engine's configuration
//! before anything runs; what a script does later is told afterwards (`not_seen`).

use super::not_seen::remote_program_name;
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
pub fn find_remote_executor(command: &[Vec<u8>], config: &str) -> Option<String> {
    let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
    let first = base_name(words.first()?);
    if let Some(program) = remote_program_name(first, &words[1..]) {
        return Some(program.to_owned());
    }
    let at = words.iter().position(|word| engine_of_word(word).is_some())?;
    let engine = engine_of_word(words[at])?;
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
    let told = rest.iter().any(|word| of(OPTIONS).contains(&word.split('=').next().unwrap_or("")));
    let (what, value) = find_configured_executor(engine, config, told)?;
    Some(format!("{engine} with {what} {value} in its configuration"))
}

/// Which engine a command starts, and at which of its words.
pub fn find_engine(command: &[Vec<u8>]) -> Option<(usize, &'static str)> {
    command.iter().enumerate().find_map(|(at, word)| Some((at, engine_of_word(word)?)))
}

/// The engine that a word starts.
fn engine_of_word(word: &[u8]) -> Option<&'static str> {
    let name = base_name(word);
    ["snakemake", "nextflow", "Trinity"].into_iter().find(|engine| engine.as_bytes() == name)
}

/// What of a configuration sends tasks away, and to which executor: lines as `nextflow config -flat`
/// prints them, of Nextflow's own files, or of a Snakemake profile. `told`: the command line names
/// an executor, which wins over all but what is configured for some processes.
fn find_configured_executor(
    engine: &str,
    config: &str,
    told: bool,
) -> Option<(&'static str, String)> {
    let settings: Vec<(String, String)> = config.lines().filter_map(parse_setting).collect();
    let away = |value: &str| !LOCAL.contains(&value);
    if engine == "snakemake" {
        const OFF: [&str; 4] = ["false", "no", "none", "null"];
        let always = ALWAYS.iter().find(|(name, _)| *name == engine).map_or(&[][..], |(_, w)| *w);
        let named = |key: &str| always.iter().any(|word| word.trim_start_matches('-') == key);
        let found = settings.into_iter().find(|(key, value)| match key.as_str() {
            "executor" => !told && away(value),
            key => named(key) && !OFF.contains(&value.as_str()),
        });
        return found.map(|(key, value)| {
            if key == "executor" { ("executor", value) } else { ("cluster command", value) }
        });
    }
    let of_process = |key: &str| key == "executor" || key.ends_with(".executor");
    let for_some = |key: &str| key.starts_with("process.") && key != "process.executor";
    let wins = |key: &str| of_process(key) && (!told || for_some(key));
    let found = settings.iter().find(|(key, value)| wins(key) && away(value));
    // What is for all, where no process has its own.
    let for_all = || {
        let said = told || settings.iter().any(|(key, _)| of_process(key) && !for_some(key));
        settings.iter().find(|(key, value)| !said && key == "executor.name" && away(value))
    };
    found.or_else(for_all).map(|(_, value)| ("executor", value.clone()))
}

/// One setting: `process.executor = 'slurm'`, `process { executor = "slurm" }`, `executor: slurm`.
fn parse_setting(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    if line.starts_with("//") || line.starts_with('#') {
        return None;
    }
    let inner = line.strip_prefix("process {").map(str::trim_start);
    let mut quote = None;
    let at = inner.unwrap_or(line).find(|c| match (quote, c) {
        (None, '\'' | '"') => {
            quote = Some(c);
            false
        }
        (Some(open), c) => {
            if open == c {
                quote = None;
            }
            false
        }
        (None, c) => matches!(c, '=' | ':'),
    })?;
    let (key, rest) = inner.unwrap_or(line).split_at(at);
    let value: String = rest[1..]
        .trim_start()
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    let key = key.trim().trim_matches(['"', '\'']);
    let key = if inner.is_some() { format!("process.{key}") } else { key.to_owned() };
    (!value.is_empty()).then_some((key, value))
}

#[cfg(test)]
mod tests {
    //! If these fail, tasks on other nodes look for files that are not there.
    use super::*;

    fn asked(line: &str, config: &str) -> Option<String> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        find_remote_executor(&words, config)
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
            // As `nextflow config -flat` prints what includes and profiles come to.
            (
                "nextflow run x",
                "process.executor = 'local'\nprocess.'withLabel:big'.executor = 'slurm'\n",
                Some("nextflow with executor slurm in its configuration"),
            ),
            (
                "nextflow run x -process.executor local",
                "process.'withName:A:B'.executor = 'awsbatch'\n",
                Some("nextflow with executor awsbatch in its configuration"),
            ),
            (
                "nextflow run x",
                "executor.name = 'sge'\n",
                Some("nextflow with executor sge in its configuration"),
            ),
            ("nextflow run x", "executor.name = 'sge'\nprocess.executor = 'local'\n", None),
            ("nextflow run x -process.executor=local", "process.executor = 'slurm'", None),
            (
                "snakemake -j 9",
                "jobs: 9\ncluster-generic-submit-cmd: \"qsub -V\"\n",
                Some("snakemake with cluster command qsub in its configuration"),
            ),
            ("snakemake -j 9", "slurm: false\nexecutor: local\n", None),
            ("Trinity --grid_exec hpc --seqType fq", "", Some("Trinity --grid_exec")),
            ("sbatch job.sh", "", Some("sbatch")),
            ("ssh-keygen -l", "", None),
            ("make -j 4", "executor = 'slurm'", None),
        ] {
            assert_eq!(asked(line, config).as_deref(), told, "{line} | {config}");
        }
    }
}
