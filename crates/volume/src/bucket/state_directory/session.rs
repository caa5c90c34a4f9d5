//! Whether a state directory is as it was left. What programs write is in memory first: a machine
//! that loses power keeps some of it and loses other parts, in no order. So the directory says
//! durably, before anything in it is changed, in which life of its file system that happens, and
//! after everything was flushed that nothing of it can be lost any more.

use std::io;

use serde::{Deserialize, Serialize};

use super::super::mount_identity::boot_and_mount_id;
use super::{StateDirectory, write_atomically};

const SESSION: &str = "session";

#[derive(Debug, Default, Serialize, Deserialize)]
struct FlushRecord {
    /// Where what is not flushed may be in memory still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    life: Option<String>,
    /// All of it was flushed after the last change.
    #[serde(default)]
    is_flushed: bool,
}

impl StateDirectory {
    /// Whether all is here that was written. `is_clean`: it was unmounted, as far as older versions
    /// say, which did not flush.
    pub(in crate::bucket) fn has_survived(&self, is_clean: bool) -> bool {
        let Ok(text) = std::fs::read(self.folder.join(SESSION)) else { return is_clean };
        let FlushRecord { life, is_flushed } = serde_json::from_slice(&text).unwrap_or_default();
        is_flushed || life.is_some() && life == boot_and_mount_id(&self.folder)
    }

    /// Nothing that is here is to be believed.
    ///
    /// # Errors
    /// Those of the file system.
    pub(in crate::bucket) fn mark_untrusted(&self) -> io::Result<()> {
        self.write_session(&FlushRecord::default())
    }

    /// From now on something may be here that a power failure takes away.
    ///
    /// # Errors
    /// Those of the file system.
    pub(in crate::bucket) fn begin_session(&self) -> io::Result<()> {
        self.write_session(&FlushRecord {
            life: boot_and_mount_id(&self.folder),
            is_flushed: false,
        })
    }

    /// Flushes all that is here; nothing may be changed any more.
    ///
    /// # Errors
    /// Those of the file system.
    pub(in crate::bucket) fn end_session(&self) -> io::Result<()> {
        self.flush_file_system()?;
        self.write_session(&FlushRecord { life: None, is_flushed: true })
    }

    /// Flushes the file system of the directory.
    ///
    /// # Errors
    /// Those of the file system.
    pub(in crate::bucket) fn flush_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(std::fs::File::open(&self.folder)?)?)
    }

    fn write_session(&self, session: &FlushRecord) -> io::Result<()> {
        let (file, text) = (self.folder.join(SESSION), serde_json::to_vec(session)?);
        match std::fs::read(&file) {
            // After a kill, perhaps on a full disk.
            Ok(before) if before == text => Ok(()),
            _ => write_atomically(&file, &text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_flushed_survives_another_life_of_the_file_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDirectory::lock_directory(folder.path(), "s3://b/v", "me").expect("taken");
        assert!(state.has_survived(true) && !state.has_survived(false), "an older version left it");
        state.begin_session().expect("begun");
        assert!(state.has_survived(false), "killed, and nothing else");
        let file = folder.path().join(SESSION);
        let text = std::fs::read_to_string(&file).expect("read");
        let other = FlushRecord { life: Some("another boot 8:1".to_owned()), is_flushed: false };
        std::fs::write(&file, serde_json::to_vec(&other).expect("text")).expect("written");
        assert!(!state.has_survived(false) && !state.has_survived(true), "not {text}");
        state.end_session().expect("ended");
        assert!(state.has_survived(false) && state.has_survived(true));
        std::fs::write(&file, "").expect("written");
        assert!(!state.has_survived(true), "nobody knows");
    }
}
