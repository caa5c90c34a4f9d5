//! `forebay reads`, from outside. If these failed, reads would be lost, put together wrongly, or
//! an archive that nobody finished would look whole.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::place::{Done, Place, done, finish, wait_until};

/// Reads of one mate, as a sequencer writes them; the same seed gives pairs.
pub(crate) fn reads(count: u64, mate: char) -> String {
    let mut text = String::new();
    let mut state = u64::from(mate);
    for nth in 0..count {
        text += &format!(
            "@M01:7:FC:1:{}:{}:{} {mate}:N:0:ACGT\n",
            1101 + nth / 500,
            nth * 37,
            nth * 7919 % 20_000
        );
        let mut letters = |alphabet: &[u8]| -> String {
            let mut letter = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                char::from(alphabet[(state >> 60) as usize % alphabet.len()])
            };
            (0..75).map(|_| letter()).collect()
        };
        text += &format!("{}\n+\n{}\n", letters(b"ACGTACGTACGTACGN"), letters(b"FFFFFFFFFF::,,#"));
    }
    text
}

fn pack(place: &Place, words: &[&str]) -> Done {
    done(&mut place.forebay(&[&["reads", "pack", "-o", "x"], words].concat()))
}

fn cat(place: &Place, words: &[&str]) -> Vec<u8> {
    let done = done(&mut place.forebay(&[&["reads", "cat", "x"], words].concat()));
    done.code(0).stdout.clone()
}

#[test]
fn a_pair_comes_back_in_every_form() {
    let place = Place::new();
    let (first, second) = (reads(3000, '1'), reads(3000, '2'));
    fs::write(place.project.join("a_R1.fastq"), &first).expect("written");
    fs::write(place.project.join("a_R2.fastq"), &second).expect("written");
    // gzip(1) in two members, as lanes that were put together.
    let gzip =
        "(head -c 99999 a_R1.fastq | gzip; tail -c +100000 a_R1.fastq | gzip) > a_R1.fastq.gz";
    done(place.program("sh").args(["-c", gzip])).code(0);
    pack(&place, &["a_R1.fastq.gz", "a_R2.fastq"]).code(0).says("3,000 pairs of reads");
    assert_eq!(cat(&place, &["--mate", "1"]), first.as_bytes());
    assert_eq!(cat(&place, &["--mate", "2", "--threads", "1"]), second.as_bytes());
    assert_eq!(cat(&place, &["--file", "a_R2.fastq"]), second.as_bytes());
    let both = String::from_utf8(cat(&place, &[])).expect("text");
    let names: Vec<&str> = both.lines().step_by(4).collect();
    assert_eq!(names.len(), 6000);
    for pair in names.chunks(2) {
        assert_eq!(pair[0].replace(" 1:", " 2:"), pair[1]);
    }
    let fasta = cat(&place, &["--mate", "1", "--form", "fasta"]);
    let fasta = String::from_utf8(fasta).expect("text");
    assert_eq!(fasta.lines().count(), 6000);
    assert!(fasta.starts_with(">M01:7:FC:1:1101:0:0 1:N:0:ACGT\n"), "{}", &fasta[..80]);
    done(&mut place.forebay(&["reads", "verify", "x"])).code(0).says("is whole");

    // Interleaved again, from standard input.
    fs::write(place.project.join("both.fastq"), &both).expect("written");
    let stdin = fs::File::open(place.project.join("both.fastq")).expect("open");
    let words = ["reads", "pack", "-", "--interleaved", "--name", "both.fastq", "-o", "y"];
    let child = place.forebay(&words).stdin(stdin).stderr(Stdio::piped()).spawn().expect("started");
    finish(child, Duration::from_secs(60)).code(0);
    let cat = |mate| done(&mut place.forebay(&["reads", "cat", "y", "--mate", mate])).stdout;
    assert_eq!((cat("1"), cat("2")), (first.into_bytes(), second.into_bytes()));
    assert_eq!(cat("both"), both.as_bytes());
}

#[test]
fn what_an_archive_shows_is_what_gzip_and_tables_take() {
    let place = Place::new();
    let (first, second) = (reads(900, '1'), reads(900, '2'));
    fs::write(place.project.join("a_R1.fastq"), &first).expect("written");
    fs::write(place.project.join("a_R2.fastq"), &second).expect("written");
    done(place.program("sh").args(["-c", "bzip2 -k a_R1.fastq; split -l 400 a_R2.fastq L"]))
        .code(0);
    pack(
        &place,
        &[
            "a_R1.fastq.bz2",
            "Laa,Lab,Lac,Lad,Lae,Laf,Lag,Lah,Lai",
            "--name",
            "a_R1.fastq",
            "--name",
            "a_R2.fq.gz",
        ],
    )
    .code(0);
    let shown = cat(&place, &["--file", "a_R1.fastq.gz"]);
    fs::write(place.project.join("again.gz"), &shown).expect("written");
    let gunzip = done(place.program("sh").args(["-c", "gzip -t again.gz && gzip -dc again.gz"]));
    assert!(gunzip.code(0).stdout == first.as_bytes());
    assert_eq!(cat(&place, &["--file", "a_R2.fq"]), second.as_bytes());
    assert_eq!(cat(&place, &["--file", "a_R2.0001-of-0002.fq"]), second.as_bytes());
    assert_eq!(cat(&place, &["--file", "a_R2.0002-of-0002.fq"]), b"");
    let no = done(&mut place.forebay(&["reads", "cat", "x", "--file", "b.fastq"]));
    no.code(1).says("it has no file b.fastq").says("a_R1.fastq.gz");
    let lines = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let record = |r: &[&str]| format!("{}\t{}\t{}", &r[0][1..], r[1], r[3]);
        lines.chunks(4).map(record).collect()
    };
    let table = String::from_utf8(cat(&place, &["--spots", "100-200", "--form", "tab"]));
    let (one, two) = (lines(&first), lines(&second));
    let expected: String = (99..200).map(|nth| format!("{}\t{}\n", one[nth], two[nth])).collect();
    assert_eq!(table.expect("text"), expected);
    let one = String::from_utf8(cat(&place, &["--spots", "7", "--mate", "2"])).expect("text");
    assert_eq!(one, second.lines().skip(24).take(4).map(|l| format!("{l}\n")).collect::<String>());
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--spots", "901-999"], 1, "reads 901 to 999: it has 900"),
        (&["--spots", "9-3"], 2, "as in 100-200"),
        (&["--spots", "0-3"], 2, "as in 100-200"),
        (&["--spots", "3", "--file", "a_R2.fq"], 2, "cannot be used with"),
    ];
    for (words, code, cause) in cases {
        let words = [&["reads", "cat", "x"], *words].concat();
        done(&mut place.forebay(&words)).code(*code).says(cause);
    }
}

#[test]
fn info_tells_what_went_in() {
    let place = Place::new();
    fs::write(place.project.join("a.fastq"), reads(500, '1')).expect("written");
    done(place.program("sh").args(["-c", "gzip -k a.fastq"])).code(0);
    pack(&place, &["a.fastq.gz"]).code(0);
    let told = done(&mut place.forebay(&["reads", "info", "x", "--json"]));
    let told: serde_json::Value = serde_json::from_str(&told.code(0).text()).expect("JSON");
    assert_eq!((&told["spots"], &told["shape"]), (&500.into(), &"single".into()));
    let md5 = done(place.program("md5sum").arg("a.fastq")).text();
    assert!(md5.starts_with(told["files"][0]["md5"].as_str().expect("an MD5")), "{md5} {told}");
    let sha = done(place.program("sha256sum").arg("a.fastq")).text();
    assert!(sha.starts_with(told["files"][0]["sha256"].as_str().expect("a sum")), "{sha} {told}");
    let words = done(&mut place.forebay(&["reads", "info", "x"])).text();
    for part in ["500 reads", "a.fastq", "qualities", "bases", "names"] {
        assert!(words.contains(part), "{part} is not in:\n{words}");
    }
    // Two archives of the same reads are the same bytes, whatever the threads.
    done(&mut place.forebay(&["reads", "pack", "a.fastq.gz", "-o", "y", "-t", "1"])).code(0);
    done(place.program("diff").args(["-r", "x", "y"])).code(0);
}

#[test]
fn what_cannot_be_packed_is_refused_with_its_line() {
    let place = Place::new();
    let write =
        |name: &str, text: &[u8]| fs::write(place.project.join(name), text).expect("written");
    write("a.fq", reads(100, '1').as_bytes());
    write("short.fq", reads(99, '2').as_bytes());
    write("bad.fq", reads(100, '2').replacen("\n+\n", "\n-\n", 1).as_bytes());
    done(place.program("sh").args(["-c", "gzip -c a.fq | head -c 2000 > cut.fq.gz"])).code(0);
    write("x.xz", b"\xfd7zXZ\0");
    done(place.program("sh").args(["-c", "bzip2 -c a.fq | head -c 2000 > cut.fq.bz2"])).code(0);
    let cases: &[(&[&str], &str)] = &[
        (&["a.fq", "short.fq"], "short.fq, line 397: the file ends here, a.fq goes on"),
        (&["a.fq", "bad.fq"], "bad.fq, line 3: the third line of a record begins with +"),
        (&["cut.fq.gz"], "cut.fq.gz: it is cut off"),
        (&["cut.fq.bz2"], "cut.fq.bz2: it is cut off"),
        (&["a.fq,cut.fq.gz"], "cut.fq.gz: it is cut off"),
        (&["a.fq,bad.fq", "a.fq,a.fq", "--name", "x", "--name", "y"], "bad.fq, line 3: the third"),
        (&["x.xz"], "xz -dc"),
        (&["missing.fq"], "missing.fq: No such file"),
        (&["."], "is a directory"),
        (&["a.fq", "a.fq"], "both files are called a.fq"),
        (&["a.fq", "--name", "../a"], "plain names"),
        (&["a.fq", "short.fq", "--interleaved"], "in one file, not in two"),
        (&["short.fq", "--interleaved"], "line 397: the file ends between the two reads"),
    ];
    for (words, cause) in cases {
        pack(&place, words).code(1).says(cause);
        let end = done(&mut place.forebay(&["reads", "cat", "x"]));
        assert!(end.code(1).stdout.is_empty(), "{words:?} left reads");
    }
    done(&mut place.forebay(&["reads", "pack", "a.fq"])).code(2);
    // What those tries left is written over; an archive is not, nor files of others.
    pack(&place, &["a.fq"]).code(0);
    pack(&place, &["short.fq"]).code(1).says("not empty");
    assert_eq!(cat(&place, &[]), reads(100, '1').as_bytes());
    done(&mut place.forebay(&["reads", "pack", "a.fq", "-o", "."])).code(1).says("not empty");
}

#[test]
fn damage_is_named_and_never_written() {
    let place = Place::new();
    let text = reads(2000, '1');
    fs::write(place.project.join("a.fq"), &text).expect("written");
    pack(&place, &["a.fq"]).code(0);
    let path = place.project.join("x/data-00000.fbr");
    let whole = fs::read(&path).expect("data");
    let mut damaged = whole.clone();
    damaged[whole.len() - 100] ^= 1;
    fs::write(&path, &damaged).expect("written");
    let verify = done(&mut place.forebay(&["reads", "verify", "x"]));
    verify.code(1).says("data-00000.fbr").says("qualities of mate 1, group 0");
    let end = done(&mut place.forebay(&["reads", "cat", "x"]));
    assert!(end.code(1).says("data-00000.fbr").stdout.is_empty());
    fs::write(&path, &whole[..whole.len() - 1]).expect("written");
    done(&mut place.forebay(&["reads", "verify", "x"])).code(1).says("bytes, ");
    fs::remove_file(&path).expect("removed");
    done(&mut place.forebay(&["reads", "verify", "x"])).code(1).says("data-00000.fbr is missing");
    fs::write(&path, &whole).expect("written");
    done(&mut place.forebay(&["reads", "verify", "x"])).code(0);
    // A reader that has seen enough is no failure.
    let head = place
        .program("sh")
        .args(["-c", "\"$0\" reads cat x | head -n 1", crate::place::FOREBAY])
        .output();
    let head = head.expect("started");
    assert_eq!(
        (head.stdout, head.stderr),
        (
            text.lines().next().map(|l| format!("{l}\n")).unwrap_or_default().into_bytes(),
            Vec::new()
        )
    );
}

#[test]
fn a_pack_that_is_killed_leaves_no_archive() {
    let place = Place::new();
    let text = reads(60_000, '1');
    fs::write(place.project.join("a.fq"), &text).expect("written");
    for wait_ms in [5, 40, 120, 200] {
        // Its input stays open, so it is always killed under way.
        let mut feed = place.forebay(&["reads", "pack", "-", "-o", "x"]);
        let mut child = feed.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
        let mut to = child.stdin.take().expect("a pipe");
        let bytes = text.clone();
        let feeding = std::thread::spawn(move || {
            let _ = std::io::Write::write_all(&mut to, bytes.as_bytes());
            to
        });
        // From when it has begun.
        wait_until("the archive is begun", || place.project.join("x").exists());
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().expect("killed");
        child.wait().expect("ended");
        drop(feeding.join().expect("fed"));
        let end = done(&mut place.forebay(&["reads", "cat", "x"]));
        assert!(end.code(1).says("manifest.fbr is missing").stdout.is_empty());
        done(&mut place.forebay(&["reads", "verify", "x"])).code(1);
    }
    pack(&place, &["a.fq"]).code(0);
    assert!(cat(&place, &[]) == text.as_bytes());
}

#[test]
fn the_python_decoder_agrees() {
    let place = Place::new();
    let script =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/unpack-reads.py");
    let venv = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let python = if venv.exists() { venv.into_os_string() } else { "python3".into() };
    let there = done(place.program(&python).args(["-c", "import zstandard"]));
    if there.status.code() != Some(0) {
        return crate::place::skip("python has no zstandard").unwrap_or_default();
    }
    let (first, second) = (reads(700, '1'), reads(700, '2'));
    let long = format!("@u1-2f\n{}\n+\n{}\n", "ACGTN".repeat(9000), "5%7".repeat(15_000));
    let odd = format!("{}garbage\n", reads(30, '1').replace('\n', "\r\n"));
    // Many levels, of which `fast` makes a dictionary.
    let levels = (0..300_usize).map(|nth| {
        let level = |at: usize| char::from(b'#' + (at * (at + nth) % 97 % 23) as u8);
        let qualities: String = (0..100).map(|at| level(at / 3)).collect();
        format!("@l{nth}\n{}\n+\n{qualities}\n", "ACGT".repeat(25))
    });
    let levels: String = levels.collect();
    let cases: &[(&str, &[&str])] = &[
        ("pair", &[&first, &second]),
        ("levels", &[&levels]),
        ("long", &[&long]),
        ("odd", &[&odd]),
        ("empty", &[""]),
        ("lite", &[&first.replace(['F', ':', ',', '#'], "?")]),
    ];
    // Each in another layout of objects.
    for ((what, texts), layout) in cases.iter().zip(["each", "apart", "together"].iter().cycle()) {
        let folder = place.project.join(what);
        fs::create_dir(&folder).expect("made");
        let names: Vec<String> = (1..=texts.len()).map(|nth| format!("{what}_R{nth}.fq")).collect();
        let mut words = ["reads", "pack", "--objects", layout, "-o"].map(str::to_owned).to_vec();
        words.push(format!("{what}.reads"));
        if *what == "levels" {
            words.extend(["--profile", "fast"].map(str::to_owned));
        }
        for (name, text) in names.iter().zip(*texts) {
            fs::write(folder.join(name), text).expect("written");
            words.push(format!("{what}/{name}"));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        done(&mut place.forebay(&words)).code(0);
        let out = format!("{what}.out");
        let unpack =
            done(place.program(&python).arg(&script).args([&format!("{what}.reads"), "-o", &out]));
        unpack.code(0);
        let manifest = fs::read(place.project.join(format!("{what}.reads/manifest.fbr")));
        let version = manifest.expect("a manifest")[4];
        assert_eq!(version, if *what == "levels" { 2 } else { 1 }, "{what}");
        done(place.program("diff").args(["-r", what, &out])).code(0);
    }
    // It refuses what is damaged, too.
    let data = place.project.join("pair.reads/data-00000.fbr");
    let mut bytes = fs::read(&data).expect("data");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&data, bytes).expect("written");
    let unpack = done(place.program(&python).arg(&script).args(["pair.reads", "-o", "damaged"]));
    unpack.code(1);
}

#[test]
fn a_profile_changes_the_archive_and_no_byte_of_the_reads() {
    let place = Place::new();
    let text = reads(3000, '1');
    // The second mate has the bases of the first, on which `fast` does not lean.
    for name in ["a.fastq", "b.fastq"] {
        fs::write(place.project.join(name), &text).expect("written");
    }
    let mut sizes = Vec::new();
    for (profile, groups) in [("default", "1 groups"), ("fast", "1 groups"), ("random", "2 groups")]
    {
        let _ = fs::remove_dir_all(place.project.join("x"));
        pack(&place, &["a.fastq", "b.fastq", "--profile", profile]).code(0);
        for mate in ["1", "2"] {
            assert_eq!(cat(&place, &["--mate", mate]), text.as_bytes(), "{profile}, {mate}");
        }
        done(&mut place.forebay(&["reads", "verify", "x"])).code(0).says(groups);
        let data = fs::metadata(place.project.join("x/data-00000.fbr")).expect("an object");
        sizes.push(data.len());
    }
    assert!(sizes[0] < sizes[1], "{sizes:?}");
    pack(&place, &["a.fastq", "--profile", "tiny"]).code(2);
}
