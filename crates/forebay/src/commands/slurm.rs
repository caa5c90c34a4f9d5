//! `forebay slurm`: what a cluster's Slurm is told for Forebay, and whether it was told.

mod cluster_state;
mod sections;
mod setup;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde::Serialize;

use crate::console;
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::slurm_programs::{SlurmError, SlurmPatience};
use cluster_state::ClusterState;
use sections::{Finding, SECTIONS, SetupFile, Standing};
use setup::{SetupOptions, SlurmSetup};

/// Options of `forebay slurm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay slurm print --site lab --mount /mnt/project               to look at\n  \
    forebay slurm print --site lab --mount /mnt/project -o /etc/slurm as files\n  \
    forebay slurm check --site lab --mount /mnt/project               after Slurm's restart\n\n\
    Nothing of Slurm's own is changed: slurm.conf gets one line, `Include forebay.conf`, before its \
    first NodeName line, by you. Give `check` the options that `print` had.\n\n\
    Exit codes: 0; 1 if a file can't be written, the cluster can't be asked, or `check` found \
    something missing; 2 wrong usage.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the lines and scripts that Slurm needs
    Print(Print),
    /// Ask the cluster whether it has them, and say what is missing
    Check(Check),
}

#[derive(Debug, clap::Args)]
struct Print {
    #[command(flatten)]
    setup: SetupOptions,
    #[command(flatten)]
    patience: SlurmPatience,
    /// Write them as files into this directory, instead of printing them
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

#[derive(Debug, clap::Args)]
struct Check {
    #[command(flatten)]
    setup: SetupOptions,
    #[command(flatten)]
    patience: SlurmPatience,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    match &args.command {
        Command::Print(args) => print(args),
        Command::Check(args) => check(args),
    }
}

fn print(args: &Print) -> Result<i32, CommandError> {
    let setup = SlurmSetup::from_options(&args.setup)?;
    // What is there is merged, where there is a cluster to ask.
    let cluster = match ClusterState::ask(args.patience.limit()) {
        Ok(cluster) => Some(cluster),
        Err(error) => {
            let (why, next) = (error.message(), error.next_step());
            console::note(&format!("{why}: these lines are made without what the cluster has"));
            console::note(&format!("to have it in them, {next}, and print again"));
            None
        }
    };
    let files = setup_files(&setup, cluster.as_ref());
    let Some(folder) = &args.output else {
        for file in &files {
            console::print(&format!("# ---- {} ----\n{}\n", file.name, file.text));
        }
        return Ok(0);
    };
    let claim = |file: &SetupFile| {
        OutputTarget::claim(&folder.join(file.name), OutputKind::Other, args.force)
    };
    let places: Vec<OutputTarget> = files.iter().map(claim).collect::<Result<_, _>>()?;
    for (file, place) in files.iter().zip(&places) {
        place.write(file.text.as_bytes())?;
        let mode = std::fs::Permissions::from_mode(file.mode);
        std::fs::set_permissions(place.path(), mode).map_err(|error| {
            let what = format!("{}: its mode can't be set: {error}", place.path().display());
            CommandError::new(1, what, format!("chmod {:o} it", file.mode))
        })?;
        console::note(&format!("{} is written", place.path().display()));
    }
    console::note(&format!(
        "next: on all nodes, in {}: {}",
        setup.folder.display(),
        includes(&files).join("; ")
    ));
    console::note("then restart slurmctld and slurmd, and ask `forebay slurm check`");
    Ok(0)
}

/// What a person does with files that Slurm does not look for by itself.
fn includes(files: &[SetupFile]) -> Vec<String> {
    let lines = [
        ("forebay.conf", "`Include forebay.conf` in slurm.conf, before its first NodeName line"),
        ("forebay-gres.conf", "`Include forebay-gres.conf` in gres.conf"),
    ];
    let wanted = lines.iter().filter(|(name, _)| files.iter().any(|file| file.name == *name));
    wanted.map(|(_, line)| (*line).to_owned()).collect()
}

/// All files; what several sections say of one is together.
fn setup_files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    let mut files: Vec<SetupFile> = Vec::new();
    for part in SECTIONS.iter().flat_map(|section| (section.files)(setup, cluster)) {
        match files.iter_mut().find(|file| file.name == part.name) {
            Some(file) => file.text.push_str(&part.text),
            None => files.push(part),
        }
    }
    files
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct CheckReport {
    schema: u32,
    complete: bool,
    findings: Vec<NamedFinding>,
}

#[derive(Debug, Serialize)]
struct NamedFinding {
    section: &'static str,
    #[serde(flatten)]
    finding: Finding,
}

fn check(args: &Check) -> Result<i32, CommandError> {
    let setup = SlurmSetup::from_options(&args.setup)?;
    let cluster =
        ClusterState::ask(args.patience.limit()).map_err(SlurmError::into_command_error)?;
    let report = check_cluster(&setup, &cluster);
    match args.json {
        true => {
            let text = serde_json::to_string(&report).expect("a report is plain data");
            console::print(&(text + "\n"));
        }
        false => console::print(&render_report(&report)),
    }
    Ok(i32::from(!report.complete))
}

fn check_cluster(setup: &SlurmSetup, cluster: &ClusterState) -> CheckReport {
    let findings: Vec<NamedFinding> = SECTIONS
        .iter()
        .flat_map(|section| {
            let found = (section.check)(setup, cluster);
            found.into_iter().map(|finding| NamedFinding { section: section.name, finding })
        })
        .collect();
    let complete = findings.iter().all(|one| one.finding.standing != Standing::Missing);
    CheckReport { schema: 1, complete, findings }
}

fn render_report(report: &CheckReport) -> String {
    let mut text = String::new();
    for NamedFinding { section, finding } in &report.findings {
        text.push_str(&format!("{:<8} {section}: {}\n", finding.standing.word(), finding.means));
        if let Some(next) = &finding.next {
            text.push_str(&format!("{:<8} {next}\n", ""));
        }
    }
    text.push_str(match report.complete {
        true => "\nSlurm has all that Forebay needs.\n",
        false => "\nSlurm lacks something: see the lines that begin with `missing`.\n",
    });
    text
}

#[cfg(test)]
mod tests;
