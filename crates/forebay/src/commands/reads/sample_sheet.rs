//! `forebay reads pack --samples`: an archive for each sample of a sheet, as nf-core's pipelines and
//! others take it: columns `sample`, `fastq_1` and, of pairs, `fastq_2`. Lines of one sample are its
//! lanes, in this order.

use std::path::{Path, PathBuf};

use forebay_model::is_file_name;
use forebay_reads::{Archive, DirectoryObjects, Kind, PackOptions, join_lanes, pack_files};

use super::pack_report;
use crate::console;
use crate::exit::CommandError;

/// A sample, and the files of each mate.
#[derive(Debug, PartialEq, Eq)]
struct Sample {
    name: String,
    mates: Vec<Vec<String>>,
}

impl Sample {
    fn input_paths(&self) -> Vec<Vec<PathBuf>> {
        self.mates.iter().map(|lanes| lanes.iter().map(PathBuf::from).collect()).collect()
    }

    /// What its files are called in the archive.
    fn file_names(&self) -> Vec<String> {
        match self.mates.len() {
            1 => vec![format!("{}.fastq", self.name)],
            mates => (1..=mates).map(|mate| format!("{}_R{mate}.fastq", self.name)).collect(),
        }
    }
}

/// Packs all samples, but for those whose archive is there and was made of the same files.
pub(super) fn pack_samples(
    sheet: &Path,
    dir: &Path,
    like: &PackOptions,
    quiet: bool,
) -> Result<i32, CommandError> {
    let wrong = |message: String| {
        let message = format!("{}: {message}", sheet.display());
        let next = "nothing was packed; mend the sheet: its columns are sample,fastq_1,fastq_2";
        CommandError::new(1, message, next)
    };
    let text = std::fs::read(sheet).map_err(|error| wrong(error.to_string()))?;
    let samples = parse_sheet(&text).map_err(&wrong)?;
    for path in samples.iter().flat_map(|sample| sample.mates.iter().flatten()) {
        if let Err(error) = std::fs::metadata(path) {
            return Err(wrong(format!("{path}: {error}")));
        }
    }
    let cannot = |path: &Path, error: std::io::Error| {
        CommandError::new(
            1,
            format!("{}: {error}", path.display()),
            "name a directory that is yours",
        )
    };
    std::fs::create_dir_all(dir).map_err(|error| cannot(dir, error))?;
    for sample in &samples {
        let output = dir.join(format!("{}.reads", sample.name));
        let (inputs, names) = (sample.input_paths(), sample.file_names());
        let there = Archive::open(Box::new(DirectoryObjects::new(&output)));
        // What can't be read is not known to be none.
        if let Err(error) = &there
            && error.kind == Kind::Io
        {
            return Err(super::archive_error(&output, error));
        }
        if let Ok(archive) = there {
            let sources = archive.manifest().files.iter().map(|file| file.source.clone());
            if !sources.eq(inputs.iter().map(|lanes| join_lanes(lanes))) {
                let message = format!("{} was made of other files", output.display());
                return Err(CommandError::new(
                    1,
                    message,
                    "move it away, or give another directory with -o",
                ));
            }
            if !quiet {
                console::note(&format!("{} is there already", output.display()));
            }
            continue;
        }
        let packing = PackOptions { inputs, names, ..like.clone() };
        let packed = pack_files(&packing, &output, pack_report::pack_progress());
        console::clear_passing_line();
        let packed = packed.map_err(|error| {
            let next = "mend that and ask again: samples that are packed already stay";
            CommandError::new(1, format!("{}: {error}", sample.name), next)
        })?;
        pack_report::report_packed(&packing.inputs, &output, &packed, quiet);
    }
    Ok(0)
}

/// The samples of a sheet, in order of their first line; what is wrong with it, if it is. Sheets
/// come from spreadsheets: with Windows' line ends or those of old Macs, with semicolons where a comma
/// is in numbers, with lines that have nothing but commas or lack the last, empty columns.
fn parse_sheet(text: &[u8]) -> Result<Vec<Sample>, String> {
    let text = normalize_line_ends(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let head = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = [b'\t', b',', b';'].into_iter().find(|delimiter| head.contains(delimiter));
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(first.unwrap_or(b','))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(&text[..]);
    let titles = rows.headers().map_err(|error| error.to_string())?.clone();
    let column = |name: &str| titles.iter().position(|title| title == name);
    let missing = |name: &str| format!("there is no column `{name}`");
    let sample = column("sample").ok_or_else(|| missing("sample"))?;
    let first = column("fastq_1").ok_or_else(|| missing("fastq_1"))?;
    let second = column("fastq_2");
    let mut samples: Vec<Sample> = Vec::new();
    for row in rows.records() {
        let row = row.map_err(|error| error.to_string())?;
        if row.iter().all(str::is_empty) {
            continue;
        }
        let line = line_number(&text, row.position().map_or(0, csv::Position::byte) as usize);
        let field = |column: usize| row.get(column).unwrap_or_default();
        let (name, mate) = (field(sample), second.map(field).filter(|path| !path.is_empty()));
        let archive = format!("{name}.reads");
        if name.is_empty() || name.starts_with('.') || !is_file_name(archive.as_bytes()) {
            return Err(format!("line {line}: `{name}` can't name an archive"));
        }
        let files: Vec<&str> = [field(first)].into_iter().chain(mate).collect();
        if files.iter().any(|path| path.is_empty()) {
            return Err(format!("line {line}: {name} has no file in `fastq_1`"));
        }
        let known = samples.iter().position(|known| known.name == name);
        let known = known.unwrap_or_else(|| {
            let mates = vec![Vec::new(); files.len()];
            samples.push(Sample { name: name.to_owned(), mates });
            samples.len() - 1
        });
        let mates = &mut samples[known].mates;
        if mates.len() != files.len() {
            return Err(format!(
                "line {line}: {name} has pairs in some lines, single reads in others"
            ));
        }
        mates.iter_mut().zip(files).for_each(|(lanes, path)| lanes.push(path.to_owned()));
    }
    if samples.is_empty() { Err("there are no samples in it".to_owned()) } else { Ok(samples) }
}

/// The same with line feeds alone.
fn normalize_line_ends(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for (nth, byte) in text.iter().enumerate() {
        match (byte, text.get(nth + 1)) {
            (b'\r', Some(b'\n')) => {}
            (b'\r', _) => plain.push(b'\n'),
            _ => plain.push(*byte),
        }
    }
    plain
}

/// The line on which a row is that begins at a byte, or behind blank lines there.
fn line_number(text: &[u8], at: usize) -> usize {
    let (before, from) = text.split_at(at.min(text.len()));
    let blank = from.iter().take_while(|byte| **byte == b'\n').count();
    1 + blank + before.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse_sheet(text.as_bytes()).expect_err("it should be refused")
    }

    #[test]
    fn lines_of_a_sample_are_lanes_and_other_columns_are_nobodys() {
        let sheet = "\u{feff}sample,fastq_1,strandedness,fastq_2\r\n\
            a, a_L1_1.fq.gz,auto,a_L1_2.fq.gz\r\n\"b\",\"my b.fq\",auto,\r\na,a_L2_1.fq.gz,auto,a_L2_2.fq.gz\r\n";
        let samples = parse_sheet(sheet.as_bytes()).expect("a sheet");
        let inputs: Vec<_> = samples.iter().map(Sample::input_paths).collect();
        let lanes = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let pairs = [["a_L1_1.fq.gz", "a_L2_1.fq.gz"], ["a_L1_2.fq.gz", "a_L2_2.fq.gz"]];
        let pairs = pairs.map(|names| lanes(&names)).to_vec();
        assert_eq!(inputs, [pairs, vec![lanes(&["my b.fq"])]]);
        assert_eq!(samples[0].file_names(), ["a_R1.fastq", "a_R2.fastq"]);
        assert_eq!(samples[1].file_names(), ["b.fastq"]);
    }

    #[test]
    fn tabs_do_as_well() {
        let samples = parse_sheet(b"sample\tfastq_1\nx\tx.fq\n").expect("a sheet");
        assert_eq!(samples[0].input_paths(), [[PathBuf::from("x.fq")]]);
    }

    #[test]
    fn sheets_are_read_as_spreadsheets_write_them() {
        let names = |text: &str| -> Vec<String> {
            let samples =
                parse_sheet(text.as_bytes()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            let files = samples.iter().map(|one| (&one.name, one.mates.concat().join("+")));
            files.map(|(name, files)| format!("{name}={files}")).collect()
        };
        for end in ["\n", "\r\n", "\r"] {
            let lines = |lines: &[&str]| lines.join(end);
            let quoted = [
                "\u{feff}\"sample\",\"fastq_1\",\"fastq_2\"",
                "\"a\",\"my reads, L1_R1.fq\",\"my reads, L1_R2.fq\"",
                "\"b b\",\"b.fq\",\"\"",
            ];
            let found = names(&lines(&quoted));
            assert_eq!(found, ["a=my reads, L1_R1.fq+my reads, L1_R2.fq", "b b=b.fq"], "{end:?}");
            let holes = ["sample,fastq_1,fastq_2,x", "", "b,b.fq", ",,,", "", "c,c.fq,", ",,,,,"];
            assert_eq!(names(&lines(&holes)), ["b=b.fq", "c=c.fq"], "{end:?}");
            let semicolons = ["sample;fastq_1;fastq_2", "b;b,1.fq;", ";;"];
            assert_eq!(names(&lines(&semicolons)), ["b=b,1.fq"], "{end:?}");
            for (before, wrong) in [("ok,a.fq", 3), ("", 3), ("ok,a.fq\n\n,", 5)] {
                let sheet = ["sample,fastq_1", &before.replace('\n', end), "x,", "y,a.fq"];
                let told = refused(&lines(&sheet));
                assert!(told.contains(&format!("line {wrong}: x has no")), "{end:?}: {told}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert!(refused("name,fastq_1\na,a.fq\n").contains("no column `sample`"));
        assert!(refused("sample,fastq_1\n").contains("no samples"));
        assert!(refused("sample,fastq_1\na,a.fq\n../b,b.fq\n").contains("line 3: `../b`"));
        assert!(refused("sample,fastq_1\na,\n").contains("line 2: a has no file in `fastq_1`"));
        let mixed = "sample,fastq_1,fastq_2\na,1.fq,2.fq\na,3.fq,\n";
        assert!(refused(mixed).contains("line 3: a has pairs in some lines"));
    }
}
