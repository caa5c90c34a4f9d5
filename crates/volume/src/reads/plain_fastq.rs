//! Files of reads that are shown as plain FASTQ: read once when they are attached, and looked at
//! again before they are shown. What was learned lies in the volume.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_model::{Attachment, is_file_name};
use forebay_reads::{
    DirectoryObjects, Error, IndexedFile, Kind, ObjectSource, OriginalFile, OriginalFileSet,
    build_index, is_original,
};
use rustix::fs::{FileType, Stat, stat};

use super::empty::ExportedAttributes;
use super::error::ReadsError;
use super::learned::{learned_index_path, open_learned_index, write_learned_index};
use super::prepared_reads::{PreparedReads, ReadsSource, create_stand_ins};
use super::source_location::SourceLocation;
use crate::bucket::BucketAccess;

impl From<io::Error> for ReadsError {
    fn from(error: io::Error) -> ReadsError {
        ReadsError { plain: true, ..ReadsError::new(Kind::Io, error.to_string()) }
    }
}

fn to_plain_error(error: Error) -> ReadsError {
    ReadsError { plain: true, ..ReadsError::new(error.kind, error.message) }
}

fn plain_error(kind: Kind, why: String) -> ReadsError {
    ReadsError { plain: true, ..ReadsError::new(kind, why) }
}

/// Reads `source`, a file or all files of reads in a directory, with so many threads, and keeps what
/// is learned for `at` in the volume. Gives what is shown.
///
/// # Errors
/// There is none, one can't be shown, or the volume can't hold the index.
pub fn index_original_files(
    volume: &Path,
    at: &Path,
    source: &Path,
    threads: usize,
    progress: impl FnMut(u64) + Send,
) -> Result<Vec<IndexedFile>, ReadsError> {
    let originals = find_original_files(source)?;
    // Their names are whole paths.
    let objects: Arc<dyn ObjectSource> = Arc::new(DirectoryObjects::new(Path::new("/")));
    write_learned_index(volume, at, |file| {
        let mut out = io::BufWriter::new(file);
        let learned = build_index(&objects, &originals, threads, &mut out, progress)
            .map_err(to_plain_error)?;
        io::Write::flush(&mut out)?;
        Ok(learned)
    })
}

fn find_original_files(source: &Path) -> Result<Vec<OriginalFile>, ReadsError> {
    let paths: Vec<PathBuf> = match source.is_dir() {
        false => vec![source.to_owned()],
        true => {
            let entries = source.read_dir()?.collect::<io::Result<Vec<_>>>()?;
            let ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(is_original);
            let names = entries.iter().filter(|entry| ours(&entry.file_name()));
            let real = names.map(|entry| entry.path().canonicalize());
            let mut paths = real.collect::<io::Result<Vec<_>>>()?;
            paths.sort();
            paths
        }
    };
    if paths.is_empty() {
        let why = "it has no file that ends in .fastq.gz, .fq.gz or .cram".to_owned();
        return Err(plain_error(Kind::Input, why));
    }
    let original = |path: &PathBuf| {
        let name = path.to_str().ok_or_else(|| {
            plain_error(Kind::Input, format!("{} is no Unicode text", path.display()))
        })?;
        Ok(OriginalFile {
            name: name.to_owned(),
            changed: modification_time(&stat_regular_file(path)?),
        })
    };
    paths.iter().map(original).collect()
}

/// What is there: whoever opened a pipe would wait.
fn stat_regular_file(path: &Path) -> Result<Stat, ReadsError> {
    let at = |why: String| plain_error(Kind::Io, format!("{}: {why}", path.display()));
    let found = stat(path).map_err(|error| at(io::Error::from(error).to_string()))?;
    match FileType::from_raw_mode(found.st_mode).is_file() {
        true => Ok(found),
        false => Err(at("it is no file".to_owned())),
    }
}

fn modification_time(stat: &Stat) -> (i64, u32) {
    (stat.st_mtime, stat.st_mtime_nsec as u32)
}

/// Opens the files that are attached, which have to be those that were read, and takes a directory
/// for what they show.
///
/// # Errors
/// One is another now, or gone; what was learned is damaged or gone; the file system refuses.
pub(crate) fn prepare_plain_files(
    volume: &Path,
    one: &Attachment,
    ways: &BucketAccess,
) -> Result<PreparedReads, ReadsError> {
    let path = learned_index_path(volume, &one.at);
    let name = path.display().to_string();
    let file = open_learned_index(volume, &one.at).map_err(|error| {
        // What is gone, or not ours, is learned anew. Whatever else the system says is no fault of it.
        let kind = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Kind::Damaged,
            _ => Kind::Io,
        };
        plain_error(kind, format!("{name}: {error}"))
    })?;
    // Each file is looked at now, before anything covers it, and opened again when it is read: in
    // directories that are held, since there may be more files than a process may have open.
    let directory =
        DirectoryObjects::new(Path::new("/")).with_open_file(&name, file).holding_directories();
    let existing = OriginalFileSet::open(Arc::new(directory), &name).map_err(to_plain_error)?;
    let guise = |one: IndexedFile| {
        let (path, was) = (PathBuf::from(one.original.name), one.original.changed);
        let found = stat_regular_file(&path)?;
        match modification_time(&found) == was {
            true => Ok(ExportedAttributes::for_file(&found)),
            false => {
                let why = format!("{} was changed since it was attached", path.display());
                Err(plain_error(Kind::Changed, why))
            }
        }
    };
    let guises: Vec<ExportedAttributes> =
        existing.indexed_files().map(guise).collect::<Result<_, ReadsError>>()?;
    let faces = existing.exported_files().map_err(to_plain_error)?;
    let faces = faces.into_iter().filter_map(|(nth, face)| Some((face, *guises.get(nth)?)));
    let faces: Vec<_> = faces.collect();
    if let Some((face, _)) = faces.iter().find(|(face, _)| !is_file_name(face.name.as_bytes())) {
        return Err(plain_error(Kind::Damaged, format!("{:?} is no name of a file", face.name)));
    }
    let around = match one.source.is_dir() {
        true => one.source.as_path(),
        false => one.source.parent().unwrap_or(&one.source),
    };
    let around = stat(around).map_err(io::Error::from)?;
    let first = guises.first().copied();
    let first =
        first.ok_or_else(|| plain_error(Kind::Damaged, format!("{name}: it has no file")))?;
    let folder = ExportedAttributes::for_folder(&around, first);
    let (held, faces) = create_stand_ins(&one.source, folder, faces, ways)?;
    let what = ReadsSource::Plain(existing);
    Ok(PreparedReads {
        source: one.source.clone(),
        what,
        faces,
        place: SourceLocation::Files,
        held,
    })
}
