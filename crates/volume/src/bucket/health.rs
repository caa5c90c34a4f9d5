//! Whether the bucket of a mounted volume takes and gives what it should, for people who look: a
//! file beside the local tree, there as long as it does not, says why; its time says since when.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;

use super::state_directory::StateOwner;
use forebay_objstore::RequestError;

const TROUBLE: &str = "trouble";

/// What is noted of the bucket.
#[derive(Debug)]
pub(crate) struct Health {
    file: Option<PathBuf>,
    why: Mutex<Option<String>>,
}

/// A volume whose bucket can't be used just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableBucket {
    /// `s3://BUCKET/PREFIX`
    pub url: String,
    /// Since when.
    pub since: SystemTime,
    /// Why.
    pub why: String,
}

impl Health {
    /// Of a mount that begins: what is noted there was of another.
    pub(crate) fn for_mount(folder: &Path) -> Health {
        let file = folder.join(TROUBLE);
        let _ = std::fs::remove_file(&file);
        Health { file: Some(file), why: Mutex::default() }
    }

    /// Of what no people look at.
    pub(crate) fn without_note() -> Health {
        Health { file: None, why: Mutex::default() }
    }

    /// The bucket does not do what it should. What has no end by itself is told instead of what
    /// may have one.
    pub(crate) fn note_failure(&self, failed: &RequestError) {
        let Some(file) = &self.file else { return };
        let mut why = self.why.lock();
        let is_new = why.as_ref().is_none_or(|why| failed.is_lasting() && *why != failed.why);
        if is_new && std::fs::write(file, &failed.why).is_ok() {
            *why = Some(failed.why.clone());
            tracing::warn!("the bucket can't be used: {failed}");
        }
    }

    /// Whether it is known not to.
    pub(crate) fn is_ailing(&self) -> bool {
        self.why.lock().is_some()
    }

    /// Why it does not; `None`: it does.
    pub(crate) fn current_error(&self) -> Option<String> {
        self.why.lock().clone()
    }

    /// It does.
    pub(crate) fn note_success(&self) {
        if self.why.lock().take().is_some()
            && let Some(file) = &self.file
        {
            let _ = std::fs::remove_file(file);
            tracing::info!("the bucket answers again");
        }
    }
}

/// What is in the way of the volume whose local tree this is, if anything is.
#[must_use]
pub fn find_ailing_bucket(tree: &Path) -> Option<UnavailableBucket> {
    let folder = tree.parent()?;
    let file = folder.join(TROUBLE);
    let why = std::fs::read_to_string(&file).ok()?;
    let since = std::fs::metadata(&file).and_then(|known| known.modified()).ok()?;
    let url = StateOwner::read_from_directory(folder)?.url;
    Some(UnavailableBucket { url, since, why })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::super::state_directory::StateDirectory;
    use super::*;

    #[test]
    fn trouble_is_told_while_it_lasts() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDirectory::lock_directory(folder.path(), "s3://b/v", "me").expect("taken");
        let health = Health::for_mount(folder.path());
        let told =
            || find_ailing_bucket(&state.tree_directory()).map(|ailing| (ailing.url, ailing.why));
        let of = |why: &str| Some(("s3://b/v".to_owned(), why.to_owned()));
        let fails =
            |kind, why: &str| health.note_failure(&RequestError { kind, why: why.to_owned() });
        assert_eq!(told(), None);
        fails(ErrorKind::Other, "nobody answers");
        fails(ErrorKind::Other, "nobody answers for 2 s");
        assert_eq!(told(), of("nobody answers"), "as it began");
        fails(ErrorKind::PermissionDenied, "ExpiredToken");
        assert_eq!(told(), of("ExpiredToken"));
        health.note_success();
        assert_eq!(told(), None);
        fails(ErrorKind::Other, "nobody answers");
        drop(Health::for_mount(folder.path()));
        assert_eq!(told(), None, "that was before");
    }
}
