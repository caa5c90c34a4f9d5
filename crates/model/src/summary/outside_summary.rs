//! What went outside the covered trees, and what to cover next time.

use super::{OutsideDirectory, OutsideSummary};
use crate::run_rows::ProcessRow;
use crate::tasks::{base_name, program_name};
use crate::{ByteCount, DirectoryTree, OutsideFile};
use std::collections::BTreeMap;

/// Directories of programs and of the system: reads there are no data.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/var/lib"];

/// Names of directories of programs, wherever they are (conda environments, unpacked tools).
const PROGRAM_DIRECTORIES: &[&str] =
    &["lib", "lib64", "libexec", "bin", "site-packages", "node_modules", "__pycache__"];

/// Directories in which there are no files of anybody.
const NO_FILES: &[&str] = &["/dev", "/proc", "/sys", "/run"];

/// Less than this, or less than a twentieth of all bytes, is not worth a word.
const WORTH_BYTES: u64 = 16 << 20;

pub(super) fn summarize_outside(
    trees: &[DirectoryTree],
    outside: &[OutsideFile],
    processes: &[ProcessRow],
    inside_bytes: u64,
) -> OutsideSummary {
    let mut directories: BTreeMap<&[u8], OutsideDirectory> = BTreeMap::new();
    for seen in outside.iter().filter(|seen| is_data(seen)) {
        let row = directories.entry(&seen.directory).or_insert_with(|| OutsideDirectory {
            path: String::from_utf8_lossy(&seen.directory).into_owned(),
            ..OutsideDirectory::default()
        });
        row.bytes += seen.bytes;
        row.write |= seen.write;
    }
    let bytes: ByteCount = directories.values().map(|d| d.bytes).sum();
    let all = bytes.0 + inside_bytes;
    let share = (all > 0).then(|| bytes.0 as f64 / all as f64);
    let at = share
        .filter(|&s| s >= 0.05 && bytes.0 >= WORTH_BYTES)
        .and_then(|_| propose_directory(&directories));
    let mut directories: Vec<OutsideDirectory> = directories.into_values().collect();
    directories.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    directories.truncate(5);
    let (moves, moves_all) = count_moves(trees, processes).unzip();
    OutsideSummary { bytes, share, directories, moves, moves_all, at }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || directory.ends_with(b"/"))
}

/// Whether it was data of the run, not a program, a library or a device.
pub(super) fn is_data(seen: &OutsideFile) -> bool {
    let in_any = |list: &[&str]| list.iter().any(|d| is_below(&seen.directory, d.as_bytes()));
    let of_program = || {
        let mut parts = seen.directory.split(|&b| b == b'/');
        parts.any(|part| PROGRAM_DIRECTORIES.iter().any(|name| name.as_bytes() == part))
    };
    !in_any(NO_FILES) && (seen.write || !(in_any(SYSTEM) || of_program()))
}

/// The directory that covers most: `/tmp` whole, elsewhere two levels (`/data/ref`).
fn propose_directory(directories: &BTreeMap<&[u8], OutsideDirectory>) -> Option<String> {
    let mut covers: BTreeMap<String, u64> = BTreeMap::new();
    for directory in directories.values() {
        let levels = if directory.path.starts_with("/tmp/") { 1 } else { 2 };
        let mut parts = directory.path.split('/').filter(|part| !part.is_empty());
        let cover: String = parts.by_ref().take(levels).flat_map(|part| ["/", part]).collect();
        *covers.entry(cover).or_default() += directory.bytes.0;
    }
    covers.retain(|cover, _| !cover.is_empty());
    covers.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(cover, _)| cover)
}

/// How many `mv`, `ln` and `cp` crossed the edge, and how many there were; `None` when command
/// lines were left out.
fn count_moves(trees: &[DirectoryTree], processes: &[ProcessRow]) -> Option<(u64, u64)> {
    if processes.iter().all(|row| row.argv.is_empty()) {
        return None;
    }
    let movers = processes.iter().filter(|row| matches!(&*program_name(row), "mv" | "ln" | "cp"));
    let mut counts = (0, 0);
    for row in movers {
        let Some(operands) = file_operands(row) else { continue };
        counts.1 += 1;
        let is_inside = |path: &Vec<u8>| trees.iter().any(|tree| is_below(path, &tree.path));
        counts.0 += u64::from(operands.iter().any(|path| !is_inside(path)));
    }
    Some(counts)
}

/// The absolute source and destination paths of `mv`, `ln`, `cp`; `None` if they cannot be told.
fn file_operands(row: &ProcessRow) -> Option<Vec<Vec<u8>>> {
    let cwd = row.cwd.as_deref()?;
    let words = row.argv.get(1..)?;
    let mut plain: Vec<&[u8]> = Vec::new();
    let mut only_plain = false;
    for word in words {
        match word.as_slice() {
            b"--" if !only_plain => only_plain = true,
            [b'-', _, ..] if !only_plain => {
                plain.extend(word.strip_prefix(b"--target-directory="));
            }
            word => plain.push(word),
        }
    }
    // The target of a symbolic link is a text, not a file that is touched: only its place counts.
    let symbolic = base_name(&row.argv[0]) == b"ln"
        && words.iter().any(|w| {
            w == b"--symbolic"
                || (w.starts_with(b"-") && !w.starts_with(b"--") && w.contains(&b's'))
        });
    if symbolic {
        let last = plain.pop()?;
        plain = vec![last];
    }
    (!plain.is_empty()).then(|| plain.into_iter().map(|path| absolute_path(cwd, path)).collect())
}

/// An absolute path without `.` and `..`.
fn absolute_path(cwd: &[u8], path: &[u8]) -> Vec<u8> {
    let start = if path.starts_with(b"/") { &b""[..] } else { cwd };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in start.split(|&b| b == b'/').chain(path.split(|&b| b == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.into_iter().flat_map(|part| [b"/", part].concat()).collect()
}

#[cfg(test)]
mod tests {
    //! If these fail, a user is told to cover the wrong directory, or that all was seen.
    use super::*;
    use crate::tasks::tests::process;
    use crate::{ProcessId, TreeId};

    fn tree() -> Vec<DirectoryTree> {
        vec![DirectoryTree {
            id: TreeId(0),
            path: b"/p".to_vec(),
            fs_type: "ext4".into(),
            passthrough: false,
            device: None,
            tier: None,
        }]
    }

    fn seen(directory: &str, mib: u64, write: bool) -> OutsideFile {
        let directory = directory.as_bytes().to_vec();
        OutsideFile { process: ProcessId(1), directory, bytes: ByteCount(mib << 20), write }
    }

    #[test]
    fn the_directory_that_covers_most_is_proposed() {
        let outside = [
            seen("/data/ref/hg38", 300, false),
            seen("/data/ref/dbsnp", 100, false),
            seen("/tmp/job1/x", 200, true),
            seen("/usr/lib/x86_64-linux-gnu", 900, false),
            seen("/home/me/miniconda3/envs/x/lib/python3.11", 900, false),
            seen("/dev/shm", 900, true),
        ];
        let found = summarize_outside(&tree(), &outside, &[], 600 << 20);
        assert_eq!(found.at.as_deref(), Some("/data/ref"));
        assert_eq!((found.bytes, found.share), (ByteCount(600 << 20), Some(0.5)));
        assert_eq!(found.directories[0].path, "/data/ref/hg38");
        assert_eq!(found.moves, None);
        assert_eq!(
            summarize_outside(&tree(), &outside[2..3], &[], 1 << 20).at.as_deref(),
            Some("/tmp")
        );
        assert_eq!(
            summarize_outside(&tree(), &[seen("/data", 1, false)], &[], 0).at,
            None,
            "too little"
        );
    }

    #[test]
    fn moves_across_the_edge_are_counted() {
        for (line, crosses) in [
            ("mv a.tmp b", false),
            ("mv a ../../q/b", true),
            ("cp -f /p/x/../y b", false),
            ("cp --target-directory=/q a", true),
            ("ln -s /elsewhere/ref.fa ref.fa", false),
            ("ln a /q/a", true),
            ("cp --help", false),
        ] {
            let mut row = process(1, None, line);
            row.cwd = Some(b"/p/work".to_vec());
            let all = u64::from(line != "cp --help");
            assert_eq!(count_moves(&tree(), &[row]), Some((u64::from(crosses), all)), "{line}");
        }
    }
}
