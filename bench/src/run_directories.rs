//! The ground that runs stand on: fresh directories on a known file system.
//!
//! As root: an ext4 *with a journal* on a loop image, mounted in a mount namespace of the bench's
//! own; the image is unlinked once mounted, so even kill -9 leaves no mount, no loop device and no
//! big file. Otherwise: a directory beside the results, on whatever file system that is.

use crate::error::{Error, ErrorContext, Kind, Result};
use crate::host_info;
use crate::saved_results::RunUser;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a ground is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Backing {
    /// ext4 with a journal on a loop image (root).
    Ext4,
    /// Memory (root): the hardest comparison for data.
    Tmpfs,
    /// The directory of the results, as it is.
    Plain,
}

/// Fresh directories, and a scratch directory outside of them.
#[derive(Debug)]
pub struct RunDirectories {
    base: PathBuf,
    top: PathBuf,
    /// For run files, results and logs; never covered.
    pub scratch: PathBuf,
    /// What it is and what was left out: one line each.
    pub conditions: Vec<String>,
    mounted: bool,
    user: u32,
    made: std::cell::Cell<u32>,
}

impl RunDirectories {
    /// Prepares a ground below `results`; `gib` is the size of the image.
    pub fn prepare(results: &Path, backing: Backing, gib: u64, user: u32) -> Result<Self> {
        std::fs::create_dir_all(results).with_context("create", results)?;
        let results = results.canonicalize().with_context("find", results)?;
        remove_stale_grounds(&results);
        let base = results.join(format!("ground-{}", std::process::id()));
        let top = base.join("top");
        let scratch = base.join("scratch");
        for dir in [&base, &top, &scratch] {
            std::fs::create_dir_all(dir).with_context("create", dir)?;
            let mode = if dir == &scratch { 0o1777 } else { 0o755 };
            std::fs::set_permissions(dir, PermissionsExt::from_mode(mode))
                .with_context("open up", dir)?;
        }
        let made = std::cell::Cell::new(0);
        let mut ground =
            Self { base, top, scratch, conditions: Vec::new(), mounted: false, user, made };
        if host_info::is_root() {
            enter_private_namespace()?;
            ground.mount_backing(backing, gib)?;
            ground.open_fuse_device()?;
        } else {
            ground.conditions.push(
                "no root: no loop image, no cold reads, no passthrough rows; the file system is \
                 not known to have a journal"
                    .to_owned(),
            );
        }
        let on = host_info::describe_mount(&ground.top);
        ground.conditions.push(format!("directories on {on}"));
        Ok(ground)
    }

    fn mount_backing(&mut self, backing: Backing, gib: u64) -> Result<()> {
        match backing {
            Backing::Plain => {
                self.conditions.push("directories beside the results, no image".to_owned());
                return Ok(());
            }
            Backing::Tmpfs => {
                let size = format!("size={gib}G,mode=755");
                run_tool(
                    "mount",
                    &["-t", "tmpfs", "-o", &size, "forebay-bench", path_to_str(&self.top)?],
                )?;
            }
            Backing::Ext4 => {
                let image = self.base.join("image");
                let file = std::fs::File::create(&image).with_context("create", &image)?;
                file.set_len(gib << 30).with_context("size", &image)?;
                drop(file);
                let eager = "lazy_itable_init=0,lazy_journal_init=0";
                let options = ["-q", "-F", "-J", "size=128", "-N", "500000", "-E", eager];
                run_tool("mkfs.ext4", &[&options[..], &[path_to_str(&image)?]].concat())?;
                run_tool(
                    "mount",
                    &["-o", "loop,relatime", path_to_str(&image)?, path_to_str(&self.top)?],
                )?;
                std::fs::remove_file(&image).with_context("unlink", &image)?;
                self.conditions.push(format!(
                    "ext4 with a 128 MiB journal on a sparse loop image of {gib} GiB, itself on {}",
                    host_info::describe_mount(&self.base)
                ));
            }
        }
        self.mounted = true;
        Ok(())
    }

    /// In this namespace every user may open /dev/fuse, as on most machines.
    fn open_fuse_device(&mut self) -> Result<()> {
        let device = Path::new("/dev/fuse");
        let mode = std::fs::metadata(device).with_context("look at", device)?.permissions().mode();
        if mode & 0o666 == 0o666 {
            return Ok(());
        }
        let node = self.base.join("fuse");
        run_tool("mknod", &["-m", "666", path_to_str(&node)?, "c", "10", "229"])?;
        run_tool("mount", &["--bind", path_to_str(&node)?, "/dev/fuse"])?;
        let shown = mode & 0o777;
        self.conditions.push(format!(
            "/dev/fuse has mode {shown:o} here; a node with mode 666 was bound over it for the bench"
        ));
        Ok(())
    }

    /// A fresh directory that belongs to `who`, directly below the root of the file system (so that
    /// ext4 gives it a block group of its own). All names have the same length.
    pub fn create_run_directory(&self, who: RunUser) -> Result<PathBuf> {
        let number = self.made.get();
        self.made.set(number + 1);
        let dir = self.top.join(format!("run-{number:05}"));
        std::fs::create_dir(&dir).with_context("create", &dir)?;
        self.hand_over(&dir, who)?;
        Ok(dir)
    }

    /// A fresh directory in memory that belongs to `who`.
    pub fn create_memory_directory(&self, who: RunUser) -> Result<PathBuf> {
        let number = self.made.get();
        self.made.set(number + 1);
        let name = format!("{}{}-{number}", IN_MEMORY.1, std::process::id());
        let dir = Path::new(IN_MEMORY.0).join(name);
        std::fs::create_dir(&dir).with_context("create", &dir)?;
        self.hand_over(&dir, who)?;
        Ok(dir)
    }

    /// Gives a directory to `who`.
    pub fn hand_over(&self, dir: &Path, who: RunUser) -> Result<()> {
        if let Some(uid) = self.launch_uid(who) {
            chown(dir, Some(uid), Some(uid)).with_context("hand over", dir)?;
        }
        Ok(())
    }

    /// Removes a fresh directory and writes what is dirty, so that the next run starts clean.
    pub fn remove_and_sync(&self, dir: &Path) -> Result<()> {
        std::fs::remove_dir_all(dir).with_context("remove", dir)?;
        host_info::sync_file_system(&self.top)
    }

    /// The user id to start a command with; none for the bench's own.
    pub fn launch_uid(&self, who: RunUser) -> Option<u32> {
        (who == RunUser::User && host_info::is_root()).then_some(self.user)
    }

    /// State and, for the ordinary user, home directories of their own: nothing of the caller's.
    pub fn environment_for(&self, who: RunUser) -> Result<Vec<(&'static str, OsString)>> {
        let state = self.owned_directory(&format!("state-{who}"), who)?;
        let mut variables = vec![("XDG_STATE_HOME", state.into_os_string())];
        if who == RunUser::User {
            variables.push(("HOME", self.owned_directory("home-user", who)?.into_os_string()));
        }
        Ok(variables)
    }

    fn owned_directory(&self, name: &str, who: RunUser) -> Result<PathBuf> {
        let dir = self.scratch.join(name);
        std::fs::create_dir_all(&dir).with_context("create", &dir)?;
        self.hand_over(&dir, who)?;
        Ok(dir)
    }

    /// A copy of `program` that a rebuild during the bench cannot change and every user can run.
    pub fn copy_program(&self, program: &Path, name: &str) -> Result<PathBuf> {
        let copy = self.scratch.join(name);
        std::fs::copy(program, &copy).with_context("copy", program)?;
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755))
            .with_context("open up", &copy)?;
        Ok(copy)
    }
}

impl Drop for RunDirectories {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily: the namespace ends with this process anyhow.
            let _ = Command::new("umount").arg("-l").arg(&self.top).status();
        }
        if let Err(cause) = std::fs::remove_dir_all(&self.base) {
            eprintln!("could not remove {}: {cause}", self.base.display());
        }
    }
}

/// Where directories in memory are, and how their names begin; the number of the bench follows.
const IN_MEMORY: (&str, &str) = ("/dev/shm", "forebay-bench-");

/// Removes the directories of benches that were killed.
fn remove_stale_grounds(results: &Path) {
    for (place, prefix) in [(results, "ground-"), (Path::new(IN_MEMORY.0), IN_MEMORY.1)] {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
            let pid = number.and_then(|number| number.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                // Another bench may be removing it.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn enter_private_namespace() -> Result<()> {
    // SAFETY: no other thread exists yet, and no memory is concerned.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(std::io::Error::last_os_error())
            .with_context("unshare mounts for", Path::new("/"));
    }
    run_tool("mount", &["--make-rprivate", "/"])
}

fn path_to_str(path: &Path) -> Result<&str> {
    let cause = || Error::new(Kind::Usage, format!("{} is not UTF-8", path.display()));
    path.to_str().ok_or_else(cause)
}

fn run_tool(program: &str, words: &[&str]) -> Result<()> {
    let done =
        Command::new(program).args(words).output().with_context("run", Path::new(program))?;
    if done.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&done.stderr);
    Err(Error::new(Kind::System, format!("{program} {}: {}", words.join(" "), why.trim())))
}
