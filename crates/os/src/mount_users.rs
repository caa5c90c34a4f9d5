//! Who uses a mount: as far as /proc tells this user, in whatever namespace they are.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::process::Pid;

/// Users of a mount that are named.
const MOST_NAMED: usize = 8;

/// A process that uses a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountUser {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Processes with an open file, a mapping, or their working or root directory on one of these
/// devices (major, minor). What can't be asked is judged by its name: is it below `point`?
pub fn find_mount_users(devices: &[(u32, u32)], point: Option<&Path>) -> Vec<MountUser> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if found.len() < MOST_NAMED && process_uses_mount(&entry.path(), devices, point) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(MountUser { pid, name: name.trim_end().to_owned() });
        }
    }
    found
}

/// Whether the first thread of a process has ended: it is gone but for what waits in the kernel
/// (proc_pid_stat(5)).
pub fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

fn process_uses_mount(process: &Path, devices: &[(u32, u32)], point: Option<&Path>) -> bool {
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
    let mapped = fs::read(process.join("maps")).unwrap_or_default();
    ["cwd", "root", "exe"].iter().any(|link| leads(process.join(link)))
        || open.into_iter().any(|fd| leads(fd.path()))
        || mapped.split(|byte| *byte == b'\n').any(|line| {
            // Address, permissions, offset, device in hexadecimal (proc_pid_maps(5)).
            let device = line.split(|byte| *byte == b' ').nth(3);
            let device =
                device.and_then(|device| std::str::from_utf8(device).ok()?.split_once(':'));
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
