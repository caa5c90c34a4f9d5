//! The last lines of a daemon's log, for whoever asks what became of it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The name of a log in its folder.
pub const LOG: &str = "daemon.log";
/// The same, before it was full.
pub const OLDER: &str = "daemon.log.1";

/// The last lines of the log in a folder, at most so many.
///
/// # Errors
/// Those of the file system; NotFound when no daemon wrote there.
pub fn last_lines(folder: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut lines = last_lines_of_file(&folder.join(LOG), most)?;
    if lines.len() < most
        && let Ok(mut older) = last_lines_of_file(&folder.join(OLDER), most - lines.len())
    {
        older.append(&mut lines);
        lines = older;
    }
    Ok(lines)
}

fn last_lines_of_file(path: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    // Lines have about a hundred bytes; long ones are met by looking further.
    let (all, mut back) = (file.metadata()?.len(), 64_u64 << 10);
    loop {
        let from = all.saturating_sub(back);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&mut file).take(all - from).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.lines().collect();
        if from > 0 {
            // The first is there in part.
            lines.remove(0);
        }
        if lines.len() >= most || from == 0 {
            let rest = &lines[lines.len().saturating_sub(most)..];
            return Ok(rest.iter().map(|line| (*line).to_owned()).collect());
        }
        back = back.saturating_mul(8);
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, who asks why a daemon died is told the wrong end of its log.
    use super::*;

    #[test]
    fn the_last_lines_are_told_over_both_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name, range: std::ops::Range<u32>| {
            let text: String = range.map(|n| format!("{n} {}\n", "x".repeat(100))).collect();
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        assert_eq!(
            last_lines(folder.path(), 1).map_err(|e| e.kind()),
            Err(io::ErrorKind::NotFound)
        );
        write(OLDER, 0..5000);
        write(LOG, 5000..9000);
        for (most, first, count) in [(1, 8999, 1), (3000, 6000, 3000), (5000, 4000, 5000)] {
            let lines = last_lines(folder.path(), most).expect("read");
            assert_eq!(lines.len(), count);
            assert!(lines[0].starts_with(&format!("{first} ")), "{}", lines[0]);
        }
        assert_eq!(last_lines(folder.path(), usize::MAX).expect("read").len(), 9000);
    }
}
