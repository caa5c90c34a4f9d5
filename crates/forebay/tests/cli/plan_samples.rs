//! A plan is learnt on one sample and obeyed with the next. If these fail, rules match nothing of
//! tomorrow's samples, and nobody notices: the run is as slow as before.

use crate::place::done;
use crate::tiers::Tiered;

/// Storage so slow that what the machine does besides, while the first sample is recorded, makes no
/// plan too uncertain to be worth it: a model that is wrong by half is no reason to stay there.
const SITE: &str = "[nodes]\ncount = 1\ncores = 4\n\
    [tier.net]\nreach = 'shared'\n\
    profile = { source = 'a test', latency = '30 ms', write = { stream = '10 kB/s' } }\n";

/// How the first files are made, and the last ones of those between. Programs open what they make
/// themselves: for which program a shell has opened a file is told by times, which the kernel gives
/// in hundredths of a second.
type Programs = [&'static str; 2];
/// All files have bytes.
const ALL_LARGE: Programs = [
    "dd status=none if=/dev/zero bs=200000 count=1 of=",
    "sort -o bam/$s.bam trim/${s}_1.fq trim/${s}_2.fq",
];
/// Those between alone have bytes, so that a plan wins nearly all of the time.
const BETWEEN_LARGE: Programs =
    ["truncate -s 200000 ", "cksum trim/${s}_1.fq trim/${s}_2.fq > bam/$s.bam"];

/// Reads of some samples go from stage to stage; what lies between is deleted.
fn pipeline(samples: &str, [make, last]: Programs) -> String {
    format!(
        "mkdir -p data trim bam
        for s in {samples}; do
            for n in 1 2; do {make}data/${{s}}_$n.fq; done
        done
        for s in {samples}; do
            for n in 1 2; do dd status=none bs=64k if=data/${{s}}_$n.fq of=trim/${{s}}_$n.fq; done
            {last}
        done
        wc -c bam/*.bam > report.txt
        rm -r trim"
    )
}

/// Learns rules from a run with some samples, and obeys them with others: of files between stages
/// so many live on the planned tier.
fn obeyed(learnt_on: &str, obeyed_by: &str, programs: Programs, between: i64) {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let place = &tiered.place;
    // By a mount, where each program takes so long that it is a task of its own.
    let options = ["-q", "--trace", "every-read", "--recorder", "fuse"];
    done(&mut place.script(&options, &pipeline(learnt_on, programs))).code(0);
    let far = tiered.far.path().display();
    let far = format!("[tier.far]\npath = \"{far}\"\nreach = \"node\"\ncapacity = \"1 GB\"\n");
    let site = format!("{SITE}{far}profile = {{ source = 'a test', latency = '10 us' }}\n");
    std::fs::write(place.all.join("plan-site.toml"), site).expect("written");
    let words = ["plan", "../out.run", "--site", "../plan-site.toml", "--project", "net"];
    done(&mut place.forebay(&[&words[..], &["-o", "../rules.toml"]].concat())).code(0);
    let rules = std::fs::read_to_string(place.all.join("rules.toml")).expect("rules");
    assert!(rules.contains("\"trim/*_[0-9]*.fq\""), "{rules}");
    for sample in learnt_on.split(' ') {
        assert!(!rules.contains(&format!("match = \"trim/{sample}")), "{rules}");
    }
    let site = ["-q", "--site", "../plan-site.toml", "--rules", "../rules.toml"];
    done(&mut place.script(&site, &pipeline(obeyed_by, programs))).code(0);
    let on_far = "SELECT count(*) FROM files JOIN trees ON files.home = trees.tree \
                  WHERE tier = 'far' AND CAST(files.path AS TEXT) LIKE 'trim/%'";
    assert_eq!(place.record().number(on_far), between, "{rules}");
    place.nothing_left();
}

#[test]
fn rules_learnt_on_one_sample_fit_the_next() {
    obeyed("patient_A_T2", "foo", BETWEEN_LARGE, 2);
}

#[test]
fn rules_learnt_on_one_batch_fit_the_next_with_other_names() {
    obeyed("hs ds", "liver.rep1 kidney_A P7", ALL_LARGE, 6);
}
