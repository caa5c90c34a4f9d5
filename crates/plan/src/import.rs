//! Records that other tools keep of a run, as facts of a run file: what they tell is there, what
//! they do not is "not seen", never 0.
//!
//! An importer is a pure function from texts to an [`ImportedRun`], one file in `import/` and one
//! line in [`IMPORTERS`]. It opens nothing: the roof reads the files and writes the run. What it is
//! not: a reader of workflows (what tasks would do), only of records (what they did).

mod amount_parsing;
mod delimited_table;
mod imported_tasks;
mod nextflow;
mod slurm;
mod snakemake;
mod trinity;
mod wfformat;

pub use imported_tasks::{ImportedFileUse, ImportedRun, ImportedTask};
pub use wfformat::to_wfformat_json;

use forebay_model::{Fact, Header};
use std::fmt;

/// One kind of records.
#[derive(Clone, Copy)]
pub struct Importer {
    /// Its name on the command line, and the engine of its tasks.
    pub name: &'static str,
    /// Which files it reads, for people.
    pub reads: &'static str,
    /// Of a directory that is given in place of files: which of the files below it are meant, by
    /// their path in it.
    pub wanted: fn(&[u8]) -> bool,
    /// What they tell.
    read: fn(&[ImportSource]) -> Result<ImportedRun, ImportError>,
}

impl fmt::Debug for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// All importers.
pub const IMPORTERS: &[Importer] = &[
    nextflow::IMPORTER,
    snakemake::IMPORTER,
    trinity::IMPORTER,
    wfformat::IMPORTER,
    slurm::IMPORTER,
];

/// A file that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSource {
    /// Its name, for errors; some tools say with it what the file is about.
    pub path: String,
    /// What is in it.
    pub content: Vec<u8>,
}

/// Why records can't be read: the file, the line where that is known, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    path: String,
    line: Option<usize>,
    why: String,
}

impl ImportError {
    fn new(source: &ImportSource, line: impl Into<Option<usize>>, why: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line: line.into(), why: why.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.why),
            None => write!(f, "{}: {}", self.path, self.why),
        }
    }
}

impl std::error::Error for ImportError {}

impl Importer {
    /// The importer of this name.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        IMPORTERS.iter().find(|importer| importer.name == name)
    }

    /// Reads records and tells them as a run: its header (without the version of Forebay), and its
    /// facts in an order in which they can be written.
    ///
    /// `size` tells the size of a file by the name that the records give it, where that is known:
    /// not all records do.
    ///
    /// # Errors
    /// The first flaw, with its file and line.
    pub fn import_run(
        &self,
        sources: &[ImportSource],
        size: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(Header, Vec<Fact>), ImportError> {
        let mut told = self.read_records(sources)?;
        for used in told.tasks.iter_mut().flat_map(|task| &mut task.files) {
            used.size = used.size.or_else(|| size(&used.path));
        }
        let first = sources.first().map_or(self.name, |source| source.path.as_str());
        let flaw = |why| ImportError { path: first.to_owned(), line: None, why };
        if told.tasks.is_empty() {
            return Err(flaw("it tells of no task that ran".to_owned()));
        }
        told.into_facts(self.name).map_err(flaw)
    }

    /// Reads records, as they are.
    ///
    /// # Errors
    /// The first flaw, with its file and line.
    pub fn read_records(&self, sources: &[ImportSource]) -> Result<ImportedRun, ImportError> {
        (self.read)(sources)
    }
}

/// The text of a source.
fn utf8_text(source: &ImportSource) -> Result<&str, ImportError> {
    std::str::from_utf8(&source.content).map_err(|error| {
        let before = &source.content[..error.valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        ImportError::new(source, line, "it is no text in UTF-8")
    })
}

#[cfg(test)]
mod tests;
