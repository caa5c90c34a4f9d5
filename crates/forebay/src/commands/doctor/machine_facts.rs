//! What several checks need to know of this machine: who asks, the kernel's settings, programs on
//! PATH, and a directory to try things in, which goes when the doctor does.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// This machine, as seen by this user.
#[derive(Debug)]
pub(super) struct MachineFacts {
    /// The kernel's release.
    pub(super) kernel: String,
    /// The caller is root, of this namespace at least.
    pub(super) root: bool,
    /// A private directory to try things in, or why there is none.
    pub(super) scratch: Result<PathBuf, String>,
}

impl MachineFacts {
    pub(super) fn inspect_machine() -> MachineFacts {
        MachineFacts {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            root: rustix::process::geteuid().is_root(),
            scratch: create_scratch_directory(),
        }
    }

    /// The caller, in words.
    pub(super) fn describe_user(&self) -> String {
        let number = rustix::process::geteuid().as_raw();
        let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok();
        match name {
            _ if self.root => "root".to_owned(),
            Some(name) => format!("{name} (uid {number})"),
            None => format!("uid {number}"),
        }
    }

    /// Root of the machine itself, not of a user namespace (user_namespaces(7)).
    pub(super) fn is_machine_root(&self) -> bool {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        self.root && maps_everybody(&map)
    }
}

impl Drop for MachineFacts {
    fn drop(&mut self) {
        if let Ok(dir) = &self.scratch {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

fn create_scratch_directory() -> Result<PathBuf, String> {
    let dir = std::env::temp_dir().join(format!("forebay-doctor-{}", std::process::id()));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&dir);
    made.map_err(|error| format!("{} can't be made: {error}", dir.display()))?;
    Ok(dir)
}

fn maps_everybody(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// A setting of the kernel's below /proc/sys, as a number; `None` where the kernel lacks it.
pub(super) fn read_sysctl(path: &str) -> Option<u64> {
    std::fs::read_to_string(Path::new("/proc/sys").join(path)).ok()?.trim().parse().ok()
}

/// Which of `programs` are on PATH.
pub(super) fn find_on_path<'a>(programs: &[&'a str]) -> Vec<&'a str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let there = |program: &&&str| dirs.iter().any(|dir| is_executable(&dir.join(program)));
    programs.iter().filter(there).copied().collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    //! Taken for root of the machine, a container's root would be promised what it can't have.
    use super::*;

    #[test]
    fn knows_roots_apart() {
        assert!(maps_everybody("         0          0 4294967295\n"));
        assert!(!maps_everybody("         0     100000      65536\n"));
        assert!(!maps_everybody("      1000       1000          1\n"));
        assert!(!maps_everybody(""));
    }

    #[test]
    fn finds_programs() {
        assert_eq!(find_on_path(&["sh", "no-such-program-here"]), ["sh"]);
    }
}
