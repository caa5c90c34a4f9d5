//! Passthrough: reads and writes that go from program to storage without the daemon. Tried by a
//! run that writes a file, and by what the record says of it.

use std::path::Path;

use forebay_model::Run;
use forebay_os::file_systems::file_system_kind;
use forebay_volume::probe;

use super::finding::Finding;
use super::kernel::parse_kernel_version;
use super::machine_facts::MachineFacts;
use super::trial_run::run_in_fresh_directory;

/// What decides it.
struct PassthroughFacts<'a> {
    root: bool,
    root_of_the_machine: bool,
    release: &'a str,
    /// The kernel offers it; `None` when it could not be asked.
    offered: Option<bool>,
    /// What a run showed: bytes went past the daemon.
    hidden: Result<bool, String>,
    /// Type of the file system that was tried.
    tried_on: String,
    /// That of the current directory.
    here: Option<String>,
}

pub(super) fn run_check(here: &MachineFacts) -> Finding {
    let Ok(scratch) = &here.scratch else {
        return Finding::limited("not tried, for want of a directory")
            .fix_by_user("set TMPDIR to a directory that you may write");
    };
    finding_for(&PassthroughFacts {
        root: here.root,
        root_of_the_machine: here.is_machine_root(),
        release: &here.kernel,
        offered: probe::probe_fuse_protocol(scratch).ok().map(|protocol| protocol.passthrough),
        hidden: try_passthrough(scratch),
        tried_on: file_system_type(scratch).unwrap_or_else(|| "an unknown file system".to_owned()),
        here: file_system_type(Path::new(".")),
    })
}

fn file_system_type(directory: &Path) -> Option<String> {
    let directory = std::fs::File::open(directory).ok()?;
    file_system_kind(&directory).ok().map(|kind| kind.name)
}

fn try_passthrough(scratch: &Path) -> Result<bool, String> {
    run_in_fresh_directory(scratch, "passed", &["sh", "-c", "echo passed > file && cat file"])?;
    let text = |error: forebay_model::Error| error.to_string();
    let run = Run::open(&scratch.join("passed.run")).map_err(text)?;
    let allowed = run.trees().map_err(text)?.iter().any(|tree| tree.passthrough);
    let mut hidden = false;
    run.for_each_open(|row| hidden |= row.open.hidden).map_err(text)?;
    Ok(allowed && hidden)
}

fn finding_for(facts: &PassthroughFacts<'_>) -> Finding {
    let through = "reads and writes go through the daemon (some 1 GiB/s each stream)";
    match &facts.hidden {
        Err(why) => {
            return Finding::limited(format!("not tried: {why}"))
                .fix_by_user("mend what is missing above, then ask again");
        }
        Ok(true) if facts.here.as_deref() == Some("fuse") => {
            return Finding::limited(format!(
                "it works on {}, but not in this directory, which is \
                on FUSE itself: there {through}",
                facts.tried_on
            ))
            .fix_by_user("work in a directory on local storage");
        }
        Ok(true) => {
            let on = &facts.tried_on;
            return Finding::ok(format!(
                "reads and writes pass at the storage's own speed (on {on})"
            ));
        }
        Ok(false) => {}
    }
    if facts.offered == Some(false) {
        let found = Finding::limited(format!("the kernel has none: {through}"));
        return match parse_kernel_version(facts.release) {
            Some(version) if version >= (6, 9) => {
                found.fix_by_admin("a kernel with CONFIG_FUSE_PASSTHROUGH=y")
            }
            _ => found.fix_by_admin("Linux 6.9 or newer"),
        };
    }
    if !facts.root {
        return Finding::limited(format!("the kernel grants it to root alone: {through}"))
            .fix_by_user("nothing to mend; as root (CAP_SYS_ADMIN) the same run would be faster");
    }
    if !facts.root_of_the_machine {
        return Finding::limited(format!("root here is not root of the machine: {through}"))
            .fix_by_user("run outside the container, or without a user namespace");
    }
    Finding::limited(format!("{} can't lend its files to the kernel: {through}", facts.tried_on))
        .fix_by_user("work in a directory on ext4, xfs, btrfs or tmpfs")
}

#[cfg(test)]
mod tests {
    //! People choose machines by this line; its reason must be the true one.
    use super::super::finding::CheckStatus;
    use super::*;

    fn facts() -> PassthroughFacts<'static> {
        PassthroughFacts {
            root: true,
            root_of_the_machine: true,
            release: "6.18.44",
            offered: Some(true),
            hidden: Ok(false),
            tried_on: "ext4".into(),
            here: Some("ext4".into()),
        }
    }

    #[test]
    fn says_why_not() {
        let cases = [
            (PassthroughFacts { hidden: Err("no".into()), ..facts() }, "not tried: no"),
            (
                PassthroughFacts { offered: Some(false), release: "6.8.0-45-generic", ..facts() },
                "kernel has none",
            ),
            (PassthroughFacts { root: false, root_of_the_machine: false, ..facts() }, "root alone"),
            (PassthroughFacts { root_of_the_machine: false, ..facts() }, "not root of the machine"),
            (PassthroughFacts { tried_on: "fuse".into(), ..facts() }, "fuse can't lend"),
            (
                PassthroughFacts { hidden: Ok(true), here: Some("fuse".into()), ..facts() },
                "not in this directory",
            ),
        ];
        for (facts, reason) in cases {
            let found = finding_for(&facts);
            assert_eq!(found.standing, CheckStatus::Limited);
            assert!(found.means.contains(reason) && found.fixes.len() == 1, "{found:?}");
        }
        assert_eq!(
            finding_for(&PassthroughFacts { hidden: Ok(true), ..facts() }).standing,
            CheckStatus::Ok
        );
        let built_without = finding_for(&PassthroughFacts { offered: Some(false), ..facts() });
        assert!(built_without.fixes[0].what.contains("CONFIG_FUSE_PASSTHROUGH"));
    }
}
