//! `forebay mount`: a volume that other programs see too, until it is unmounted.

pub(super) mod bucket_volume;
pub(super) mod emulate;
mod refused;
mod shared_volume;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use forebay_model::{Privacy, StorageProfile};
use forebay_volume::daemon_log::LogLevels;
use forebay_volume::fuse::EmulatedStorage;
use forebay_volume::launch::{
    self, LaunchError, MountOptions, RecordingOptions, UnmountReport, resolve_mount_point,
};
use forebay_volume::overmount::MountAccess;
use rustix::mount::MountFlags;

use crate::exit::{CommandError, DAEMON_LOST, FILES_AWAY, NOTHING_RUN};
use crate::output::{Force, OutputTarget};
use crate::peer_options::PeerArgs;
use crate::run_start::{
    CpuLatency, TraceLevel, TransportOption, claim_run_file, run_header, run_name, wanted_transport,
};
use crate::{console, daemon_logs, foreign, placement, state_directories, write_back_progress};
use refused::{explain_mount_failure, first_hidden_name, refuse_mounted_point};

/// Options of `forebay mount`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay mount /data/project /mnt/project\n  \
    forebay mount --site site.toml --rules rules.toml . .      in place, for everything you run\n  \
    forebay mount --allow-other /data/project /mnt/project     as root: for slurmd and logins\n  \
    forebay mount s3://lab/volume ~/work                       a volume that a bucket keeps\n  \
    forebay mount --rules examples/rules/bucket.toml s3://lab/volume ~/work\n  \
    forebay mount --read-only s3://lab/volume ~/theirs         what another machine writes there\n  \
    forebay mount --peers node1,node2,node3 --peer-listen 0.0.0.0 --peer-token ~/token \\\n  \
            --read-only s3://lab/references ~/refs             fetched once for three nodes\n  \
    forebay mount --book postgres://forebay@db/forebay --listen 10.0.0.7 s3://lab/shared ~/work\n  \
                                                               written by several nodes\n  \
    forebay mount --book ... --listen 10.0.0.7 /lustre/lab/shared ~/work   long files on Lustre\n  \
    forebay unmount /mnt/project\n\n\
    VOLUME is an ordinary directory and stays the truth; DIR may be the same. Or it is \
    s3://BUCKET/PREFIX: files are written here and go to the bucket in the background; unmounting \
    waits for the rest, and any machine that mounts it later has them. One machine writes; with \
    --read-only any number show it, and follow what comes into the bucket. Settings are those of AWS's \
    own tools (AWS_PROFILE, AWS_ENDPOINT_URL, ...). Without --allow-root \
    and --allow-other nobody but you can look into DIR, not even root. An ordinary user needs \
    fusermount3 (package fuse3), and `user_allow_other` in /etc/fuse.conf for the two.")]
pub(crate) struct Args {
    /// Where the tiers are: a file, or a name in ~/.config/forebay/sites or /etc/forebay/sites;
    /// default: .forebay/site.toml, ~/.config/forebay/site.toml, /etc/forebay/site.toml
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::site_file())]
    site: Option<PathBuf>,
    /// Which files go to which tier, or how files of a volume in a bucket lie there and what their
    /// fsync waits for; without rules all stay in place
    #[arg(long, value_name = "FILE", value_parser = placement::named_sites::rules_file())]
    rules: Option<PathBuf>,
    /// Root may use it too: for services such as dockerd that act for you
    #[arg(long, conflicts_with = "allow_other")]
    allow_root: bool,
    /// Everybody may use it, as the permissions of the files allow
    #[arg(long)]
    allow_other: bool,
    /// Set-user-id and set-group-id bits and file capabilities of the volume count, as root: only
    /// where you trust whoever writes it with this machine
    #[arg(long)]
    suid: bool,
    /// Device nodes of the volume can be opened, as root: only where you trust its writers so
    #[arg(long)]
    dev: bool,
    /// Record what is done to storage, in this run file; it is complete when it is unmounted
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// How much to trace
    #[arg(long, value_enum, default_value = "files", requires = "output")]
    trace: TraceLevel,
    /// How long CPUs may take to wake up while programs wait for Forebay
    #[arg(long, value_enum, default_value = "low")]
    cpu_latency: CpuLatency,
    /// The way on which operations come to Forebay; default: FOREBAY_TRANSPORT, or auto
    #[arg(long, value_enum)]
    transport: Option<TransportOption>,
    /// Be as slow as another storage: a profile's name (ebs-gp3) or FILE.toml; or what each
    /// operation on names takes, and what all reads, and all writes, get, such as 5ms,125MiB/s
    #[arg(long, value_name = "PROFILE", value_parser = emulate::parse_boxed_profile)]
    emulate: Option<Box<StorageProfile>>,
    /// What is emulated is one server for all mounts that name this file: they share what the whole
    /// storage has, as nodes do
    #[arg(long, value_name = "FILE", requires = "emulate")]
    server: Option<PathBuf>,
    /// What is in DIR is meant to be hidden while the volume is shown there: no word of it
    #[arg(long)]
    nonempty: bool,
    /// Do not return: stay until it is unmounted, or unmount at SIGINT or SIGTERM
    #[arg(short, long)]
    foreground: bool,
    /// How much the daemon logs: error, warn, info, debug, trace, or by module, such as
    /// info,bucket=debug; `forebay logs` prints it; default: FOREBAY_LOG, or info
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevels>,
    #[command(flatten)]
    bucket: bucket_volume::Options,
    #[command(flatten)]
    shared: shared_volume::Options,
    #[command(flatten)]
    peers: PeerArgs,
    /// The directory that is the volume, or s3://BUCKET/PREFIX; with --book, where its long files lie
    volume: PathBuf,
    /// Where it is shown
    dir: PathBuf,
}

pub(crate) fn run(args: Args) -> Result<i32, CommandError> {
    foreign::refuse_foreign_url(&args.volume, NOTHING_RUN)?;
    let transport = wanted_transport(args.transport)?;
    let point = resolve_mount_point(&args.dir);
    let shown = args.volume.canonicalize().unwrap_or_else(|_| args.volume.clone());
    refuse_mounted_point(&point)?;
    let hidden = if args.nonempty || shown == point { None } else { first_hidden_name(&point)? };
    let url = bucket_volume::as_bucket_url(&args.volume).map(str::to_owned);
    let follows = args.bucket.is_read_only();
    let state = args.bucket.state_directory().map(Path::to_owned);
    let places = (args.volume.as_path(), point.as_path());
    let shared = args.shared.into_options(places, state.as_deref(), &args.bucket)?;
    let peers = args.peers.into_options(args.bucket.state_directory())?;
    let in_bucket = match &url {
        Some(_) if shared.is_some() => None,
        Some(url) => {
            let rules = (args.site.as_deref(), args.rules.as_deref());
            Some(bucket_volume::volume_role(url, args.bucket, rules)?)
        }
        None if follows => return Err(bucket_volume::refuse_reading()),
        None => None,
    };
    let record = args
        .output
        .as_deref()
        .map(|output| prepare_record(output, args.force, args.trace))
        .transpose()?;
    let placement = match url {
        None if shared.is_none() => {
            placement::load_placement(args.site.as_deref(), args.rules.as_deref())?
        }
        _ => None,
    };
    let asks = placement.as_ref().is_some_and(|wanted| wanted.rules.has_task_rules());
    if asks && record.is_none() {
        return Err(CommandError::new(
            NOTHING_RUN,
            "a rule asks for the task of who makes a file, and without a record nobody is looked up",
            "add -o RUN, or take `task` out of the rules; nothing was mounted",
        ));
    }
    let access = match (args.allow_other, args.allow_root) {
        (true, _) => MountAccess::Everybody,
        (_, true) => MountAccess::Root,
        _ => MountAccess::Owner,
    };
    let emulated = args.emulate.map(|profile| emulated_storage(*profile, args.server.as_deref()));
    let log = daemon_logs::wanted_log(args.log.as_ref(), &run_name(), args.foreground)?;
    let (log_folder, named) = (log.folder.clone(), args.volume.clone());
    let mount = MountOptions {
        volume: args.volume,
        // As it was named: links in it may be others'.
        point: args.dir,
        access,
        withheld: withheld_flags(args.suid, args.dev)?,
        every_read: args.trace == TraceLevel::EveryRead,
        cpu_latency: args.cpu_latency.into(),
        transport,
        placement,
        warmed: placement::report_warmed_cache,
        emulated: emulated.transpose()?,
        record,
        bucket: in_bucket,
        shared,
        peers,
        ways: super::attach::attached_bucket::attached_bucket_access()?,
        log,
    };
    let mounted = launch::mount_volume(mount).map_err(|failure| match (failure, &url) {
        (LaunchError::Shared(trouble), _) => shared_volume::explain_shared_error(&named, &trouble),
        (LaunchError::Bucket(trouble), Some(url)) if follows => {
            bucket_volume::explain_reading(url, &trouble)
        }
        (LaunchError::Bucket(trouble), Some(url)) => {
            bucket_volume::explain_bucket_error(url, &trouble)
        }
        (failure, _) => explain_mount_failure(failure),
    })?;
    for warning in &mounted.warnings {
        console::note(warning);
    }
    let point = point.display();
    if let Some(name) = hidden {
        console::note(&format!(
            "{point} is not empty: what is there ({name}, ...) is hidden until it is unmounted \
             (--nonempty: no word of it)"
        ));
    }
    console::note(&format!("{} is at {point}; `forebay unmount {point}` ends it", shown.display()));
    if !args.foreground {
        return Ok(0);
    }
    finish_unmount(
        mounted.wait_for_unmount(
            write_back_progress::show_progress,
            bucket_volume::report_bucket_wait,
        ),
        Some(&log_folder),
    )
}

/// What counts for nothing on the mount unless it was asked for.
fn withheld_flags(suid: bool, dev: bool) -> Result<MountFlags, CommandError> {
    if (suid || dev) && !rustix::process::geteuid().is_root() {
        return Err(CommandError::new(
            NOTHING_RUN,
            "--suid and --dev are root's: set-user-id programs and device nodes count on no mount \
             of an ordinary user",
            "leave them out, or ask an administrator to mount it; nothing was mounted",
        ));
    }
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    flags.set(MountFlags::NOSUID, !suid);
    flags.set(MountFlags::NODEV, !dev);
    Ok(flags)
}

/// What became of the volume, in words and as an exit code.
pub(super) fn finish_unmount(
    unmounting: Option<UnmountReport>,
    log: Option<&Path>,
) -> Result<i32, CommandError> {
    let Some(end) = unmounting else {
        log.into_iter().for_each(daemon_logs::print_last_lines);
        return Err(CommandError::new(
            DAEMON_LOST,
            "the daemon of the mount is gone: programs got I/O errors",
            "mount it again, which shows all files as they should be, or `forebay restore` VOLUME",
        ));
    };
    for warning in &end.warnings {
        console::note(warning);
    }
    if let Some(run) = &end.run {
        console::note(&format!("the run is in {}", run.display()));
    }
    let at_home =
        end.homecomings.iter().map(placement::report_write_back).fold(true, |all, one| all & one);
    let at_home =
        end.shipped.iter().map(bucket_volume::report_upload).fold(at_home, |all, one| all & one);
    Ok(if at_home { 0 } else { FILES_AWAY })
}

fn emulated_storage(
    profile: StorageProfile,
    server: Option<&Path>,
) -> Result<EmulatedStorage, CommandError> {
    EmulatedStorage::new(profile, server).map_err(|error| {
        let file = server.unwrap_or(Path::new("")).display();
        let next = "name a file that you may write, in memory if possible; nothing was mounted";
        CommandError::new(NOTHING_RUN, format!("--server {file}: {error}"), next)
    })
}

fn prepare_record(
    output: &Path,
    force: Force,
    trace: TraceLevel,
) -> Result<RecordingOptions, CommandError> {
    let OutputTarget::File(output) = claim_run_file(output, force)? else {
        let why = format!("{}: a mount lasts longer than who reads this", output.display());
        return Err(CommandError::new(
            NOTHING_RUN,
            why,
            "name a file after -o; nothing was mounted",
        ));
    };
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let command: Vec<OsString> = std::env::args_os().collect();
    let header = run_header(&command, &directory, Privacy::default(), trace);
    let state = state_directories::record_file(&run_name(), &output)?;
    Ok(RecordingOptions { header, state, output })
}
