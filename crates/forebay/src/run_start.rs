//! How a run or a recorded mount begins: its name, what its run file says of the start, and the
//! options that both have in common.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use forebay_model::run::note_key;
use forebay_model::{ByteCount, Header, Micros, Privacy, Salt, civil_from_days};
use forebay_volume::launch::{self, UringObstacle};

use crate::exit::{CommandError, NOTHING_RUN, WRONG_USAGE};
use crate::output::{Force, OutputKind, OutputTarget};

/// How much is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TraceLevel {
    /// Opens, closes, sizes and all operations on names; bytes where the kernel shows them
    Files,
    /// Each read and write too, exactly, for prices of operations; slower where it takes a mount
    EveryRead,
}

/// What looks on at a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RecorderOption {
    /// A mount over the directory, for this run alone; also for ordinary users
    Fuse,
    /// Programs in the kernel; each read and write is seen, and nothing lies in between
    Bpf,
    /// System calls that wait until they were seen (seccomp), for everybody; nothing lies in
    /// between; set-user programs do without their rights unless root starts the run
    Notify,
    /// Bpf, else notify, where it works and nothing needs a mount, else fuse; one line says which
    Auto,
}

/// What is to look on: what was asked for, or what suits the trace.
pub(crate) fn recorder_choice(
    wanted: Option<RecorderOption>,
    trace: TraceLevel,
) -> launch::RecorderChoice {
    match (wanted, trace) {
        (Some(RecorderOption::Bpf), _) => launch::RecorderChoice::Only(launch::RunRecorder::Kernel),
        (Some(RecorderOption::Notify), _) => {
            launch::RecorderChoice::Only(launch::RunRecorder::Notify)
        }
        (Some(RecorderOption::Auto), _) => launch::RecorderChoice::Automatic,
        // A mount that sees each read takes the page cache from programs.
        (None, TraceLevel::EveryRead) => launch::RecorderChoice::EachReadTimed,
        (Some(RecorderOption::Fuse), _) | (None, TraceLevel::Files) => {
            launch::RecorderChoice::Only(launch::RunRecorder::Mount)
        }
    }
}

/// How long CPUs may take to wake up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CpuLatency {
    /// Short as root, while many requests come: these take less time, and CPUs more power
    Low,
    /// As the system has it
    System,
}

impl From<CpuLatency> for launch::CpuLatency {
    fn from(wanted: CpuLatency) -> launch::CpuLatency {
        match wanted {
            CpuLatency::Low => launch::CpuLatency::Low,
            CpuLatency::System => launch::CpuLatency::System,
        }
    }
}

/// The way on which operations come to a managed directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TransportOption {
    /// Uring where root has allowed that, else device
    Auto,
    /// /dev/fuse
    Device,
    /// Io_uring (Linux 6.14), which wakes nobody on another CPU; nothing is run where it is not
    /// allowed
    Uring,
}

/// What says the same as `--transport`, where that is not given.
const TRANSPORT_VARIABLE: &str = "FOREBAY_TRANSPORT";

/// The way that is wanted, by the option or by the environment.
pub(crate) fn wanted_transport(
    option: Option<TransportOption>,
) -> Result<launch::Transport, CommandError> {
    let named = std::env::var(TRANSPORT_VARIABLE).ok().filter(|_| option.is_none());
    let named = named.filter(|name| !name.is_empty()).map(|name| {
        <TransportOption as clap::ValueEnum>::from_str(&name, false).map_err(|_| {
            let message = format!("{TRANSPORT_VARIABLE} is `{name}`, which is no transport");
            CommandError::new(WRONG_USAGE, message, "it may be auto, device or uring")
        })
    });
    match option.or(named.transpose()?).unwrap_or(TransportOption::Auto) {
        TransportOption::Device => Ok(launch::Transport::Device),
        TransportOption::Auto => Ok(launch::Transport::Automatic),
        TransportOption::Uring => match launch::check_uring() {
            Ok(()) => Ok(launch::Transport::Automatic),
            Err(obstacle) => Err(refuse_uring(&obstacle)),
        },
    }
}

fn refuse_uring(obstacle: &UringObstacle) -> CommandError {
    let (message, next) = explain_uring_obstacle(obstacle);
    CommandError::new(NOTHING_RUN, format!("--transport uring does not work here: {message}"), next)
}

/// Why operations can't come through io_uring, and what would mend it.
pub(crate) fn explain_uring_obstacle(obstacle: &UringObstacle) -> (String, &'static str) {
    match obstacle {
        UringObstacle::Kernel => (
            "this kernel's FUSE has no io_uring".to_owned(),
            "Linux 6.14 has it, if built with FUSE_IO_URING; --transport auto takes /dev/fuse",
        ),
        UringObstacle::Switch => (
            "root has not allowed io_uring to FUSE".to_owned(),
            "as root: echo Y > /sys/module/fuse/parameters/enable_uring (each boot:              fuse.enable_uring=1 on the kernel's command line)",
        ),
        UringObstacle::Ring(error) => (
            format!("this process may not use io_uring: {error}"),
            "sysctl kernel.io_uring_disabled is 0 where all may; containers need a seccomp profile \
             with io_uring_setup, io_uring_enter and io_uring_register",
        ),
        UringObstacle::Cpus => (
            "it needs a thread on each CPU that the machine may ever have, and some are off, or not \
             for this process, or there are more than 64"
                .to_owned(),
            "--transport auto takes /dev/fuse",
        ),
    }
}

/// A place for a run that was asked for.
pub(crate) fn claim_run_file(path: &Path, force: Force) -> Result<OutputTarget, CommandError> {
    let refused = |stop| CommandError { code: NOTHING_RUN, ..stop };
    OutputTarget::claim(path, OutputKind::Run, force).map_err(refused)
}

/// A name that sorts by time and does not repeat on one machine.
pub(crate) fn run_name() -> String {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let days = now.as_secs() / 86_400;
    let (year, month, day) = civil_from_days(days as i64);
    let second = now.as_secs() % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let pid = std::process::id();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{pid}.run")
}

/// What the run file says of the start of `command`.
pub(crate) fn run_header(
    command: &[OsString],
    directory: &Path,
    privacy: Privacy,
    trace: TraceLevel,
) -> Header {
    let system = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let since_1970 =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let memory = rustix::system::sysinfo();
    Header {
        forebay: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix: Micros(since_1970.as_micros() as u64),
        command: command.iter().map(|word| word.clone().into_vec()).collect(),
        directory: directory.as_os_str().as_bytes().to_vec(),
        host: Some(text(system.nodename())),
        user: std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok(),
        kernel: Some(text(system.release())),
        cpus: std::thread::available_parallelism().ok().map(|n| n.get() as u32),
        memory: Some(ByteCount(memory.totalram * u64::from(memory.mem_unit))),
        privacy,
        more: vec![note_key::TRACE.to_note(&match trace {
            TraceLevel::Files => "files".to_owned(),
            TraceLevel::EveryRead => "every-read".to_owned(),
        })],
        ..Header::default()
    }
}

/// A salt that nobody can guess and that is stored nowhere.
pub(crate) fn random_salt() -> Salt {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is as long as the call is told; 16 bytes are never cut short.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    Salt(bytes)
}
