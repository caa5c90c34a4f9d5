//! Numbers of files, and their bytes, in words.

use forebay_model::ByteCount;

pub(crate) fn count_files(files: u64) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

pub(super) fn files_and_bytes(files: u64, bytes: u64) -> String {
    format!("{} ({})", count_files(files), ByteCount(bytes))
}
