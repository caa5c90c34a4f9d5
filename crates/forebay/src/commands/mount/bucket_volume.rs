//! A volume that is in a bucket: where this machine keeps its files, and what can be in the way.

mod error_advice;
mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_model::bucket_url::is_bucket_url;
use forebay_model::{BucketRules, ByteCount, FsyncTarget, Micros};
use forebay_objstore::RetryWindow;
use forebay_volume::bucket::{
    BucketRole, UnavailableBucket, WriterOptions, directory_name_for, find_ailing_bucket,
};
use forebay_volume::ipc::{BucketWaiting, UploadReport};
use forebay_volume::launch::lasting_mounts;

use crate::exit::{CommandError, NOTHING_RUN};
use crate::run_start::random_salt;
use crate::{console, placement, state_directories};
pub(super) use error_advice::explain_bucket_error;
pub(in crate::commands) use error_advice::{format_utc_minute, mount_next_step};
pub(super) use reading::{explain_reading, refuse_reading};

/// Options of a volume in a bucket.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct Options {
    /// Where files of a volume in a bucket are kept on this machine; default: a directory below
    /// ~/.local/state/forebay/volumes
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How much of this machine's disk they may take, such as "200 GiB"; the bucket keeps the rest.
    /// Default: all but a sixteenth of the disk
    #[arg(long, value_name = "AMOUNT")]
    space: Option<ByteCount>,
    /// Mount a volume in a bucket although another machine has not unmounted it, which can't write
    /// to it any more then
    #[arg(long)]
    take_over: bool,
    /// When fsync(2) returns in a volume in a bucket, or in a shared one, unless a rule says so: when
    /// this machine's disk has the bytes, or when the bucket has
    #[arg(long, value_enum, default_value = "local")]
    durable: FsyncDurability,
    /// How long a bucket that does not answer is waited for: by who reads bytes that it alone has,
    /// before that is an I/O error, and by `forebay unmount`; default: 5 min. In a shared volume: how
    /// long programs wait for other nodes, for the book and, with fsync, for the bucket; default: 30 s
    #[arg(long, value_name = "TIME")]
    patience: Option<Micros>,
    /// Show a volume in a bucket that another machine writes, or this one elsewhere, and follow what
    /// comes into the bucket; nothing is written to it
    #[arg(long, conflicts_with_all = ["take_over", "durable", "space", "rules", "site"])]
    read_only: bool,
    /// How often a volume that is followed is looked at; default: 5 s
    #[arg(long, value_name = "TIME", requires = "read_only")]
    every: Option<Micros>,
}

/// Where the bytes are when fsync(2) returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum FsyncDurability {
    #[default]
    Local,
    Bucket,
}

impl Options {
    /// The directory that was named for its files.
    pub(super) fn state_directory(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// What its files may take of this machine's disk.
    pub(super) fn space(&self) -> Option<ByteCount> {
        self.space
    }

    /// Whether fsync waits for the bucket.
    pub(super) fn syncs_to_bucket(&self) -> bool {
        self.durable == FsyncDurability::Bucket
    }

    /// How long who does not answer is waited for.
    pub(super) fn patience(&self) -> Option<Micros> {
        self.patience
    }

    /// The volume is to be read alone.
    pub(super) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

impl From<FsyncDurability> for FsyncTarget {
    fn from(durable: FsyncDurability) -> FsyncTarget {
        match durable {
            FsyncDurability::Local => FsyncTarget::Local,
            FsyncDurability::Bucket => FsyncTarget::Bucket,
        }
    }
}

/// Whether a volume is in a bucket: its URL.
pub(in crate::commands) fn as_bucket_url(volume: &Path) -> Option<&str> {
    volume.to_str().filter(|name| is_bucket_url(name)).map(|url| url.trim_end_matches('/'))
}

/// What is to be opened.
pub(in crate::commands) fn volume_to_open(
    url: &str,
    options: Options,
) -> Result<WriterOptions, CommandError> {
    let Options { state, space, take_over, durable, patience, .. } = options;
    let state = match state {
        Some(state) => std::path::absolute(&state).unwrap_or(state),
        None => state_directories::state_file(&format!("volumes/{}", directory_name_for(url)))?,
    };
    let system = rustix::system::uname();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let me: String = random_salt().0.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(WriterOptions {
        url: url.to_owned(),
        settings: placement::bucket_settings(),
        state,
        me,
        host: system.nodename().to_string_lossy().into_owned(),
        now: now.unwrap_or_default().as_secs() as i64,
        take_over,
        space: space.map(ByteCount::get),
        durable: durable.into(),
        rules: Arc::new(BucketRules::none()),
        patience: patience_or_default(patience),
    })
}

fn patience_or_default(patience: Option<Micros>) -> RetryWindow {
    patience.map_or_else(RetryWindow::default, |time| RetryWindow::with_limit(time.into()))
}

/// What is to be opened, and in which role.
pub(super) fn volume_role(
    url: &str,
    options: Options,
    (site, rules): (Option<&Path>, Option<&Path>),
) -> Result<BucketRole, CommandError> {
    if options.read_only {
        return reading::volume_to_follow(url, options).map(Box::new).map(BucketRole::Reader);
    }
    let rules = self::read_bucket_rules(site, rules)?;
    Ok(BucketRole::Writer(Box::new(WriterOptions { rules, ..volume_to_open(url, options)? })))
}

/// The rules of its files, if there are any.
fn read_bucket_rules(
    site: Option<&Path>,
    rules: Option<&Path>,
) -> Result<Arc<BucketRules>, CommandError> {
    let next =
        "`forebay manual formats rules file` has all that such rules say; nothing was mounted";
    if site.is_some() {
        let what = "a volume in a bucket takes no site: its rules name no tiers";
        return Err(CommandError::new(NOTHING_RUN, what, "leave --site out; nothing was mounted"));
    }
    let Some(file) = rules else { return Ok(Arc::new(BucketRules::none())) };
    let kept = BucketRules::parse(&placement::read_text(file)?, &file.display().to_string());
    let kept = kept.map_err(|flaw| CommandError::new(NOTHING_RUN, flaw.to_string(), next))?;
    placement::note_old_names(kept.old_names());
    Ok(Arc::new(kept))
}

/// What lies beside the local tree of a volume in a bucket (docs/formats/bucket.md).
const BESIDE: &str = "known";

/// Whether the directory that is mounted stands for a volume in a bucket that this machine writes.
pub(in crate::commands) fn is_in_bucket(tree: &Path) -> bool {
    tree.with_file_name(BESIDE).exists()
}

/// Since when a bucket is out of reach, in words.
pub(in crate::commands) fn ailing_since(ailing: &UnavailableBucket) -> String {
    let since = ailing.since.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format_utc_minute(since.as_secs() as i64)
}

/// Says so before it is waited for.
pub(in crate::commands) fn report_ailing_bucket(point: &Path) {
    let mounts = lasting_mounts().unwrap_or_default();
    let mounted = mounts.iter().find(|mount| mount.point == point);
    // Nobody waits for the end of one that is read alone.
    let mounted = mounted.filter(|mount| is_in_bucket(Path::new(&mount.source)));
    if let Some(ailing) = mounted.and_then(|mount| find_ailing_bucket(Path::new(&mount.source))) {
        let UnavailableBucket { url, why, .. } = &ailing;
        console::note(&format!("{url} is out of reach since {}: {why}", ailing_since(&ailing)));
        console::note("unmounting waits for it a while; Ctrl-C stops the waiting alone");
    }
}

/// Says what the end of a volume waits for.
pub(in crate::commands) fn report_bucket_wait(waiting: &BucketWaiting) {
    let BucketWaiting { url, why, files: (files, bytes), kept } = waiting;
    let (s, bytes) = (if *files == 1 { "" } else { "s" }, ByteCount(*bytes));
    console::note(&format!(
        "waiting for {url}, which does not have {files} file{s} ({bytes}): {why}"
    ));
    let kept = kept.display();
    console::note(&format!(
        "Ctrl-C stops the waiting alone, --lazy does not wait: all is kept in {kept}, and the \
         daemon goes on trying"
    ));
}

/// Tells what became of it; true if the bucket has all of it.
pub(super) fn report_upload(told: &UploadReport) -> bool {
    let url = &told.url;
    match &told.left {
        None if told.is_shared => {
            console::note(&format!("the book has all names of {url}"));
            true
        }
        Some(why) if told.is_shared => {
            console::note(&format!("{url}: {why}"));
            false
        }
        None => {
            console::note(&format!("all of it is in {url}"));
            true
        }
        Some(why) => {
            let kept = told.kept.display();
            console::note(&format!("not all of it is in {url}: {why}"));
            console::note(&format!("nothing is lost: it is in {kept}; mounting it again goes on"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        assert_eq!(as_bucket_url(Path::new("s3://lab/x/")), Some("s3://lab/x"));
        assert_eq!(as_bucket_url(Path::new("az://lab/x")), Some("az://lab/x"));
        assert_eq!(as_bucket_url(Path::new("/data/s3://")), None);
        assert_eq!(format_utc_minute(86_400 + 3_661), "1970-01-02 01:01 UTC");
    }
}
