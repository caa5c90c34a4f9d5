//! No text ends in a panic: samples are cut, mixed and overwritten by a seed, and what still is a
//! run is written, learnt and simulated.
use super::*;

/// Numbers that a seed gives.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Words that records of tools are made of, and that nobody expects where they come.
const ODD: &[&str] = &[
    "-1",
    "0",
    "NaN",
    "1e400",
    "99999999999999999999",
    "-",
    "",
    "\t",
    "\n",
    "|",
    "\"",
    "{",
    "null",
    "9223372036854775807",
    "\u{feff}",
    "0000-00-00 00:00:00",
    "9999-12-31T23:59:59",
    "1d",
    "K",
];

fn changed(dice: &mut Dice) -> (usize, Vec<u8>) {
    let number = dice.roll(SAMPLES.len());
    let mut bytes = SAMPLES[number].2.as_bytes().to_vec();
    for _ in 0..1 + dice.roll(6) {
        let at = dice.roll(bytes.len());
        match dice.roll(5) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = dice.roll(256) as u8,
            2 => {
                let to = (at + dice.roll(20)).min(bytes.len());
                let word = ODD[dice.roll(ODD.len())].bytes();
                bytes.splice(at..to, word);
            }
            3 => {
                let other = SAMPLES[dice.roll(SAMPLES.len())].2.as_bytes();
                let from = dice.roll(other.len());
                let to = (from + dice.roll(200)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                // A number becomes another one: what is most likely to be believed.
                let digits = bytes[at..].iter().position(u8::is_ascii_digit).map(|d| at + d);
                let at = digits.unwrap_or(at);
                let word = ODD[dice.roll(ODD.len())].bytes();
                bytes.splice(at..(at + 1).min(bytes.len()), word);
            }
        }
    }
    (number, bytes)
}

#[test]
fn no_text_ends_in_a_panic() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut read, mut learnt) = (0, 0);
    for seed in 0..6_000_u64 {
        let mut dice = Dice(seed);
        let (number, content) = changed(&mut dice);
        let (importer, path, ..) = SAMPLES[number];
        let importer = Importer::find_by_name(importer).expect("an importer");
        let source = ImportSource { path: path.to_owned(), content };
        // Whoever mistakes one kind of records for another gets an error, too.
        let other = &IMPORTERS[dice.roll(IMPORTERS.len())];
        let _ = other.import_run(std::slice::from_ref(&source), &|_| None);
        let Ok((header, facts)) = importer.import_run(&[source], &|_| None) else { continue };
        read += 1;
        if seed % 8 > 0 {
            continue;
        }
        let file = directory.path().join(format!("{seed}.run"));
        let mut writer = RunWriter::create(&file, header).expect("a run file");
        writer.write_facts(&facts).expect("whatever was read can be written");
        writer.finish_run().expect("folded");
        let run = Run::open(&file).expect("readable");
        if let Ok(found) = crate::learn_workload(&run) {
            let _ = found.simulate_rerun();
            learnt += 1;
        }
        writer.remove().expect("removed");
    }
    assert!(read > 300 && learnt > 30, "{read} were read, {learnt} learnt: too few to tell");
}
