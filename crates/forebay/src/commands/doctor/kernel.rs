//! The kernel's version, and the FUSE protocol that it really speaks.

use forebay_volume::overmount::NamespaceError;
use forebay_volume::probe::{self, FuseProtocol};

use super::MachineFacts;
use super::finding::Finding;

/// The first protocol that is spoken here: Linux 5.4.
const OLDEST: (u32, u32) = (7, 31);

pub(super) fn run_check(here: &MachineFacts) -> Finding {
    finding_for(&here.kernel, here.scratch.as_ref().ok().map(|dir| probe::probe_fuse_protocol(dir)))
}

fn finding_for(release: &str, protocol: Option<Result<FuseProtocol, NamespaceError>>) -> Finding {
    let linux = format!("Linux {release}");
    match protocol {
        Some(Ok(spoken)) if (spoken.major, spoken.minor) < OLDEST => {
            let FuseProtocol { major, minor, .. } = spoken;
            Finding::missing(format!("{linux} speaks FUSE {major}.{minor}; 7.31 is needed"))
                .fix_by_admin("Linux 5.4 or newer")
        }
        Some(Ok(FuseProtocol { major, minor, .. })) => {
            Finding::ok(format!("{linux} speaks FUSE {major}.{minor}"))
        }
        _ if parse_kernel_version(release).is_some_and(|version| version < (5, 4)) => {
            Finding::missing(format!("{linux} is too old")).fix_by_admin("Linux 5.4 or newer")
        }
        Some(Err(closed)) => {
            Finding::limited(format!("{linux}; its FUSE can't be asked: {} failed", closed.step))
                .fix_by_user("mend what is missing in this list, then ask again")
        }
        None => {
            Finding::limited(format!("{linux}; its FUSE was not asked, for want of a directory"))
                .fix_by_user("set TMPDIR to a directory that you may write")
        }
    }
}

/// Major and minor of a release such as `6.8.0-45-generic`.
pub(super) fn parse_kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    //! An old kernel must be told before a night's run is started on it.
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn old_and_new_kernels() {
        let spoken = |minor| Some(Ok(FuseProtocol { major: 7, minor, passthrough: false }));
        assert_eq!(finding_for("6.18.44", spoken(45)).means, "Linux 6.18.44 speaks FUSE 7.45");
        assert_eq!(
            finding_for("4.18.0-553.el8_10.x86_64", spoken(27)).standing,
            CheckStatus::Missing
        );
        assert_eq!(finding_for("5.4.0", spoken(31)).standing, CheckStatus::Ok);
        let closed =
            NamespaceError { step: "opening /dev/fuse".into(), error: std::io::Error::other("") };
        assert_eq!(finding_for("6.1.0", Some(Err(closed))).standing, CheckStatus::Limited);
        assert_eq!(finding_for("3.10.0-1160.el7", None).standing, CheckStatus::Missing);
    }

    #[test]
    fn reads_releases() {
        assert_eq!(parse_kernel_version("6.8.0-45-generic"), Some((6, 8)));
        assert_eq!(parse_kernel_version("6.18.44-fc-v470"), Some((6, 18)));
        assert_eq!(parse_kernel_version("5"), None);
        assert_eq!(parse_kernel_version(""), None);
    }
}
