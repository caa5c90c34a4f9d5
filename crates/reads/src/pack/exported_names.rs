//! What files are called in an archive.

use std::path::{Path, PathBuf};

use super::PackOptions;
use crate::error::{Error, Kind, Result};
use crate::exported_view::strip_packed_suffix;
use crate::manifest::ReadLayout;

/// `dir/x_R1.fastq.gz` shows as `x_R1.fastq`.
pub(super) fn exported_file_names(packing: &PackOptions, shape: ReadLayout) -> Result<Vec<String>> {
    let shown = |lanes: &Vec<PathBuf>| {
        let first = lanes.first().map_or(Path::new(""), PathBuf::as_path);
        let name = first.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let bare = strip_packed_suffix(&name);
        if bare == "-" { "reads.fastq".to_owned() } else { bare.to_owned() }
    };
    let mut names = packing.names.clone();
    if names.is_empty() {
        names = packing.inputs.iter().map(shown).collect();
    }
    let plain = |name: &String| {
        !(name.is_empty() || name.starts_with('.') || name.contains(['/', '\0', '\n']))
    };
    if names.len() != shape.file_count() || !names.iter().all(plain) {
        let words =
            format!("{} plain names of files are needed, not {names:?}", shape.file_count());
        return Err(Error::new(Kind::Request, words));
    }
    if names.len() == 2 && strip_packed_suffix(&names[0]) == strip_packed_suffix(&names[1]) {
        let words =
            format!("both files are called {}; give them names", strip_packed_suffix(&names[0]));
        return Err(Error::new(Kind::Request, words));
    }
    Ok(names)
}
