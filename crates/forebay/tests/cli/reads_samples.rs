//! `forebay reads pack --samples`, from outside. If these failed, lanes of a sample would be lost or
//! put in another order, or a sheet that changed would be taken for packed.

use std::fs;

use crate::place::{Done, Place, done};
use crate::reads::reads;

fn pack(place: &Place) -> Done {
    done(&mut place.forebay(&["reads", "pack", "--samples", "sheet.csv", "-o", "packed"]))
}

fn cat(place: &Place, words: &[&str]) -> String {
    done(&mut place.forebay(&[&["reads", "cat"], words].concat())).code(0).text()
}

#[test]
fn each_sample_is_an_archive_of_its_lanes() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        fs::write(place.project.join(name), text).expect("written");
    };
    let (first, second) = (reads(400, '1'), reads(400, '2'));
    let half = first.len() / first.lines().count() * 400;
    let half = first[..half].rfind("\n@M01").expect("a record") + 1;
    let nth = first[..half].lines().count();
    let other = second.split_inclusive('\n').take(nth).map(str::len).sum();
    write("L1_1.fq", &first[..half]);
    write("L2_1.fq", &first[half..]);
    write("L1_2.fq", &second[..other]);
    write("L2_2.fq", &second[other..]);
    write("alone.fq", &first);
    let sheet = "sample,fastq_1,fastq_2\ntumour,L1_1.fq,L1_2.fq\nalone,alone.fq,\n";
    write("sheet.csv", &format!("{sheet}tumour,L2_1.fq,gone.fq\n"));
    pack(&place).code(1).says("gone.fq").says("nothing was packed");
    assert!(!place.project.join("packed").exists());

    write("sheet.csv", &format!("{sheet}tumour,L2_1.fq,L2_2.fq\n"));
    pack(&place).code(0).says("400 pairs of reads").says("packed/alone.reads");
    assert_eq!(cat(&place, &["packed/tumour.reads", "--file", "tumour_R1.fastq"]), first);
    assert_eq!(cat(&place, &["packed/tumour.reads", "--file", "tumour_R2.fastq"]), second);
    assert_eq!(cat(&place, &["packed/alone.reads"]), first);

    // Asked again: what is whole stays, what is missing is made, what is something else is told.
    fs::remove_dir_all(place.project.join("packed/alone.reads")).expect("removed");
    pack(&place).code(0).says("packed/tumour.reads is there already").says("400 reads");
    assert_eq!(cat(&place, &["packed/alone.reads"]), first);
    write("sheet.csv", sheet);
    pack(&place).code(1).says("packed/tumour.reads was made of other files");
    write("sheet.csv", "sample,fastq_1\nalone,alone.fq\nodd,sheet.csv\n");
    pack(&place).code(0).says("kept as text");
}
