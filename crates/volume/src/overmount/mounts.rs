//! The mount table, and what kind of file system lies behind a descriptor.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Type, such as `ext4`.
    pub kind: String,
    /// Device or export.
    pub source: String,
    /// Mounted read-only.
    pub read_only: bool,
    /// Device number, major and minor.
    pub device: (u32, u32),
    /// The file system's own options, such as `user_id=1000`.
    pub options: String,
}

/// File systems that show the kernel's own state; covering them makes no sense.
const SYSTEMS_OWN: [&str; 22] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
    "usbfs",
];

impl MountEntry {
    /// Whether it shows the kernel's own state rather than files.
    pub fn shows_kernel_state(&self) -> bool {
        SYSTEMS_OWN.contains(&self.kind.as_str())
    }
}

/// The mounts that this process sees.
///
/// # Errors
/// Where /proc is not mounted.
pub fn current_mounts() -> io::Result<Vec<MountEntry>> {
    mounts_of_process(Path::new("/proc/self"))
}

/// The mounts that a process sees, by its directory in /proc.
///
/// # Errors
/// Where it is not there, or not to be asked.
pub(crate) fn mounts_of_process(process: &Path) -> io::Result<Vec<MountEntry>> {
    Ok(parse_mountinfo(&std::fs::read(process.join("mountinfo"))?))
}

/// Lines of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)); strange lines are left out.
fn parse_mountinfo(text: &[u8]) -> Vec<MountEntry> {
    text.split(|byte| *byte == b'\n').filter_map(parse_mountinfo_line).collect()
}

fn parse_mountinfo_line(line: &[u8]) -> Option<MountEntry> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = words.iter().position(|word| *word == b"-")?;
    let text = |word: &[u8]| String::from_utf8_lossy(&unescape_octal(word)).into_owned();
    Some(MountEntry {
        point: PathBuf::from(OsString::from_vec(unescape_octal(words.get(4)?))),
        kind: text(words.get(dash + 1)?),
        source: text(words.get(dash + 2)?),
        read_only: words.get(5)?.split(|byte| *byte == b',').any(|option| option == b"ro"),
        device: {
            let (major, minor) = std::str::from_utf8(words.get(2)?).ok()?.split_once(':')?;
            (major.parse().ok()?, minor.parse().ok()?)
        },
        options: words.get(dash + 3).map(|options| text(options)).unwrap_or_default(),
    })
}

/// Blanks and backslashes are written as three octal digits.
fn unescape_octal(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let code = (byte == b'\\').then(|| tail.get(..3)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(value) => {
                out.push(value);
                rest = &tail[3..];
            }
            None => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    //! A mount that is not found below a covered directory would vanish from the run's view.
    use super::*;

    #[test]
    fn reads_the_table() {
        let text = b"36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
            37 36 0:5 / /mnt\\040two/proc ro,nosuid - proc proc rw\nnonsense\n";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].point, PathBuf::from("/mnt two"));
        assert_eq!((mounts[0].kind.as_str(), mounts[0].source.as_str()), ("ext3", "/dev/root"));
        assert_eq!((mounts[0].device, mounts[0].options.as_str()), ((98, 0), "rw,errors=continue"));
        assert!(!mounts[0].read_only && mounts[1].read_only && mounts[1].shows_kernel_state());
    }

    #[test]
    fn knows_where_it_stands() {
        assert!(
            current_mounts().expect("table").iter().any(|m| m.point == std::path::Path::new("/"))
        );
    }
}
