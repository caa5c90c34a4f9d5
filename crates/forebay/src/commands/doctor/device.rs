//! FUSE in the kernel, and the door to it.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::MachineFacts;
use super::finding::Finding;

/// What is known of `/dev/fuse`.
struct DeviceFacts {
    /// The kernel lists FUSE among its file systems.
    in_kernel: bool,
    /// There is a node: mode bits; `None` when it is another device, or none.
    node: Option<Option<u32>>,
    /// Opening it.
    open: Result<(), i32>,
}

pub(super) fn run_check(_: &MachineFacts) -> Finding {
    let filesystems = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let node = std::fs::metadata("/dev/fuse").ok();
    let open = forebay_volume::fuse::open_device();
    finding_for(&DeviceFacts {
        in_kernel: lists_fuse(&filesystems),
        node: node.map(|node| is_fuse_device(&node).then(|| node.mode() & 0o777)),
        open: open.map(drop).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)),
    })
}

/// Character device 10:229 (the kernel's devices.txt).
fn is_fuse_device(node: &std::fs::Metadata) -> bool {
    node.file_type().is_char_device() && node.rdev() == libc::makedev(10, 229)
}

fn lists_fuse(filesystems: &str) -> bool {
    filesystems.lines().any(|line| line.split_whitespace().next_back() == Some("fuse"))
}

fn finding_for(facts: &DeviceFacts) -> Finding {
    let why = |code: i32| io::Error::from_raw_os_error(code);
    match (facts.node, facts.open) {
        (Some(None), _) => Finding::missing("/dev/fuse is not the FUSE device (10:229)")
            .fix_by_admin("rm /dev/fuse; mknod -m 666 /dev/fuse c 10 229"),
        (Some(_), Ok(())) if !facts.in_kernel => {
            Finding::missing("/dev/fuse opens, but the kernel lists no FUSE file system")
                .fix_by_admin("modprobe fuse")
        }
        (Some(_), Ok(())) => Finding::ok("/dev/fuse opens for reading and writing"),
        (None, _) if facts.in_kernel => {
            Finding::missing("the kernel has FUSE, but there is no /dev/fuse here")
                .fix_by_user("in a container: start it with `--device /dev/fuse`")
                .fix_by_admin("mknod -m 666 /dev/fuse c 10 229")
        }
        (None, _) => Finding::missing("the kernel has no FUSE, or has not loaded it").fix_by_admin(
            "modprobe fuse (and `echo fuse > /etc/modules-load.d/fuse.conf` to keep it)",
        ),
        (Some(Some(mode)), Err(libc::EACCES)) => {
            Finding::missing(format!("/dev/fuse is closed to this user (mode {mode:04o})"))
                .fix_by_admin(
                    "chmod 666 /dev/fuse (kept by a udev rule: KERNEL==\"fuse\", MODE=\"0666\")",
                )
        }
        (Some(_), Err(libc::EPERM)) => {
            Finding::missing("/dev/fuse is there, but the container's device rules forbid it")
                .fix_by_user("start the container with `--device /dev/fuse`")
        }
        (Some(_), Err(code)) => Finding::missing(format!("/dev/fuse does not open: {}", why(code)))
            .fix_by_admin("modprobe fuse"),
    }
}

#[cfg(test)]
mod tests {
    //! The commonest reason why nothing works; a wrong word here costs an afternoon.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn each_way_to_be_closed_has_its_own_answer() {
        let find = |in_kernel, node, open| finding_for(&DeviceFacts { in_kernel, node, open });
        assert_eq!(find(true, Some(Some(0o666)), Ok(())).standing, CheckStatus::Ok);
        let closed = [
            find(true, None, Err(libc::ENOENT)),
            find(false, None, Err(libc::ENOENT)),
            find(true, Some(Some(0o600)), Err(libc::EACCES)),
            find(true, Some(Some(0o666)), Err(libc::EPERM)),
            find(true, Some(Some(0o666)), Err(libc::ENODEV)),
            find(true, Some(None), Ok(())),
            find(false, Some(Some(0o666)), Ok(())),
        ];
        for (number, finding) in closed.iter().enumerate() {
            assert_eq!(finding.standing, CheckStatus::Missing);
            assert!(!finding.fixes.is_empty(), "{}", finding.means);
            assert!(closed[..number].iter().all(|other| other.means != finding.means));
        }
        assert!(closed[2].means.contains("0600"));
    }

    #[test]
    fn reads_the_kernels_list() {
        assert!(lists_fuse("nodev\tsysfs\nnodev\tfuse\n\tfuseblk\n"));
        assert!(!lists_fuse("nodev\tsysfs\n\tfuseblk\nnodev\tfusectl\n"));
    }
}
