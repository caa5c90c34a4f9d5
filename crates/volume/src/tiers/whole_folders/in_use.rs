//! Whether programs still work in a directory that stood for a folder: those of a run whose daemon was
//! killed do, for their files are not its to serve.

use std::collections::BTreeSet;
use std::path::Path;

/// Whether some process, as far as this user may ask, sees the directory as a mount (mountinfo, in
/// proc_pid_mountinfo(5)). Its name is in no other mount: nobody guesses it.
pub(super) fn is_shown_to_a_program(directory: &Path) -> bool {
    let Some(name) = directory.file_name() else { return false };
    let root = [b"/", name.as_encoded_bytes(), b" "].concat();
    let mut seen = BTreeSet::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = process.path();
        // Most see the same mounts.
        let Ok(mounts) = std::fs::read_link(process.join("ns/mnt")) else { continue };
        let is_new = seen.insert(mounts);
        if is_new
            && std::fs::read(process.join("mountinfo"))
                .is_ok_and(|table| table.windows(root.len()).any(|part| part == root))
        {
            return true;
        }
    }
    false
}
