//! `forebay run`: the front door.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use forebay_model::{CommandPrivacy, Privacy};
use forebay_os::real_path::ensure_own_folder;
use forebay_volume::daemon_log::LogLevels;
use forebay_volume::launch::{self, Exit, LaunchError, LaunchOptions, RunOutcome, RunRecorder};
use rustix::fs::{AtFlags, renameat, symlinkat, unlinkat};

use super::{attach, summary};
use crate::exit::{
    CommandError, DAEMON_LOST, FILES_AWAY, NOT_EXECUTABLE, NOT_FOUND, NOTHING_RUN, WRONG_USAGE,
};
use crate::jobs::{self, JobFolder, join_jobs};
use crate::output::{Force, OutputTarget};
use crate::peer_options::PeerArgs;
use crate::run_start::{
    CpuLatency, RecorderOption, TraceLevel, TransportOption, claim_run_file, random_salt,
    recorder_choice, run_header, run_name, wanted_transport,
};
use crate::{
    console, daemon_logs, placement, state_directories, summary_text, write_back_progress,
};

/// Options of `forebay run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay run snakemake --cores 8\n  \
    forebay run --site site.toml --rules rules.toml -- make\n  \
    forebay run --at /scratch/me -o day1.run -- nextflow run main.nf\n  \
    forebay run --jobs ~/work/jobs --at ~/work -- nextflow run main.nf -w ~/work/run\n\n\
    The command's exit status is its own. The run file is .forebay/runs/TIME.run unless -o says \
    otherwise; it is one SQLite file (forebay manual formats).")]
pub(crate) struct Args {
    /// Manage this directory too (repeatable); default: the current directory alone
    #[arg(long, value_name = "DIR")]
    at: Vec<PathBuf>,
    /// Where the tiers are: a file, or a name in ~/.config/forebay/sites or /etc/forebay/sites;
    /// default: .forebay/site.toml, ~/.config/forebay/site.toml, /etc/forebay/site.toml
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::site_file())]
    site: Option<PathBuf>,
    /// Which files go to which tier; without rules all stay in place
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::rules_file())]
    rules: Option<PathBuf>,
    /// Record jobs that the command sends by sbatch or srun where they run, and join them with the
    /// run at its end; DIR has to be seen by all nodes
    #[arg(long, value_name = "DIR", conflicts_with = "anonymise")]
    jobs: Option<PathBuf>,
    /// What a job is recorded for
    #[arg(long, hide = true, value_name = "DIR", requires = "job")]
    job_of: Option<PathBuf>,
    /// What it was sent as
    #[arg(long, hide = true, value_name = "TOKEN", requires = "job_of")]
    job: Option<String>,
    /// What its record says of it
    #[arg(skip)]
    job_notes: Vec<(String, String)>,
    /// How much to trace
    #[arg(long, value_enum, default_value = "files")]
    trace: TraceLevel,
    /// What looks on: `bpf` needs root, `notify` nothing; both leave the directory bare; rules need
    /// `fuse`; default: fuse, and with `--trace every-read` bpf where that works and nothing needs a
    /// mount
    #[arg(long, value_enum)]
    recorder: Option<RecorderOption>,
    /// How long CPUs may take to wake up while programs wait for Forebay
    #[arg(long, value_enum, default_value = "low")]
    cpu_latency: CpuLatency,
    /// The way on which operations come to Forebay; default: FOREBAY_TRANSPORT, or auto
    #[arg(long, value_enum)]
    transport: Option<TransportOption>,
    /// Where the run file goes
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Hash paths and sample names in the run file
    #[arg(long)]
    anonymise: bool,
    /// Leave command lines out of the run file (secrets in them are masked in any case)
    #[arg(long)]
    no_commands: bool,
    /// Print the summary as one line of JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Print no summary
    #[arg(long, short)]
    quiet: bool,
    /// How much the daemon logs: error, warn, info, debug, trace, or by module, such as
    /// info,tiers=debug; `forebay logs` prints it; default: FOREBAY_LOG, or info
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevels>,
    #[command(flatten)]
    peers: PeerArgs,
    /// The command and its words; options of Forebay's come before it
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(mut args: Args) -> Result<i32, CommandError> {
    if args.command.is_empty() {
        let next = "for example: forebay run snakemake --cores 8   (forebay run --help has more)";
        return Err(CommandError::new(WRONG_USAGE, "run what? A command is missing", next));
    }
    if let (Some(folder), Some(token)) = (args.job_of.take(), args.job.take()) {
        return run_job(args, &folder, &token);
    }
    let is_job = !args.job_notes.is_empty();
    // With --quiet, a line says what was chosen only where a choice was asked for.
    let is_silent = is_job || args.quiet && args.recorder.is_none();
    let directory = std::env::current_dir().map_err(|error| {
        let message = format!("the current directory can't be found: {error}");
        CommandError::new(NOTHING_RUN, message, "cd to a directory that exists")
    })?;
    let transport = wanted_transport(args.transport)?;
    let name = match args.output.as_deref().and_then(Path::file_name).filter(|_| is_job) {
        // Nodes may share a home, and so the place of what is written meanwhile.
        Some(record) => record.to_string_lossy().into_owned(),
        None => run_name(),
    };
    let place = args.output.as_deref().map(|path| claim_run_file(path, args.force)).transpose()?;
    let output = match &place {
        Some(OutputTarget::File(path)) => path.clone(),
        _ => directory.join(".forebay/runs").join(&name),
    };
    let state = state_directories::record_file(&name, &output)?;
    // What can't be seen from the daemon, as /dev/stdout, is written from here.
    let stream = place.filter(|place| matches!(place, OutputTarget::Stream(_)));
    let record = is_job.then(|| output.clone());
    let is_elsewhere = stream.is_some() || is_job;
    let output = if is_elsewhere { state.with_extension("whole") } else { output };
    let mut cover = args.at.clone();
    if cover.is_empty() {
        cover.push(directory.clone());
    }
    let mut placement = placement::load_placement(args.site.as_deref(), args.rules.as_deref())?;
    if let Some(wanted) = &mut placement {
        placement::check_command(wanted, &args.command)?;
    }
    let privacy = Privacy {
        commands: if args.no_commands { CommandPrivacy::LeftOut } else { CommandPrivacy::Masked },
        anonymise: args.anonymise.then(random_salt),
    };
    let rules = placement.as_ref().map(|wanted| wanted.rules.clone());
    let log = daemon_logs::wanted_log(args.log.as_ref(), &name, false)?;
    let peers = std::mem::take(&mut args.peers).into_options(None)?;
    let log_folder = log.folder.clone();
    let mut header = run_header(&args.command, &directory, privacy, args.trace);
    header.more.extend(placement.iter().flat_map(placement::capacity_limits));
    header.more.append(&mut args.job_notes);
    let jobs = args.jobs.as_ref().map(|jobs| JobFolder::create(jobs, &name, &cover)).transpose()?;
    let outcome = launch::run_command(LaunchOptions {
        command: args.command.clone(),
        variables: jobs.as_ref().map(JobFolder::variables).unwrap_or_default(),
        directory: directory.clone(),
        cover,
        peers,
        ways: attach::attached_bucket::attached_bucket_access()?,
        recorder: recorder_choice(args.recorder, args.trace),
        chosen: if is_silent { |_, _| () } else { report_recorder },
        every_read: args.trace == TraceLevel::EveryRead,
        cpu_latency: args.cpu_latency.into(),
        transport,
        placement,
        warmed: placement::report_warmed_cache,
        sent_away: placement::report_sent_away,
        warned: if is_job { |_| () } else { console::note },
        underway: if args.quiet || args.json {
            write_back_progress::hide_progress
        } else {
            write_back_progress::show_progress
        },
        header,
        state,
        output,
        log,
    })
    .map_err(|failure| {
        jobs.iter().for_each(JobFolder::remove);
        explain_failure(failure)
    })?;
    console::clear_passing_line();
    if let Some(record) = &record {
        // What it prints is its own. Signals stay held back: a job that is cancelled has a record.
        outcome.run.iter().for_each(|run| jobs::hand_over_record(run, record));
        return match outcome.exit {
            Exit::Code(code) => Ok(code),
            signal @ Exit::Signal(_) => launch::exit_like(signal),
        };
    }
    outcome.signals.discard_and_unblock();
    for warning in &outcome.warnings {
        console::note(warning);
    }
    if let (Some(jobs), Some(run)) = (&jobs, &outcome.run) {
        match outcome.lingering {
            None => join_jobs(jobs, run, args.quiet || args.json),
            Some(_) => jobs.keep_for_later(run),
        }
    }
    if let Some(run) = &outcome.run {
        print_summary(&args, &directory, run, stream.as_ref());
        if let (false, Some(rules), Some(file)) =
            (args.quiet || args.json || args.anonymise, rules, &args.rules)
        {
            placement::report_unused_rules(&rules, file, run);
        }
    }
    if let (Some(stream), Some(run)) = (&stream, &outcome.run) {
        write_to_stream(stream, run, outcome.lingering.is_some());
    }
    finish_run(&args, &log_folder, &outcome)
}

/// Runs a job of another run, which it is recorded for; where that does not work, without a record.
fn run_job(mut args: Args, folder: &Path, token: &str) -> Result<i32, CommandError> {
    let command = args.command.clone();
    let Some(record) = jobs::begin_job(folder, token) else {
        return Err(jobs::run_unrecorded(&command));
    };
    args.recorder = Some(RecorderOption::Auto);
    args.quiet = true;
    args.at = record.cover;
    args.output = Some(record.output);
    args.job_notes = record.notes;
    match run(args) {
        Err(stop) if jobs::is_before_command(&stop) => Err(jobs::run_unrecorded(&command)),
        ended => ended,
    }
}

/// Which recorder was chosen, and why.
fn report_recorder(recorder: RunRecorder, why: &str) {
    console::note(&match recorder {
        RunRecorder::Kernel => "recorder: bpf; the directory stays bare".to_owned(),
        RunRecorder::Notify => format!("recorder: notify; the directory stays bare ({why})"),
        RunRecorder::Mount => format!("recorder: fuse ({why})"),
    });
}

/// The summary of a run, and where it is.
fn print_summary(args: &Args, directory: &Path, run: &Path, stream: Option<&OutputTarget>) {
    if args.output.is_none() {
        link_latest_run(directory, run);
    }
    if args.quiet {
        return;
    }
    // A summary that can't be made is no reason to hide the command's status.
    match summary::summarize_run(run, &[]) {
        Ok((_, summary)) if args.json => {
            console::write_stderr(&format!("{}\n", summary::summary_json(&summary)))
        }
        Ok((_, summary)) => {
            console::write_stderr(&summary_text::render_summary(
                &summary,
                console::terminal_width(),
                console::wants_colour(),
            ));
        }
        Err(stop) => console::error(&stop.message, None),
    }
    if !args.json && stream.is_none() {
        console::note(&format!("the run is in {}", relative_path(run, directory)));
    }
}

/// Writes the run into a device or a pipe. It stays here as well where that does not take it, or
/// where more of the run is to come.
fn write_to_stream(stream: &OutputTarget, run: &Path, lives_on: bool) {
    match stream.copy_from(run) {
        Err(error) => {
            let message = format!("{} did not take the run: {error}", stream.path().display());
            console::error(&message, Some(&format!("it is in {}", run.display())));
        }
        Ok(()) if lives_on => console::note(&format!("the whole run will be in {}", run.display())),
        Ok(()) => {
            // It is Forebay's own, and of no use any more.
            let _ = std::fs::remove_file(run);
        }
    }
}

fn finish_run(args: &Args, log: &Path, outcome: &RunOutcome) -> Result<i32, CommandError> {
    if let Some(pids) = &outcome.lingering {
        let some: Vec<String> = pids.iter().take(8).map(u32::to_string).collect();
        console::note(&format!(
            "processes of the run live on (pid {}): {}, and the run file \
             is completed{} when they end",
            if some.is_empty() { "unknown".to_owned() } else { some.join(", ") },
            match outcome.recorder {
                RunRecorder::Mount => "files stay managed for them",
                RunRecorder::Kernel | RunRecorder::Notify => "they are recorded",
            },
            if args.rules.is_some() {
                ", and files are written back from their tiers,"
            } else {
                ""
            }
        ));
    }
    if outcome.daemon_lost && outcome.recorder != RunRecorder::Mount {
        daemon_logs::print_last_lines(log);
        console::error(
            "the recorder was gone before the command ended: the record ends there, and the \
             command went on as if nobody had looked",
            Some("`forebay doctor` finds what was recorded"),
        );
    } else if outcome.daemon_lost {
        daemon_logs::print_last_lines(log);
        return Err(CommandError::new(
            DAEMON_LOST,
            "the daemon was gone before the command ended: programs got I/O errors since then, \
             results may be incomplete",
            "run it again; if it was killed for memory, `dmesg` says so",
        ));
    }
    if let Some((now, daemon)) = &outcome.left {
        placement::report_left_behind(now, *daemon);
    }
    let at_home = outcome
        .homecomings
        .iter()
        .map(placement::report_write_back)
        .fold(outcome.left.is_none(), |all, one| all & one);
    match outcome.exit {
        Exit::Code(0) if !at_home => Ok(FILES_AWAY),
        Exit::Code(code) => Ok(code),
        signal @ Exit::Signal(_) => launch::exit_like(signal),
    }
}

/// Forebay's own folder says which run is the latest.
fn link_latest_run(directory: &Path, run: &Path) {
    let own = directory.join(".forebay");
    let Ok(to) = run.strip_prefix(&own) else { return };
    let Ok(folder) = ensure_own_folder(directory) else { return };
    let fresh = format!("latest.run.{}", std::process::id());
    if symlinkat(to, &folder, fresh.as_str()).is_ok()
        && renameat(&folder, fresh.as_str(), &folder, "latest.run").is_err()
    {
        // The link is a convenience; one that is left over says the same.
        let _ = unlinkat(&folder, fresh.as_str(), AtFlags::empty());
    }
}

fn relative_path(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}

/// A failure before the command, in words: cause, place, next step.
pub(super) fn explain_failure(failure: LaunchError) -> CommandError {
    match failure {
        LaunchError::NotFound(program) => CommandError::new(
            NOT_FOUND,
            format!("{}: command not found", program.to_string_lossy()),
            "check the name and PATH; nothing was run",
        ),
        LaunchError::NotExecutable(program, error) => CommandError::new(
            NOT_EXECUTABLE,
            format!("{} can't be executed: {error}", program.to_string_lossy()),
            "check its permissions (chmod +x) and its first line; nothing was run",
        ),
        LaunchError::Shared(trouble) => CommandError::new(
            NOTHING_RUN,
            format!("a shared volume can't be used: {trouble}"),
            "see the guide on clusters; nothing was run",
        ),
        LaunchError::Tier(trouble) => placement::explain_tier_error(&trouble),
        LaunchError::Bucket(trouble) => {
            CommandError::new(NOTHING_RUN, trouble.to_string(), "nothing was run")
        }
        LaunchError::Refused(refusal) if refusal.attached => {
            attach::attached_bucket::explain_refusal(&refusal)
        }
        LaunchError::Refused(refusal) => CommandError::new(
            NOTHING_RUN,
            format!("{} can't be managed: {}", refusal.path.display(), refusal.error),
            "name a directory that exists and that you may read; nothing was run",
        ),
        LaunchError::NoRecorder { recorder, why } => CommandError::new(
            NOTHING_RUN,
            format!("the recorder {recorder} can't record this run: {why}"),
            format!("leave out --recorder {recorder}; nothing was run"),
        ),
        LaunchError::Closed(step, error) => CommandError::new(
            NOTHING_RUN,
            format!("{step} failed: {error}"),
            "`forebay doctor` says what is missing here and how to mend it; nothing was run",
        ),
        LaunchError::System(step, error) => {
            CommandError::new(NOTHING_RUN, format!("{step}: {error}"), "nothing was run")
        }
    }
}
