//! Names that a program drew by lot are others in the next run: a rule for `mafft.LBlJwrfiBk/infile`
//! would never be needed again. Most are known by what they look like when a file is recorded; here
//! all names of the run stand side by side, and more can be told. What the run made may be drawn
//! where it looks like it, and what stands beside drawn names and is built as they are is drawn, too:
//! of ten letters and digits one in ten looks like a word.

use crate::loaded_run::LoadedRun;
use forebay_model::file_classes::{class_of, drawn_range};
use forebay_model::{FileId, FileRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What stands for what was drawn.
const DRAWN: &str = "*";
/// So long are the words that programs draw (`mktemp` and `mkstemp`: a template's run of `X`).
const WORD_BYTES: Range<usize> = 6..13;

/// How drawn names in one directory are built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NameShape {
    /// Classes of what stands before and behind the drawn word.
    prefix: String,
    suffix: String,
    /// Bytes of the drawn word.
    length: usize,
}

/// A class with one of its files.
#[derive(Clone, Debug)]
struct ClassExample<'r> {
    parts: Vec<&'r [u8]>,
    pattern: Vec<&'r str>,
    /// The run made the file, and there was none of its class before.
    is_made: bool,
}

/// Gives classes that differ by drawn names one pattern.
pub(super) fn join_drawn_names(rows: &mut LoadedRun) {
    let known = drawn_components(&examples(rows));
    if known.is_empty() {
        return;
    }
    let renamed = |pattern: &String| {
        let mut out = String::new();
        for part in pattern.split('/') {
            let part = known.get(&(out.clone(), part)).map_or(part, String::as_str);
            push_part(&mut out, part);
        }
        out
    };
    let patterns = rows.classes.iter().map(|(id, pattern)| (*id, renamed(pattern))).collect();
    rows.rename_classes(patterns);
}

fn push_part(pattern: &mut String, part: &str) {
    if !pattern.is_empty() {
        pattern.push('/');
    }
    pattern.push_str(part);
}

/// For each class a file, if its pattern has as many parts as the file's path.
fn examples(rows: &LoadedRun) -> Vec<ClassExample<'_>> {
    let mut first: BTreeMap<u32, &FileRecord> = BTreeMap::new();
    let mut class_of_file: BTreeMap<FileId, u32> = BTreeMap::new();
    for file in &rows.files {
        first.entry(file.class.0).or_insert(file);
        class_of_file.insert(file.id, file.class.0);
    }
    // What a class's files were when they were opened first.
    let (mut made, mut found) = (BTreeSet::<u32>::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for open in rows.opens.iter().filter(|open| seen.insert(open.file)) {
        let kind = if open.created { &mut made } else { &mut found };
        kind.extend(class_of_file.get(&open.file));
    }
    let mut all = Vec::new();
    for (id, file) in first {
        let path = file.path.split(|byte| *byte == b'/');
        let parts: Vec<&[u8]> = path.filter(|part| !part.is_empty()).collect();
        let pattern = rows.classes.get(&id).map_or("", String::as_str);
        let pattern: Vec<&str> = pattern.split('/').collect();
        if parts.len() == pattern.len() {
            let is_made = made.contains(&id) && !found.contains(&id);
            all.push(ClassExample { parts, pattern, is_made });
        }
    }
    all
}

/// By the pattern of the directory and the class of a name in it, what the name is in truth.
type DrawnComponents<'r> = BTreeMap<(String, &'r str), String>;

fn drawn_components<'r>(all: &[ClassExample<'r>]) -> DrawnComponents<'r> {
    let mut known = DrawnComponents::new();
    let mut directories = vec![String::new(); all.len()];
    let depth = all.iter().map(|one| one.parts.len()).max().unwrap_or_default();
    for level in 0..depth {
        let mut shapes: BTreeMap<&str, BTreeSet<NameShape>> = BTreeMap::new();
        for (one, directory) in all.iter().zip(&directories) {
            let shape = one.parts.get(level).and_then(|part| one.drawn_shape(part));
            shapes.entry(directory).or_default().extend(shape);
        }
        let component = |one: &ClassExample<'r>, directory: &str| {
            let (&part, &class) = (one.parts.get(level)?, one.pattern.get(level)?);
            let mut shapes = shapes.get(directory)?.iter();
            let drawn = (!class.contains(DRAWN)).then(|| shapes.find_map(|shape| shape.fit(part)));
            Some((class, drawn.flatten()))
        };
        let next: Vec<_> =
            all.iter().zip(&directories).map(|(one, above)| component(one, above)).collect();
        for (directory, next) in directories.iter_mut().zip(next) {
            let Some((class, drawn)) = next else { continue };
            if let Some(drawn) = &drawn {
                known.insert((directory.clone(), class), drawn.clone());
            }
            push_part(directory, drawn.as_deref().unwrap_or(class));
        }
    }
    known
}

impl ClassExample<'_> {
    /// How a name is built, if it was drawn for sure.
    fn drawn_shape(&self, part: &[u8]) -> Option<NameShape> {
        let likely = || if self.is_made { likely_drawn_range(part) } else { None };
        let drawn = drawn_range(part).or_else(likely)?;
        Some(NameShape {
            prefix: class_of(&part[..drawn.start]),
            suffix: class_of(&part[drawn.end..]),
            length: drawn.len(),
        })
    }
}

impl NameShape {
    /// The class of a name that is built so.
    fn fit(&self, part: &[u8]) -> Option<String> {
        let is_drawn = |word: &[u8]| {
            word.iter().all(u8::is_ascii_alphanumeric)
                && !word.iter().all(u8::is_ascii_lowercase)
                && !word.iter().all(u8::is_ascii_digit)
        };
        let fits = |start: usize| {
            let (before, rest) = part.split_at(start);
            let (word, behind) = rest.split_at(self.length);
            is_drawn(word) && class_of(before) == self.prefix && class_of(behind) == self.suffix
        };
        let last = part.len().checked_sub(self.length)?;
        let found = (0..=last).any(fits);
        found.then(|| format!("{}{DRAWN}{}", self.prefix, self.suffix))
    }
}

/// A word behind a separator that changes too often to be one.
fn likely_drawn_range(part: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    for word in part.split(|byte| !byte.is_ascii_alphanumeric()) {
        if start > 0 && WORD_BYTES.contains(&word.len()) && looks_drawn(word) {
            return Some(start..start + word.len());
        }
        start += word.len() + 1;
    }
    None
}

fn looks_drawn(word: &[u8]) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let changes = word.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    // `DnaSeqV2b` changes six times, and is two words.
    let reads = |chunk: &&[u8]| {
        let has_vowel = chunk.iter().any(|byte| b"aeiouyAEIOUY".contains(byte));
        has_vowel && chunk.len() > 2 && chunk.iter().all(u8::is_ascii_alphabetic)
    };
    let chunks = word.chunk_by(|_, next| !next.is_ascii_uppercase());
    let readable: usize = chunks.filter(reads).map(<[u8]>::len).sum();
    // Drawn words of ten change 5.6 times on average, `GRCh38p13` four times.
    2 * changes >= word.len() && 2 * readable <= word.len()
}

#[cfg(test)]
mod tests {
    //! If these fail, a plan has a rule for each temporary file of the run that it was learnt from,
    //! and none for those of the next.
    use super::*;
    use crate::loaded_run::LoadedOpen;
    use forebay_model::{ClassId, TreeId};

    fn patterns(made: &[&str], inputs: &[&str]) -> Vec<String> {
        let mut rows = LoadedRun::default();
        for (at, path) in made.iter().chain(inputs).enumerate() {
            let class = class_of(path.as_bytes());
            let known = rows.classes.iter().find(|(_, name)| **name == class).map(|(id, _)| *id);
            let class_id = known.unwrap_or(at as u32);
            rows.classes.insert(class_id, class);
            rows.files.push(FileRecord {
                id: FileId(at as u32),
                tree: TreeId(0),
                path: path.as_bytes().to_vec(),
                class: ClassId(class_id),
                home: None,
            });
            rows.opens.push(LoadedOpen {
                file: FileId(at as u32),
                created: at < made.len(),
                ..LoadedOpen::default()
            });
        }
        join_drawn_names(&mut rows);
        let pattern = |file: &FileRecord| rows.classes[&file.class.0].clone();
        rows.files.iter().map(pattern).collect()
    }

    #[test]
    fn directories_of_mktemp_are_one() {
        let made = [
            "s/mafft.LBlJwrfiBk/infile",
            "s/mafft.gcbTbarrTT/infile", // changes three times
            "s/mafft.pU2OpVi3dw/hat2",
            "s/mafft.pU2OpVi3dw/infile",
        ];
        let hat = "s/mafft.*/hat#";
        assert_eq!(
            patterns(&made, &[]),
            ["s/mafft.*/infile", "s/mafft.*/infile", hat, "s/mafft.*/infile"]
        );
    }

    #[test]
    fn what_stands_beside_temporary_files_of_sort_is_temporary() {
        let made = ["tmp/sortQzGgqi", "tmp/sort1wsyAM", "tmp/sorted.bam", "tmp/sorting"];
        let expected = ["tmp/sort*", "tmp/sort*", "tmp/sorted.bam", "tmp/sorting"];
        assert_eq!(patterns(&made, &[]), expected);
    }

    #[test]
    fn names_that_people_gave_stay() {
        let made =
            ["x/bwa_DnaSeqV2b.bam", "x/bwa_GRCh38p13.bam", "x/a_NA12878x.vcf", "x/run_Tumour"];
        let same: Vec<String> = made.iter().map(|path| class_of(path.as_bytes())).collect();
        assert_eq!(patterns(&made, &[]), same);
        // What was there before the run is there in the next one, too.
        let inputs = ["ref/chm_T2TcHM13v2/genome.fa"];
        assert_eq!(patterns(&[], &inputs), ["ref/chm_T#TcHM#v#/genome.fa"]);
    }

    #[test]
    fn other_directories_say_nothing() {
        let made = ["a/x_rEVvUe/f", "b/x_config/f", "a/x_config/f", "b/x_ABCDEF/f"];
        assert_eq!(
            patterns(&made, &[]),
            ["a/x_*/f", "b/x_config/f", "a/x_config/f", "b/x_ABCDEF/f"]
        );
    }

    #[test]
    fn operations_on_names_without_a_file_follow_their_directory() {
        let names = [(0, "s/m.LBlJwrfiBk/in"), (7, "s/m.LBlJwrfiBk/no#")];
        let classes = names.map(|(id, name)| (id, name.to_owned())).into();
        let mut rows = LoadedRun { classes, ..LoadedRun::default() };
        rows.files.push(FileRecord {
            id: FileId(0),
            tree: TreeId(0),
            path: b"s/m.LBlJwrfiBk/in".to_vec(),
            class: ClassId(0),
            home: None,
        });
        rows.opens.push(LoadedOpen { created: true, ..LoadedOpen::default() });
        join_drawn_names(&mut rows);
        assert_eq!(rows.classes[&7], "s/m.*/no#");
    }
}
