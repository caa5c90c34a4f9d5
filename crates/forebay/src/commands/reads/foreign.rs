//! Reads that are no FASTQ: BAM, CRAM and archives of SRA, as [`SpotReader`].

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use forebay_reads::{Error, Kind, RawInput, SpotReader};

use super::pack_report;
use super::programs::{FASTQ_DUMP, ProgramOutput, SAMTOOLS, absolute_path, argument_words};
use crate::exit::CommandError;

/// Threads that help samtools: who encodes takes the rest.
const HELPERS: usize = 4;

/// What to do about an input that is refused.
pub(super) const ALIGNMENTS: &str = "nothing was packed; `samtools collate` brings mates together, \
    --skip-unpaired leaves out reads without one, --reference FASTA gives what a CRAM lacks";
pub(super) const SRA: &str = "nothing was packed; `vdb-validate` of sra-tools looks at the whole \
    file, --skip-unpaired leaves out reads without a mate";

/// Reads that can't be packed: `next` is for whoever can mend the input.
pub(super) fn input_error(error: &Error, next: &str) -> CommandError {
    let mut stop = pack_report::pack_error(error);
    if error.kind == Kind::Input {
        stop.next = Some(next.to_owned());
    }
    stop
}

/// Where alignments come from, and what it takes to read them.
pub(super) struct AlignmentInput<'a> {
    pub(super) path: &'a Path,
    /// The archive that is made; what samtools has to put aside goes beside it.
    pub(super) output: &'a Path,
    pub(super) reference: Option<&'a Path>,
    pub(super) threads: usize,
}

/// Reads of a BAM or CRAM with mates side by side, and what goes when they are packed.
pub(super) struct CollatedReads {
    pub(super) spots: SpotReader,
    _aside: Option<TemporaryDirectory>,
}

impl AlignmentInput<'_> {
    /// Of a BAM that is open.
    pub(super) fn open_bam(&self, source: RawInput) -> Result<CollatedReads, CommandError> {
        let spots =
            SpotReader::from_bam(source).map_err(|error| input_error(&error, ALIGNMENTS))?;
        self.collate_mates(spots)
    }

    /// Of a CRAM.
    pub(super) fn open_cram(&self) -> Result<CollatedReads, CommandError> {
        if self.path == Path::new("-") {
            let words = "standard input is CRAM, which is read from files only";
            return Err(CommandError::new(
                1,
                words,
                "`samtools view -u - | forebay reads pack -` packs it",
            ));
        }
        let mut args = argument_words(["view", "-u", "--no-PG"]);
        self.push_samtools_options(&mut args);
        args.push(absolute_path(self.path));
        let spots = self.spots_from_output(SAMTOOLS.spawn_for_output(&args)?)?;
        self.collate_mates(spots)
    }

    /// Mates that are far apart are brought together by samtools.
    fn collate_mates(&self, spots: SpotReader) -> Result<CollatedReads, CommandError> {
        if !(spots.is_coordinate_sorted() && spots.is_paired()) {
            return Ok(CollatedReads { spots, _aside: None });
        }
        if self.path == Path::new("-") {
            let words = "standard input is in the order of a reference, so mates are far apart";
            let next = "`samtools collate -O -u FILE | forebay reads pack -` brings them together";
            return Err(CommandError::new(1, words, next));
        }
        // A CRAM is read once more from its beginning.
        drop(spots);
        let aside = TemporaryDirectory::create_beside(self.output)?;
        let mut args = argument_words(["collate", "-O", "-u", "--no-PG"]);
        self.push_samtools_options(&mut args);
        args.extend([absolute_path(self.path), absolute_path(&aside.0.join("part"))]);
        let spots = self.spots_from_output(SAMTOOLS.spawn_for_output(&args)?)?;
        Ok(CollatedReads { spots, _aside: Some(aside) })
    }

    fn push_samtools_options(&self, args: &mut Vec<OsString>) {
        args.extend(["-@".into(), helper_threads(self.threads)]);
        if let Some(reference) = self.reference {
            args.extend(["--reference".into(), absolute_path(reference)]);
        }
    }

    fn spots_from_output(&self, output: ProgramOutput) -> Result<SpotReader, CommandError> {
        let source = RawInput::new(self.path.display().to_string(), Box::new(output));
        SpotReader::from_bam(source).map_err(|error| input_error(&error, ALIGNMENTS))
    }
}

/// How many threads samtools has besides its first, as it is asked for them.
pub(super) fn helper_threads(threads: usize) -> OsString {
    threads.saturating_sub(1).min(HELPERS).to_string().into()
}

/// Reads of an archive of SRA, spot by spot: fasterq-dump would need room for all of them.
pub(super) fn open_sra(path: &Path, original_names: bool) -> Result<SpotReader, CommandError> {
    let mut args = argument_words(["--stdout", "--split-spot", "--skip-technical"]);
    args.extend(original_names.then(|| "--origfmt".into()));
    args.push(absolute_path(path));
    let output = FASTQ_DUMP.spawn_for_output(&args)?;
    let source = RawInput::new(path.display().to_string(), Box::new(output));
    SpotReader::from_fastq(source).map_err(|error| input_error(&error, SRA))
}

/// What files are called in the archive: `x_R1.fastq` and `x_R2.fastq`, or `x.fastq`.
pub(super) fn archive_file_names(
    path: &Path,
    endings: &[&str],
    mates: [&str; 2],
    paired: bool,
) -> Vec<String> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let stem = endings.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let stem = if stem.is_empty() || stem == "-" { "reads" } else { stem };
    match paired {
        true => mates.map(|mate| format!("{stem}{mate}.fastq")).to_vec(),
        false => vec![format!("{stem}.fastq")],
    }
}

/// A directory for samtools, which goes whatever comes of it.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn create_beside(output: &Path) -> Result<TemporaryDirectory, CommandError> {
        let mut path = absolute_path(output);
        path.push(".collate");
        let path = PathBuf::from(path);
        fs::create_dir_all(&path).map_err(|error| {
            let next = "pack to a directory whose parent is yours and has room for the BAM";
            CommandError::new(1, format!("{}: {error}", path.display()), next)
        })?;
        Ok(TemporaryDirectory(path))
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // The next one to the same place takes it away.
        let _ = fs::remove_dir_all(&self.0);
    }
}
