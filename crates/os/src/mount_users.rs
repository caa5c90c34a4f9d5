//! Who uses a mount: as far as /proc tells this user, in whatever namespace they are.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::process::Pid;

/// Users of a mount that are named.
const MOST_NAMED: usize = 8;

/// How long the kernel may take to list what a process has mapped. It takes the lock of its memory
/// for that (proc_pid_maps(5)), which a process may hold for as long as it waits for a file system.
const PATIENCE: Duration = Duration::from_millis(500);

/// A process that uses a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountUser {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// What a look for users of a mount has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountUsers {
    /// Those that use it, eight at most.
    pub known: Vec<MountUser>,
    /// Those that may have mapped a file of it: the kernel does not say what they have mapped, for
    /// they wait with their memory locked, for this file system or for another.
    pub doubtful: Vec<MountUser>,
}

impl MountUsers {
    /// Whether certainly nobody uses the mount, as far as this user may ask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.doubtful.is_empty()
    }
}

/// Processes with an open file, a mapping, or their working or root directory on one of these
/// devices (major, minor). What can't be asked is judged by its name: is it below `point`?
/// A process that waits for ever does not make who looks wait, too.
pub fn find_mount_users(devices: &[(u32, u32)], point: Option<&Path>) -> MountUsers {
    static MAPPINGS: Mutex<Option<MappingReader>> = Mutex::new(None);
    let mut mappings = MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let mappings = mappings.get_or_insert_default();
    find_users_below(Path::new("/proc"), devices, point, mappings)
}

fn find_users_below(
    proc: &Path,
    devices: &[(u32, u32)],
    point: Option<&Path>,
    mappings: &mut MappingReader,
) -> MountUsers {
    let mut users = MountUsers::default();
    mappings.late.retain(|pid, _| proc.join(pid.to_string()).exists());
    for entry in fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if users.known.len() == MOST_NAMED {
            break;
        }
        let process = entry.path();
        let list = match has_open(&process, devices, point) {
            true => &mut users.known,
            false => match mappings.read(pid, &process) {
                Some(mapped) if maps_device(&mapped, devices) => &mut users.known,
                Some(_) => continue,
                None => &mut users.doubtful,
            },
        };
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        list.push(MountUser { pid, name: name.trim_end().to_owned() });
    }
    users
}

/// Reads what processes have mapped, and leaves behind those of which the kernel does not say it.
#[derive(Debug, Default)]
struct MappingReader {
    /// Where the answers about them will come, from threads that wait for the kernel.
    late: HashMap<u32, Receiver<Vec<u8>>>,
}

impl MappingReader {
    /// The lines of `maps` of a process; none if it may not be asked or has ended. `None`: the
    /// kernel has not answered.
    fn read(&mut self, pid: u32, process: &Path) -> Option<Vec<u8>> {
        if let Some(answer) = self.late.get(&pid) {
            let mapped = answer.try_recv().ok()?;
            self.late.remove(&pid);
            return Some(mapped);
        }
        let (gives, answer) = mpsc::sync_channel(1);
        let maps = process.join("maps");
        // A thread for each: one that waits for the kernel can't be taken back.
        let thread = std::thread::Builder::new().name("maps".to_owned()).spawn(move || {
            // Who asked may have gone.
            let _ = gives.send(fs::read(maps).unwrap_or_default());
        });
        thread.ok()?;
        match answer.recv_timeout(PATIENCE) {
            Ok(mapped) => Some(mapped),
            Err(RecvTimeoutError::Timeout) => {
                self.late.insert(pid, answer);
                None
            }
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// Whether the first thread of a process has ended: it is gone but for what waits in the kernel
/// (proc_pid_stat(5)).
pub fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// Whether a process has a file, its working or root directory, or its program on one of the devices.
fn has_open(process: &Path, devices: &[(u32, u32)], point: Option<&Path>) -> bool {
    let leads = |link: PathBuf| {
        // The device alone, as the kernel knows it: no file system is asked, for it may be gone, or
        // its daemon may be who asks.
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        match statx(CWD, &link, flags, StatxFlags::empty()) {
            Ok(stat) => devices.contains(&(stat.stx_dev_major, stat.stx_dev_minor)),
            Err(_) => point.is_some_and(|point| {
                fs::read_link(&link).is_ok_and(|to| is_below(to.as_os_str(), point))
            }),
        }
    };
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    ["cwd", "root", "exe"].iter().any(|link| leads(process.join(link)))
        || open.into_iter().any(|fd| leads(fd.path()))
}

/// Whether lines of `maps` show a file of one of the devices.
fn maps_device(mapped: &[u8], devices: &[(u32, u32)]) -> bool {
    mapped.split(|byte| *byte == b'\n').any(|line| {
        // Address, permissions, offset, device in hexadecimal (proc_pid_maps(5)).
        let device = line.split(|byte| *byte == b' ').nth(3);
        let device = device.and_then(|device| std::str::from_utf8(device).ok()?.split_once(':'));
        device.is_some_and(|(major, minor)| {
            let number = |digits| u32::from_str_radix(digits, 16).unwrap_or_default();
            devices.contains(&(number(major), number(minor)))
        })
    })
}

fn is_below(path: &OsStr, point: &Path) -> bool {
    let rest = path.as_bytes().strip_prefix(point.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{MappingReader, MountUser, MountUsers, find_users_below};

    fn user(pid: u32, name: &str) -> MountUser {
        MountUser { pid, name: name.to_owned() }
    }

    /// A named pipe without a writer makes who opens it wait, as the kernel does with `maps` of a
    /// process whose memory is locked.
    #[test]
    fn who_waits_with_its_memory_locked_makes_nobody_wait() {
        let proc = tempfile::tempdir().expect("a directory");
        for (pid, name) in [(7, "stuck"), (8, "maps-it"), (9, "other")] {
            let process = proc.path().join(pid.to_string());
            std::fs::create_dir(&process).expect("made");
            std::fs::write(process.join("comm"), format!("{name}\n")).expect("written");
            let maps = format!("7f00-7f01 r--p 00000000 00:{pid:02x} 12 /some/file\n");
            match name {
                "stuck" => mknodat(CWD, process.join("maps"), FileType::Fifo, Mode::RWXU, 0)
                    .expect("a pipe"),
                _ => std::fs::write(process.join("maps"), maps).expect("written"),
            }
        }
        let mut mappings = MappingReader::default();
        let mut look = |device| find_users_below(proc.path(), &[device], None, &mut mappings);
        let stuck = user(7, "stuck");
        // On a busy machine the others' answers may come late, too.
        let mut sees = |device, known: Vec<MountUser>, doubtful: Vec<MountUser>| {
            let expected = MountUsers { known, doubtful };
            let seen = (0..600).any(|_| {
                let is_so = look(device) == expected;
                std::thread::sleep(std::time::Duration::from_millis(if is_so { 0 } else { 50 }));
                is_so
            });
            assert!(seen, "{expected:?} was never seen");
        };
        sees((0, 8), vec![user(8, "maps-it")], vec![stuck.clone()]);
        sees((0, 10), vec![], vec![stuck.clone()]);
        std::fs::write(proc.path().join("7/maps"), "7f00-7f01 r--p 0 00:0a 12 /some/file\n")
            .expect("told");
        sees((0, 10), vec![stuck], vec![]);
    }
}
