//! Sites and rules that are named, not pointed at: `--site aws` is the file of that name among the
//! user's own, the machine's, or those that came with the program.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// What a machine's administrators give to all users.
const MACHINE: &str = "/etc/forebay";

/// Reads the value of `--site`.
pub(crate) fn site_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|word| named_file(word, "sites", &search_folders()))
}

/// Reads the value of `--rules`.
pub(crate) fn rules_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|word| named_file(word, "rules", &search_folders()))
}

/// The site of the project, of the user or of the machine, where none is given.
pub(super) fn usual_sites() -> Vec<PathBuf> {
    let machine = PathBuf::from(MACHINE);
    let folders = user_folder().into_iter().chain([machine]).map(|folder| folder.join("site.toml"));
    [PathBuf::from(".forebay/site.toml")].into_iter().chain(folders).collect()
}

/// Where files with names are, the user's own first.
fn search_folders() -> Vec<PathBuf> {
    // Of `bin/forebay` that a package put there, whatever its prefix.
    let program = std::env::current_exe().ok();
    let shipped = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    let shipped = shipped.map(|prefix| prefix.join("share/forebay"));
    let user = user_folder().filter(|folder| is_of_this_user(folder));
    user.into_iter().chain([PathBuf::from(MACHINE)]).chain(shipped).collect()
}

fn user_folder() -> Option<PathBuf> {
    std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|config| config.join("forebay"))
}

/// Whether root may take a name from there: a site says where root writes, and whoever owns HOME
/// (sudo may keep it) can write it.
fn is_of_this_user(folder: &Path) -> bool {
    !rustix::process::geteuid().is_root()
        || std::fs::metadata(folder).is_ok_and(|meta| meta.uid() == 0)
}

/// The file that is meant by a word. A path means itself, and so does what is found nowhere, which
/// whoever opens it says.
fn named_file(word: OsString, kind: &str, folders: &[PathBuf]) -> PathBuf {
    let path = PathBuf::from(word);
    let is_name = path.components().count() == 1 && path.extension().is_none();
    if !is_name || path.exists() {
        return path;
    }
    let mut files = folders.iter().map(|folder| {
        let mut file = folder.join(kind).join(&path).into_os_string();
        file.push(".toml");
        PathBuf::from(file)
    });
    files.find(|file| file.is_file()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    //! If these fail, a name leads to another site than the user's, or a path is no path any more.
    use super::*;

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let all = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let folder = all.path().join(name);
            std::fs::create_dir_all(folder.join("sites")).expect("made");
            folder
        };
        let folders = [folder("user"), folder("machine")];
        let file = |folder: usize, name: &str| {
            let file = folders[folder].join("sites").join(name);
            std::fs::write(&file, "").expect("written");
            file
        };
        let (theirs, shared) = (file(0, "lab.toml"), file(1, "aws.toml"));
        file(1, "lab.toml");
        let file_of = |word: &str, kind: &str| super::named_file(word.into(), kind, &folders);
        assert_eq!(file_of("lab", "sites"), theirs, "the first folder wins");
        assert_eq!(file_of("aws", "sites"), shared);
        for (word, kind) in
            [("aws", "rules"), ("./aws", "sites"), ("aws.toml", "sites"), ("x", "sites")]
        {
            assert_eq!(file_of(word, kind), Path::new(word), "{kind}");
        }
    }
}
