//! Archives from and to other formats, from outside. If these failed, reads would be missing after
//! a conversion that called itself a success: a program that failed, a mate that was elsewhere.
//! samtools and sra-tools are played by scripts here; tests/real has them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::place::{Place, done, finish};
use crate::reads::reads;

/// An archive `x` of pairs with names as sequencers write them, and its two texts.
fn packed(place: &Place) -> [String; 2] {
    let texts = [reads(3000, '1'), reads(3000, '2')];
    for (nth, text) in texts.iter().enumerate() {
        fs::write(place.project.join(format!("a_R{}.fq", nth + 1)), text).expect("written");
    }
    done(&mut place.forebay(&["reads", "pack", "a_R1.fq", "a_R2.fq", "-o", "x"])).code(0);
    texts
}

fn forebay(place: &Place, words: &str) -> crate::place::Done {
    done(&mut place.forebay(&words.split(' ').collect::<Vec<_>>()))
}

/// A program of this name, in a directory that is searched first.
fn program(place: &Place, name: &str, script: &str) {
    let dir = place.all.join("bin");
    fs::create_dir_all(&dir).expect("made");
    // By another process: a neighbouring test's child could hold our descriptor, and the kernel
    // would call the script busy.
    let write = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut sh = Command::new("sh");
    let mut sh = sh.args(["-c", write]).arg(dir.join(name)).stdin(Stdio::piped()).spawn();
    let sh = sh.as_mut().expect("started");
    let text =
        format!("#!/bin/sh\necho \"$@\" > '{}'\n{script}\n", place.all.join("args").display());
    sh.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    assert!(sh.wait().expect("ended").success());
    assert!(fs::metadata(dir.join(name)).expect("there").permissions().mode() & 0o111 != 0);
}

/// Forebay where programs of this test are found before others, or none at all.
fn among(place: &Place, others: bool, words: &[&str]) -> Command {
    let mut command = place.forebay(words);
    let own = place.all.join("bin").display().to_string();
    command.env("PATH", if others { format!("{own}:/usr/bin:/bin") } else { own });
    command
}

fn args(place: &Place) -> String {
    fs::read_to_string(place.all.join("args")).expect("it ran")
}

#[test]
fn reads_go_out_and_come_in_again() {
    let place = Place::new();
    let texts = packed(&place);
    let group = r"@RG\tID:lane1\tSM:tumour";
    let words = ["reads", "export", "x", "-o", "x.bam", "-R", group];
    done(&mut place.forebay(&words)).code(0).says("6,000 reads are in x.bam");
    forebay(&place, "reads pack x.bam -o y").code(0).says("3,000 pairs of reads");
    for (nth, text) in texts.iter().enumerate() {
        let again = forebay(&place, &format!("reads cat y --file x_R{}.fastq", nth + 1));
        assert!(again.code(0).stdout == text.as_bytes());
        assert!(
            forebay(&place, &format!("reads cat y --mate {}", nth + 1)).stdout == text.as_bytes()
        );
    }
    // Through pipes.
    let mut to = place.forebay(&["reads", "export", "x", "--to", "bam", "-o", "-", "--level", "0"]);
    let mut to = to.stdout(Stdio::piped()).spawn().expect("started");
    let mut from = place.forebay(&["reads", "pack", "-", "-o", "z"]);
    from.stdin(to.stdout.take().expect("a pipe")).stderr(Stdio::piped());
    finish(from.spawn().expect("started"), crate::place::PATIENCE).code(0);
    assert!(to.wait().expect("ended").success());
    let told = forebay(&place, "reads info z --json").code(0).text();
    assert!(told.contains("reads_R2.fastq"), "{told}");

    forebay(&place, "reads export x -o out").code(0);
    let gunzip = done(place.program("sh").args(["-c", "gzip -dc out/a_R1.fq.gz | cmp - a_R1.fq"]));
    gunzip.code(0);
    assert!(!place.project.join("out/a_R1.fq.gz.part").exists());
    for (words, cause) in [
        ("reads export x -o out", "out/a_R1.fq.gz: it is there already"),
        ("reads export x -o x.bam", "x.bam: it is there already"),
        ("reads export x -o new.sam", "new.sam: SAM is not written"),
        ("reads export x -o new.fastq.gz", "FASTQ goes into a directory"),
        ("reads export x -o -", "FASTQ goes into a directory"),
        ("reads export x -o new -R @RG", "FASTQ has no read groups"),
        ("reads export x -o new.bam -R lane1", "a read group is a line as @RG"),
        ("reads pack x.bam --interleaved -o w", "say which mate a read is"),
        ("reads pack x.bam a_R1.fq -o w", "it is BAM, which has the reads of all mates"),
        ("reads pack a_R1.fq --skip-unpaired -o w", "is for BAM and CRAM"),
        ("reads pack x.bam --name one -o w", "2 plain names of files are needed"),
    ] {
        forebay(&place, words).code(1).says(cause);
        assert!(!place.project.join("new.bam").exists(), "{words}");
        forebay(&place, "reads cat w").code(1);
    }
    let head = fs::read(place.project.join("x.bam")).expect("a file");
    fs::write(place.project.join("cut.bam"), &head[..head.len() - 28]).expect("written");
    forebay(&place, "reads pack cut.bam -o w").code(1).says("cut.bam: it is cut off");
    // Lower case has no place in BAM.
    fs::write(place.project.join("low.fq"), "@a\nacgt\n+\nIIII\n").expect("written");
    forebay(&place, "reads pack low.fq -o low").code(0);
    forebay(&place, "reads export low -o low.bam").code(0).says("1 reads are not as they were");
}

/// `x.bam` says of itself that it is in the order of a reference.
fn call_sorted(place: &Place) -> Vec<u8> {
    let whole = fs::read(place.project.join("x.bam")).expect("a file");
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(&whole[..]).read_to_end(&mut bytes).expect("gzip");
    let text = bytes.windows(11).position(|at| at == b"SO:unsorted").expect("its order");
    bytes.splice(text..text + 11, *b"SO:coordinate");
    bytes[4] += 2;
    let mut blocks = noodles_bgzf::io::Writer::new(Vec::new());
    blocks.write_all(&bytes).expect("packed");
    blocks.finish().expect("packed")
}

#[test]
fn mates_that_are_far_apart_are_brought_together_by_samtools() {
    let place = Place::new();
    let texts = packed(&place);
    forebay(&place, "reads export x -o x.bam").code(0);
    fs::write(place.project.join("sorted.bam"), call_sorted(&place)).expect("written");
    let words = ["reads", "pack", "sorted.bam", "-o", "deep/y"];
    let missing = done(&mut among(&place, false, &words));
    missing.code(1).says("samtools is not in PATH").says("apt install samtools");
    assert!(!place.project.join("deep/y.collate").exists());

    program(
        &place,
        "samtools",
        "touch \"${0%bin/samtools}project/deep/y.collate/part.0\"; cat x.bam",
    );
    done(&mut among(&place, true, &words)).code(0).says("3,000 pairs of reads");
    let said = args(&place);
    let own = place.project.display();
    assert!(said.starts_with("collate -O -u --no-PG -@ "), "{said}");
    assert!(said.ends_with(&format!("{own}/sorted.bam {own}/deep/y.collate/part\n")), "{said}");
    assert!(!place.project.join("deep/y.collate").exists());
    let again = forebay(&place, "reads cat deep/y --file sorted_R2.fastq");
    assert!(again.code(0).stdout == texts[1].as_bytes());

    let stdin = fs::File::open(place.project.join("sorted.bam")).expect("open");
    let mut from = among(&place, true, &["reads", "pack", "-", "-o", "z"]);
    from.stdin(stdin).stderr(Stdio::piped());
    let end = finish(from.spawn().expect("started"), crate::place::PATIENCE);
    end.code(1).says("mates are far apart").says("samtools collate -O -u");
}

#[test]
fn cram_is_read_and_written_by_samtools() {
    let place = Place::new();
    let texts = packed(&place);
    forebay(&place, "reads export x -o x.bam").code(0);
    fs::write(place.project.join("c.cram"), b"CRAM\x03\x01").expect("written");
    let words = ["reads", "pack", "c.cram", "-o", "y", "--reference", "r.fa"];
    done(&mut among(&place, false, &words)).code(1).says("samtools is not in PATH: CRAM is");
    program(&place, "samtools", "cat x.bam");
    done(&mut among(&place, true, &words)).code(0);
    let own = place.project.display();
    let said = args(&place);
    assert!(said.starts_with("view -u --no-PG -@ "), "{said}");
    assert!(said.ends_with(&format!("--reference {own}/r.fa {own}/c.cram\n")), "{said}");
    let again = forebay(&place, "reads cat y --file c_R1.fastq");
    assert!(again.code(0).stdout == texts[0].as_bytes());

    let words = ["reads", "export", "x", "-o", "new.cram"];
    program(&place, "samtools", "while [ \"$1\" != -o ]; do shift; done; cat > \"$2\"");
    done(&mut among(&place, true, &words)).code(0);
    forebay(&place, "reads export x --to bam --level 0 -o same").code(0);
    done(place.program("cmp").args(["new.cram", "same"])).code(0);
    // What fails leaves nothing, and says what the program said.
    program(&place, "samtools", "head -c 9999 x.bam; echo no reference >&2; exit 7");
    let failed = done(&mut among(&place, true, &["reads", "pack", "c.cram", "-o", "z"]));
    failed.code(1).says("samtools ended with exit status: 7: no reference").says("--reference");
    forebay(&place, "reads cat z").code(1);
    program(&place, "samtools", "echo the disk is full >&2; exit 7");
    let words = ["reads", "export", "x", "-o", "other.cram"];
    done(&mut among(&place, true, &words)).code(1).says("exit status: 7: the disk is full");
    assert!(!place.project.join("other.cram").exists());
    assert!(!place.project.join("other.cram.part").exists());
}

#[test]
fn archives_of_sra_come_in_through_fastq_dump() {
    let place = Place::new();
    let record =
        |spot: u32| format!("@S.{spot} {spot} length=4\nACGT\n+S.{spot} {spot} length=4\nIIII\n");
    let (pairs, single): (String, String) =
        (1..2000_u32).map(|spot| (record(spot) + &record(spot), record(spot))).unzip();
    let file = |name: &str, text: &str| fs::write(place.project.join(name), text).expect("written");
    file("pairs", &pairs);
    file("single", &single);
    file("torn", &(pairs.clone() + &record(5000)));
    file("S.sra", "NCBI.sra\u{5}");
    file("S.sralite", "NCBI.sra\u{5}");
    let words = ["reads", "import", "S.sra", "-o", "x"];
    let missing = done(&mut among(&place, false, &words));
    missing.code(1).says("fastq-dump is not in PATH").says("apt install sra-toolkit");

    program(&place, "fastq-dump", "cat pairs");
    done(&mut among(&place, true, &words)).code(0).says("1,999 pairs of reads");
    let said = args(&place);
    let own = place.project.display().to_string();
    assert_eq!(said, format!("--stdout --split-spot --skip-technical {own}/S.sra\n"));
    for name in ["S_1.fastq", "S_2.fastq"] {
        let again = forebay(&place, &format!("reads cat x --file {name}"));
        assert!(again.code(0).stdout == single.as_bytes());
    }
    program(&place, "fastq-dump", "cat single");
    let words = ["reads", "import", "S.sralite", "-o", "y", "--original-names"];
    done(&mut among(&place, true, &words)).code(0);
    assert!(args(&place).contains("--skip-technical --origfmt /"), "{}", args(&place));
    assert!(forebay(&place, "reads cat y --file S.fastq").code(0).stdout == single.as_bytes());

    program(&place, "fastq-dump", "cat torn");
    let words = ["reads", "import", "S.sra", "-o", "z"];
    done(&mut among(&place, true, &words)).code(1).says("read S.5000 has no mate beside it");
    let words = [&words[..], &["--skip-unpaired"]].concat();
    done(&mut among(&place, true, &words)).code(0).says("1 reads without a mate were left out");
    program(&place, "fastq-dump", "cat pairs; echo timeout exhausted >&2; exit 3");
    let words = ["reads", "import", "S.sra", "-o", "w"];
    done(&mut among(&place, true, &words)).code(1).says("exit status: 3: timeout exhausted");
    forebay(&place, "reads cat w").code(1);
    file("no.sra", "@a\nA\n+\nI\n");
    forebay(&place, "reads import no.sra -o v").code(1).says("no.sra is no archive of SRA");
    forebay(&place, "reads import none.sra -o v").code(1).says("none.sra: No such file");
    forebay(&place, "reads pack S.sra -o v").code(1).says("`forebay reads import FILE` packs it");
}
