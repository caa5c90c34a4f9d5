//! Numbers of files, and their bytes, in words.

use forebay_model::ByteCount;

pub(crate) fn count(files: u64) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

pub(super) fn amount(files: u64, bytes: u64) -> String {
    format!("{} ({})", count(files), ByteCount(bytes))
}
