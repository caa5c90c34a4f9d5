//! Shared libraries are searched in a data directory: LD_LIBRARY_PATH has an empty entry, which
//! means the current directory. Trinity does it: `LD_LIBRARY_PATH .= ":<dir>"`, when it was unset.

use super::{Evidence, Finding, group_thousands};
use crate::Micros;

const COUNT_MIN: u64 = 500;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let found =
        evidence.operations_by_class(|line| line.op == "lookup_failed" && is_library(&line.name));
    let count: u64 = found.iter().map(|line| line.count).sum();
    if count < COUNT_MIN {
        return None;
    }
    let seconds = evidence.wall_seconds(found.iter().map(|line| line.time).sum::<Micros>());
    Some(Finding::time_saving(
        seconds,
        format!(
            "Programs searched the data directory {} times for shared libraries that are not \
             there, because LD_LIBRARY_PATH starts or ends with an empty entry: `export \
             LD_LIBRARY_PATH=/usr/lib` before the run saves about {}.",
            group_thousands(count),
            super::estimated_time(seconds)
        ),
    ))
}

/// A class of names such as `out/libstdc++.so.#`, not below a directory of libraries.
fn is_library(class: &str) -> bool {
    let (directory, name) = class.rsplit_once('/').unwrap_or(("", class));
    let library = name.starts_with("lib") && (name.ends_with(".so") || name.contains(".so."));
    let subdirectory = matches!(name, "glibc-hwcaps" | "tls" | "haswell" | "x#_#" | "avx#_#");
    let at_home = directory.split('/').any(|d| matches!(d, "lib" | "lib#"));
    (library || subdirectory) && !at_home
}
