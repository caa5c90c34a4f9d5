//! One run of the command, in a directory of its own.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forebay_os::proc::Proc;

use super::blocked_signals::{BlockedSignals, ENDS};
use super::compared_storages::ComparedStorage;
use super::outside_writes::EndedCommand;
use super::recorded::RecordedRun;
use super::result_log::BenchRun;
use super::run_directory::RunDirectory;
use super::{Args, RecordRuns, phases, replayed_run};
use crate::console;
use crate::exit::CommandError;

/// What became of a run.
pub(super) enum BenchOutcome {
    /// With what went wrong afterwards, such as a directory that stays.
    Ran(Box<BenchRun>, Option<CommandError>),
    /// Somebody sent this signal.
    Interrupted(i32),
    /// There is no such program, or it can't be executed.
    NotStarted(String),
}

/// How long a program has to go when it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// Without a limit.
const LONG: Duration = Duration::from_secs(3600);

/// Runs the command once on this storage.
pub(super) fn run_once(
    args: &Args,
    place: &ComparedStorage,
    round: u32,
    log: &Path,
    held: &BlockedSignals,
) -> Result<BenchOutcome, CommandError> {
    let failed = |error: io::Error| {
        let next = "results need a directory that is yours, with room: name one with -o";
        CommandError::new(1, format!("{}: {error}", log.display()), next)
    };
    let output = File::create(log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let record = log.with_extension("run");
    let record = (args.record == RecordRuns::Yes && !place.bare).then_some(record);
    let fresh = RunDirectory::create_on_storage(place, round, held)?;
    if let Some(scale) = place.scale {
        scale.create_directories(&fresh.path)?;
    }
    let mut fresh = replayed_run::prepare_inputs(args, place, fresh)?;
    fresh.serve_all_points(place, record.as_deref())?;
    let mut command = match place.scale {
        Some(scale) => scale.launch_command(args, &fresh.path, fresh.is_served()),
        None => {
            let mut command = Command::new(&args.command[0]);
            command.args(&args.command[1..]);
            command
        }
    };
    command.current_dir(&fresh.path).process_group(0);
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    if let Ok(here) = std::env::current_dir() {
        command.env("FOREBAY_BENCH_FROM", here);
    }
    if let Some(change) = &place.vary {
        change.apply_to_command(&mut command);
    }
    let began = Instant::now();
    let child = match held.spawn_unblocked(&mut command) {
        Ok(child) => child.id() as i32,
        Err(error) => {
            fresh.unmount_all()?;
            fresh.remove()?;
            let program = args.command[0].to_string_lossy();
            return Ok(BenchOutcome::NotStarted(format!("{program}: {error}")));
        }
    };
    // More than the clock can tell is no limit.
    let limit = args.timeout.and_then(|time| Duration::try_from_secs_f64(time.get().max(0.0)).ok());
    let mut limit = limit.and_then(|time| began.checked_add(time));
    let (mut timed_out, mut interrupted) = (false, None);
    let (status, usage, sent) = loop {
        if let Some(ended) = reap_child(child) {
            break ended;
        }
        let most = limit.map_or(LONG, |limit| limit.saturating_duration_since(Instant::now()));
        match held.next_signal(most) {
            Some(signal) if ENDS.contains(&signal) => {
                interrupted.get_or_insert(signal);
                signal_group(child, libc::SIGTERM);
                limit = Some(Instant::now() + GRACE);
            }
            Some(_) => {}
            None if limit.is_none_or(|limit| Instant::now() < limit) => {}
            None => {
                let asked = timed_out || interrupted.is_some();
                timed_out |= interrupted.is_none();
                signal_group(child, if asked { libc::SIGKILL } else { libc::SIGTERM });
                limit = Some(Instant::now() + GRACE);
            }
        }
    };
    let seconds = replayed_run::replay_seconds(args, log).unwrap_or(began.elapsed().as_secs_f64());
    // Who was left behind would write into the next run's storage.
    signal_group(child, libc::SIGKILL);
    let left = rustix::fs::statvfs(&place.path).ok().map(|room| room.f_bavail * room.f_frsize);
    let unmounted = fresh.unmount_all();
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let mut run = BenchRun {
        round,
        on: place.name.clone(),
        seconds,
        user_seconds: time(usage.ru_utime),
        system_seconds: time(usage.ru_stime),
        exit: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        timed_out,
        left_bytes: left,
        recorded: None,
    };
    if !fresh.records.is_empty() && run.failure().is_none() && unmounted.is_ok() {
        let read =
            RecordedRun::read_all_nodes(&fresh.records, &EndedCommand { sent, log, seconds });
        let read = read.inspect_err(|why| console::note(&format!("not recorded: {why}"))).ok();
        run.recorded = read.map(|mut recorded| {
            recorded.phases.extend(phases::logged_phases(&fresh.path));
            recorded
        });
    }
    let removed = unmounted.and_then(|()| fresh.remove());
    match interrupted {
        Some(signal) => removed.map(|()| BenchOutcome::Interrupted(signal)),
        None => Ok(BenchOutcome::Ran(Box::new(run), removed.err())),
    }
}

/// Sends a signal to a program and all that it started.
fn signal_group(child: i32, signal: i32) {
    // SAFETY: plain numbers; it leads a group of its own.
    unsafe { libc::kill(-child, signal) };
}

/// Status and usage of a program that has ended, and the bytes that it and all that it waited for
/// sent to storage.
fn reap_child(child: i32) -> Option<(i32, libc::rusage, Option<u64>)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: a zeroed siginfo is a valid one; it stays so if nobody has ended.
    let ended = unsafe {
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, child as u32, info.as_mut_ptr(), how);
        info.assume_init().si_pid() == child
    };
    if !ended {
        return None;
    }
    // While it has not been waited for, its counters are there.
    let sent = Proc::default().read_io(child as u32).ok().map(|io| io.write_bytes);
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to live memory; a zeroed rusage is a valid one.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(child, &mut status, libc::WNOHANG, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    (pid == child).then_some((status, usage, sent))
}
