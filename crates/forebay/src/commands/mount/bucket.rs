//! A volume that is in a bucket: where this machine keeps its files, and what can be in the way.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_model::{Kept, SyncTo};
use forebay_volume::bucket::{Told, Trouble, Wanted};

use super::super::run::{salt, state_file};
use crate::exit::{NOTHING_RUN, Stop};
use crate::{placement, say};

/// What names a bucket begins so.
const SCHEME: &str = "s3://";

/// Where the bytes are when fsync(2) returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Durable {
    Local,
    Bucket,
}

impl From<Durable> for SyncTo {
    fn from(durable: Durable) -> SyncTo {
        match durable {
            Durable::Local => SyncTo::Local,
            Durable::Bucket => SyncTo::Bucket,
        }
    }
}

/// Whether a volume is in a bucket: its URL.
pub(in crate::commands) fn url_of(volume: &Path) -> Option<&str> {
    volume.to_str().filter(|name| name.starts_with(SCHEME)).map(|url| url.trim_end_matches('/'))
}

/// What is to be opened.
pub(in crate::commands) fn wanted(
    url: &str,
    state: Option<PathBuf>,
    take_over: bool,
) -> Result<Wanted, Stop> {
    let state = match state {
        Some(state) => std::path::absolute(&state).unwrap_or(state),
        None => state_file(&format!("volumes/{}", name_of(url)))?,
    };
    let system = rustix::system::uname();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let me: String = salt().0.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Wanted {
        url: url.to_owned(),
        settings: placement::settings(),
        state,
        me,
        host: system.nodename().to_string_lossy().into_owned(),
        now: now.unwrap_or_default().as_secs() as i64,
        take_over,
        durable: SyncTo::Local,
        rules: Arc::new(Kept::none()),
    })
}

/// The rules of its files, if there are any.
pub(super) fn rules(site: Option<&Path>, rules: Option<&Path>) -> Result<Arc<Kept>, Stop> {
    let next = "FORMATS.md (\"Rules file\") has all that such rules say; nothing was mounted";
    if site.is_some() {
        let what = "a volume in a bucket takes no site: its rules name no tiers";
        return Err(Stop::new(NOTHING_RUN, what, "leave --site out; nothing was mounted"));
    }
    let Some(file) = rules else { return Ok(Arc::new(Kept::none())) };
    let kept = Kept::parse(&placement::read(file)?, &file.display().to_string());
    kept.map(Arc::new).map_err(|flaw| Stop::new(NOTHING_RUN, flaw.to_string(), next))
}

/// A name for a directory that no other volume has.
fn name_of(url: &str) -> String {
    let path = url.strip_prefix(SCHEME).unwrap_or(url);
    let plain = |part: char| part.is_ascii_alphanumeric() || matches!(part, '.' | '_' | '-');
    // `%` is in no plain name, so that no two volumes share one.
    let spell = |part: char| match part {
        part if plain(part) => part.to_string(),
        part => format!("%{:x}", u32::from(part)),
    };
    path.chars().map(spell).collect()
}

/// Why it can't be mounted, in words.
pub(super) fn explain(url: &str, trouble: &Trouble) -> Stop {
    let what = format!("{url} can't be mounted: {trouble}");
    Stop::new(NOTHING_RUN, what, format!("{}; nothing was mounted", next_of(trouble)))
}

/// What can be done about it.
pub(in crate::commands) fn next_of(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Bucket(failed) => match failed.kind {
            _ if failed.why.contains("169.254.") => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: this machine has no role"
            }
            _ if failed.why.contains("RequestTimeTooSkewed") => {
                "set this machine's clock: the bucket's is more than 15 minutes away"
            }
            _ if failed.why.contains("ExpiredToken") => "renew your credentials",
            ErrorKind::InvalidInput => {
                "name s3://BUCKET/PREFIX; settings are those of AWS's own tools"
            }
            ErrorKind::NotFound => "is it the right bucket, and AWS_REGION or AWS_ENDPOINT_URL?",
            ErrorKind::PermissionDenied => {
                "a volume lists, writes, reads and deletes: is AWS_ACCESS_KEY_ID of one who may?"
            }
            ErrorKind::InvalidData => "a newer Forebay may have written it, or it was changed",
            ErrorKind::AlreadyExists => "another machine has just mounted it",
            _ => "is the network there, and AWS_ENDPOINT_URL set if it is not AWS's?",
        }
        .to_owned(),
        Trouble::State(_, error) if error.kind() == ErrorKind::ResourceBusy => {
            "it is mounted on this machine already; `forebay unmount` ends that".to_owned()
        }
        Trouble::State(..) => "name another directory with --state".to_owned(),
        Trouble::Taken(writer) => format!(
            "unmount it there (mounted {}); if that machine is gone: --take-over, and what had not \
             come into the bucket yet is there alone",
            said(writer.since)
        ),
        Trouble::Outdated(path) => {
            let path = path.display();
            format!("copy what you need out of {path}, then remove it, or name another --state")
        }
        Trouble::Foreign(_) => "name a prefix that has nothing yet".to_owned(),
    }
}

/// A moment, in words.
pub(in crate::commands) fn said(since: i64) -> String {
    let (year, month, day) = super::super::run::civil(since.div_euclid(86_400));
    let second = since.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

/// Tells what became of it; true if the bucket has all of it.
pub(super) fn tell(told: &Told) -> bool {
    let url = &told.url;
    match &told.left {
        None => {
            say::note(&format!("all of it is in {url}"));
            true
        }
        Some(why) => {
            let kept = told.kept.display();
            say::note(&format!("not all of it is in {url}: {why}"));
            say::note(&format!("nothing is lost: it is in {kept}; mounting it again goes on"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_have_directories_of_their_own() {
        assert_eq!(name_of("s3://lab/run-1"), "lab%2frun-1");
        assert_ne!(name_of("s3://lab/a/b"), name_of("s3://lab/a%2fb"));
        assert_eq!(url_of(Path::new("s3://lab/x/")), Some("s3://lab/x"));
        assert_eq!(url_of(Path::new("/data/s3://")), None);
        assert_eq!(said(86_400 + 3_661), "1970-01-02 01:01 UTC");
    }
}
