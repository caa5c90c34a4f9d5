//! Containers of Azure, through Azurite, Microsoft's emulator. If these fail, people whose data are in
//! Azure lose what people with S3 keep.

use std::path::Path;
use std::process::Command;

use crate::others::{OTHERS, Running};
use crate::place::{Done, Place, done};
use crate::tiers::Tiered;

/// Azurite with one container; `None`, loudly, where it is not installed.
fn container() -> Option<Running> {
    OTHERS.iter().find(|other| other.name == "Azurite")?.start("ours")
}

fn with(server: &Running, place: &Place, words: &[&str], paths: &[&Path]) -> Done {
    done(place.forebay(words).args(paths).envs(server.settings()))
}

#[test]
fn a_volume_in_a_container_comes_back_on_another_machine() {
    let (Some(place), Some(server)) = (Place::with_fuse(), container()) else { return };
    let (at, state) = (place.all.join("at"), place.all.join("state1"));
    std::fs::create_dir(&at).expect("a mount point");
    let long: Vec<u8> = (0..20_000_000u32).map(|at| (at / 11 % 253) as u8).collect();
    let url = format!("{}/lab/v", server.url("ours"));
    let url = Path::new(&url);
    with(&server, &place, &["mount", "--state"], &[&state, url, &at]).code(0);
    std::fs::create_dir(at.join("calls")).expect("made");
    std::fs::write(at.join("calls/a.vcf"), "one").expect("written");
    std::fs::write(at.join("long.bam"), &long).expect("written");
    std::fs::rename(at.join("calls/a.vcf"), at.join("calls/b.vcf")).expect("renamed");
    with(&server, &place, &["unmount"], &[&at]).code(0);
    // Another machine has nothing of it.
    let other = place.all.join("state2");
    with(&server, &place, &["mount", "--state"], &[&other, url, &at]).code(0);
    assert_eq!(std::fs::read_to_string(at.join("calls/b.vcf")).expect("it comes"), "one");
    assert!(std::fs::read(at.join("long.bam")).expect("it comes") == long);
    assert!(!at.join("calls/a.vcf").exists());
    std::fs::remove_file(at.join("calls/b.vcf")).expect("removed");
    with(&server, &place, &["unmount"], &[&at]).code(0);
    let checked = with(&server, &place, &["check"], &[url]);
    checked.code(0);
    let third = place.all.join("state3");
    let nobody = done(place.forebay(&["mount", "--state"]).args([
        third.as_path(),
        Path::new("az://x/y"),
        &at,
    ]));
    nobody.code(125).says("AZURE_STORAGE_ACCOUNT");
}

#[test]
fn results_go_to_a_container_and_are_attached_from_it() {
    let (Some(tiered), Some(server)) = (Tiered::with_fuse(), container()) else { return };
    tiered.site("[tier.shelf]\npath = \"az://ours/lab/r1\"\nreach = \"world\"");
    let rules = "[[rule]]\nmatch = \"results/**\"\nhome = \"in-place\"\npublish = \"shelf\"\n";
    let script = "mkdir results; echo '##VCF' > results/a.vcf";
    let mut run = tiered.script(rules, script);
    done(run.envs(server.settings())).code(0);
    let place = &tiered.place;
    let project = place.all.join("project");
    let attach = |words: &[&str]| -> Done {
        let mut command: Command = place.forebay(&["attach"]);
        done(command.arg(&project).args(words).envs(server.settings()))
    };
    attach(&["az://ours/lab/r1", "shelf"]).code(0);
    let sheet = place.all.join("sheet.csv");
    std::fs::write(&sheet, "s,az://ours/lab/r1/results/a.vcf\n").expect("written");
    let rewritten = attach(&["--rewrite", sheet.to_str().expect("a name")]).text();
    assert_eq!(rewritten, format!("s,{}/shelf/results/a.vcf\n", project.display()));
    let mut run = place.script(&["-q"], "cat shelf/results/a.vcf");
    assert_eq!(done(run.envs(server.settings())).code(0).text(), "##VCF\n");
}
