//! What people have, as it comes to `forebay reads` and `forebay attach`: sheets of spreadsheets, mates
//! in other orders, sets of files, archives that can't be read, thousands of files. If these failed,
//! what can be read would be refused, or what is wrong would be taken in silence.

use std::fs;
use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::place::{Done, Place, done};
use crate::reads::reads;

fn forebay(place: &Place, words: &[&str]) -> Done {
    done(&mut place.forebay(words))
}

fn write(place: &Place, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(place.project.join(name), bytes).expect("written");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::new(6));
    out.write_all(text.as_bytes()).expect("memory");
    out.finish().expect("memory")
}

#[test]
fn a_sheet_of_a_spreadsheet_is_packed_and_found_packed() {
    let place = Place::new();
    let (first, second) = (reads(40, '1'), reads(40, '2'));
    write(&place, "my reads, L1_R1.fq", &first);
    write(&place, "my reads, L1_R2.fq", &second);
    write(&place, "L2,R1.fq", &first);
    write(&place, "L2,R2.fq", &second);
    write(&place, "s.fq", &first);
    let sheet = "\u{feff}\"sample\",\"fastq_1\",\"fastq_2\",\"strandedness\"\r\n\
        \"a\",\"my reads, L1_R1.fq\",\"my reads, L1_R2.fq\",\"auto\"\r\n\
        \"a\",\"L2,R1.fq\",\"L2,R2.fq\"\r\n\"b b\",\"s.fq\"\r\n,,,\r\n\r\n";
    write(&place, "s.csv", sheet);
    let words = ["reads", "pack", "--samples", "s.csv", "-o", "out"];
    forebay(&place, &words).code(0).says("80 pairs of reads").says("40 reads");
    let lanes = forebay(&place, &["reads", "cat", "out/a.reads", "--mate", "2"]);
    assert!(lanes.code(0).text() == second.repeat(2));
    assert!(forebay(&place, &["reads", "cat", "out/b b.reads"]).code(0).text() == first);
    let again = forebay(&place, &words);
    again.code(0).says("out/a.reads is there already").says("out/b b.reads is there already");
}

#[test]
fn mates_in_another_order_are_told_and_every_byte_comes_back() {
    let place = Place::new();
    let (first, second) = (reads(30, '1'), reads(30, '2'));
    let lines: Vec<&str> = second.split_inclusive('\n').collect();
    let shifted = lines[4..].concat() + &lines[..4].concat();
    write(&place, "a_R1.fq", &first);
    write(&place, "a_R2.fq", &shifted);
    // Not only to those who look.
    let told = forebay(&place, &["reads", "pack", "-q", "a_R1.fq", "a_R2.fq", "-o", "x"]);
    told.code(0).says("in 30 of 30 pairs the mates have different names, first in pair 1");
    told.says("M01:7:FC:1:1101:0:0").says("M01:7:FC:1:1101:37:7919");
    let mate = forebay(&place, &["reads", "cat", "x", "--mate", "2"]);
    assert!(mate.code(0).text() == shifted);
    write(&place, "a_R2.fq", &second);
    let fits = forebay(&place, &["reads", "pack", "-q", "a_R1.fq", "a_R2.fq", "-o", "y"]);
    assert_eq!(fits.code(0).stderr, "");
    // A file of single reads that was called interleaved.
    let single = ["reads", "pack", "-q", "--interleaved", "a_R1.fq", "-o", "z"];
    forebay(&place, &single).code(0).says("in 15 of 15 pairs the mates have different names");
}

#[test]
fn a_set_of_files_is_refused_with_the_way_to_pack_it() {
    let place = Place::new();
    let set = ["x_I1.fq", "x_I2.fq", "x_R1.fq", "x_R2.fq"];
    for name in set {
        write(&place, name, reads(5, if name.contains('1') { '1' } else { '2' }));
    }
    for files in [&set[..], &set[1..]] {
        let end = forebay(&place, &[&["reads", "pack", "-o", "x"], files].concat());
        end.code(1).says(&format!("{} files: an archive has one file", files.len()));
        end.says("pack x_I1.fq.gz x_I2.fq.gz -o x.index.reads").says("nothing was packed");
        assert!(!place.project.join("x").exists());
    }
    forebay(&place, &["reads", "pack", "x_I1.fq", "x_I2.fq", "-o", "x.index.reads"]).code(0);
}

#[test]
fn an_archive_that_can_not_be_read_is_not_called_damaged() {
    let place = Place::new();
    write(&place, "a.fq", reads(50, '1'));
    forebay(&place, &["reads", "pack", "a.fq", "-o", "x"]).code(0);
    // The system refuses it to everybody, root too: a link that leads to itself.
    let data = place.project.join("x/data-00000.fbr");
    fs::rename(&data, place.project.join("data")).expect("moved");
    std::os::unix::fs::symlink("data-00000.fbr", &data).expect("a link");
    let verify = forebay(&place, &["reads", "verify", "x"]);
    verify
        .code(1)
        .says("data-00000.fbr: Too many levels of symbolic links")
        .says("nothing is known");
    assert!(!verify.stderr.contains("is damaged"), "{}", verify.stderr);
    let cat = forebay(&place, &["reads", "cat", "x"]);
    cat.code(1).says("Too many levels of symbolic links").says("yours to read");
    // What is gone, or another, is damage.
    fs::remove_file(&data).expect("removed");
    forebay(&place, &["reads", "verify", "x"]).code(1).says("x is damaged");
    fs::rename(place.project.join("data"), &data).expect("back");
    forebay(&place, &["reads", "verify", "x"]).code(0);

    // Nor is it packed over by a sheet.
    let manifest = place.project.join("out/s.reads/manifest.fbr");
    write(&place, "s.csv", "sample,fastq_1\ns,a.fq\n");
    let words = ["reads", "pack", "--samples", "s.csv", "-o", "out"];
    forebay(&place, &words).code(0);
    fs::remove_file(&manifest).expect("removed");
    std::os::unix::fs::symlink("manifest.fbr", &manifest).expect("a link");
    forebay(&place, &words).code(1).says("manifest.fbr: Too many levels of symbolic links");
}

#[test]
fn more_files_are_attached_than_a_process_may_have_open() {
    let Some(place) = Place::with_fuse() else { return };
    let many = place.all.join("many");
    fs::create_dir(&many).expect("made");
    let text = reads(10, '1');
    let packed = gzip(&text);
    for nth in 0..400 {
        fs::write(many.join(format!("s{nth}.fastq.gz")), &packed).expect("written");
    }
    // What macOS leaves beside files is hidden, and no gzip.
    fs::write(many.join("._s1.fastq.gz"), "Mac OS X").expect("written");
    fs::write(place.all.join("text"), &text).expect("written");
    let few = |script: &str| {
        let script = format!("ulimit -n 256; {script}");
        done(place.program("sh").args(["-c", &script, crate::place::FOREBAY]))
    };
    few("\"$0\" attach . ../many p --plain").code(0).says("p/s399.fastq: ");
    // All of them twice: none is open any more when its turn comes again.
    let script = "ls p | wc -l; for turn in 1 2; do for n in $(seq 0 399); do \
        cmp p/s$n.fastq ../text || exit 9; done; done";
    let end = few(&format!("\"$0\" run --quiet -- sh -c '{script}'"));
    assert_eq!(end.code(0).text().trim(), "800");
    place.nobody_left();
}

#[test]
fn files_that_lie_in_the_volume_itself_are_shown_whatever_covers_them() {
    let Some(place) = Place::with_fuse() else { return };
    let text = reads(10, '1');
    fs::create_dir(place.project.join("in")).expect("made");
    for nth in 0..80 {
        write(&place, &format!("in/s{nth}.fastq.gz"), gzip(&text));
    }
    write(&place, "text", &text);
    forebay(&place, &["attach", ".", "in", "p", "--plain"]).code(0);
    let script = "for turn in 1 2; do for n in $(seq 0 79); do \
        cmp p/s$n.fastq text || exit 9; done; done; echo all";
    let end = done(&mut place.script(&["--quiet"], script));
    assert_eq!(end.code(0).text(), "all\n", "{end:?}");
    place.nobody_left();
}

#[test]
fn padded_files_and_those_with_blank_lines_are_attached_and_packed() {
    let Some(place) = Place::with_fuse() else { return };
    let text = format!("\u{feff}{}\n", reads(300, '1'));
    let padded = [gzip(&text), vec![0; 10_240]].concat();
    write(&place, "a.fastq.gz", &padded);
    forebay(&place, &["attach", ".", "a.fastq.gz", "p"]).code(0);
    forebay(&place, &["reads", "pack", "a.fastq.gz", "-o", "x"]).code(0).says("300 reads");
    forebay(&place, &["attach", ".", "x", "r", "--shards", "2"]).code(0);
    forebay(&place, &["attach", ".", "x", "l", "--lite"]).code(0);
    write(&place, "text", &text);
    let script = "cmp p/a.fastq text && cmp r/a.fastq text && tail -n 2 l/a.fastq";
    let end = done(&mut place.script(&["--quiet"], script));
    assert_eq!(end.code(0).text(), format!("{}\n\n", "?".repeat(75)), "{end:?}");
    let lines = forebay(&place, &["reads", "cat", "x", "--form", "bases"]);
    assert_eq!(lines.code(0).text().lines().count(), 300);
    // A file of wrapped lines can't be shown without qualities.
    write(&place, "w.fq", "@a\nAC\nGT\n+\nII\nII\n");
    forebay(&place, &["reads", "pack", "w.fq", "-o", "w"]).code(0);
    forebay(&place, &["attach", ".", "w", "w2", "--lite"]).code(1).says("without --lite");
    place.nobody_left();
}
