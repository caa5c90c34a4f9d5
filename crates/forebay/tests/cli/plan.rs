//! From a run to rules and back. If these fail, people wait for a plan that never comes, obey one
//! that does not fit, or are told a reason that is none.

use std::process::Command;

use crate::place::{Place, done};
use crate::tiers::Tiered;

/// Small files that are read and deleted, and a result.
const SCRIPT: &str = "mkdir tmp; for i in 1 2 3; do head -c 300000 /dev/zero > tmp/$i.sam; done
    cat tmp/1.sam tmp/2.sam tmp/3.sam > all.bam; sleep 0.2; rm -r tmp";
/// Machines, and a storage in place that is slow to find names, and takes longer for the files than a run
/// with rules takes for itself.
const SITE: &str = "[nodes]\ncount = 1\ncores = 4\ninstance = 'ec2.m6i.large'\n\
    [tier.net]\nreach = 'shared'\nprice = 'efs.elastic'\n\
    profile = { source = 'a test', latency = '20 ms', write = { stream = '200 kB/s' } }\n";

struct Planned {
    tiered: Tiered,
}

impl Planned {
    /// A run that was recorded, and a site with profiles.
    fn with_fuse() -> Option<Self> {
        Self::of_script(SCRIPT)
    }

    /// The same of another script that makes `all.bam`.
    fn of_script(script: &str) -> Option<Self> {
        let tiered = Tiered::with_fuse()?;
        // By a mount, where each program takes so long that it is a task of its own.
        let options = ["-q", "--trace", "every-read", "--recorder", "fuse"];
        done(&mut tiered.place.script(&options, script)).code(0);
        std::fs::remove_file(tiered.place.project.join("all.bam")).expect("it was made");
        let far = tiered.far.path().display();
        let near = format!("[tier.far]\npath = \"{far}\"\nreach = \"node\"\ncapacity = \"1 GB\"\n");
        let profile = "profile = { source = 'a test', latency = '10 us' }\n";
        let site = format!("{SITE}{near}{profile}");
        std::fs::write(tiered.place.all.join("plan-site.toml"), site).expect("written");
        Some(Self { tiered })
    }

    fn plan(&self, more: &[&str]) -> Command {
        let mut words = vec!["plan", "../out.run", "--site", "../plan-site.toml"];
        words.extend(more);
        self.tiered.place.forebay(&words)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.tiered.place.all.join(name)).expect(name)
    }
}

#[test]
fn a_plan_is_made_explained_and_obeyed() {
    let Some(planned) = Planned::with_fuse() else { return };
    let place = &planned.tiered.place;
    let emit = ["-o", "../rules.toml", "--emit", "snakemake,nextflow,slurm"];
    let told = done(&mut planned.plan(&emit)).code(0).text();
    for words in ["The fastest way", "The plan saves", "a gap of", "on far", "price sheet aws"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let rules = planned.read("rules.toml");
    assert!(rules.starts_with("# Made by `forebay plan`") && rules.contains("home = \"far\""));
    for name in ["rules.snakemake/config.yaml", "rules.nextflow.config", "rules.slurm.sh"] {
        assert!(planned.read(name).contains("../out.run"), "{name} does not say where it is from");
    }
    // The reasons are found from either file.
    let [first, second] = ["../rules.toml", "../rules.plan.json"]
        .map(|file| done(&mut place.forebay(&["explain", file])).code(0).text());
    assert!(told.starts_with(&first), "{told}\n{first}");
    assert_eq!(first, second);
    // The predicted run is a run for all that reads runs.
    let predicted = ["-o", "../rules.toml", "--predicted", "../b.run"];
    let text = done(&mut planned.plan(&predicted)).code(0).text();
    assert!(text.contains("forebay summary ../b.run"), "{text}");
    let summary = done(&mut place.forebay(&["summary", "../b.run"])).code(0).text();
    assert!(summary.contains("(simulated)") && summary.contains("cat"), "{summary}");
    done(&mut planned.plan(&["--predicted", "../out.run"])).code(1).says("take the place");
    // And a run obeys: the files that the plan moves are made on the tier, and come home.
    let site = ["-q", "--site", "../plan-site.toml", "--rules", "../rules.toml"];
    let mut run = place.script(&site, SCRIPT);
    done(&mut run).code(0);
    let there =
        "SELECT count(*) FROM files JOIN trees ON files.home = trees.tree WHERE tier = 'far'";
    assert!(place.record().number(there) >= 3, "nothing went to the tier:\n{rules}");
    assert_eq!(std::fs::metadata(place.project.join("all.bam")).expect("home").len(), 900_000);
    place.nothing_left();
}

#[test]
fn a_folder_that_the_run_left_empty_is_proposed_as_a_whole() {
    let script = SCRIPT.replace("mkdir tmp", "mkdir -p tmp").replace("rm -r tmp", "rm tmp/*");
    let Some(planned) = Planned::of_script(&script) else { return };
    let place = &planned.tiered.place;
    let told = done(&mut planned.plan(&["-o", "../rules.toml"])).code(0).text();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Folder \"tmp\" goes to far as a whole"), "{told}");
    let rules = planned.read("rules.toml");
    assert!(
        rules.contains("match = \"tmp/**\"") && rules.contains("whole_folder = true"),
        "{rules}"
    );
    // The next run works in it, and makes no name where the folder is.
    let site = ["-q", "--site", "../plan-site.toml", "--rules", "../rules.toml"];
    let look = "set -e; [ \"$(stat -c %d tmp)\" != \"$(stat -c %d .)\" ]";
    let mut run = place.script(&site, &format!("{look}; {script}"));
    done(&mut run).code(0);
    let folders = "SELECT CAST(value AS INTEGER) FROM header WHERE key = 'more.whole_folders'";
    assert_eq!(place.record().number(folders), 1, "{rules}");
    assert_eq!(std::fs::metadata(place.project.join("all.bam")).expect("home").len(), 900_000);
    // One that makes the folder itself, and removes it, is not asked to work in a whole one.
    let Some(planned) = Planned::with_fuse() else { return };
    done(&mut planned.plan(&["-o", "../rules.toml"])).code(0);
    assert!(!planned.read("rules.toml").contains("whole_folder"));
}

#[test]
fn the_same_run_gives_the_same_plan_and_json_has_all_of_it() {
    let Some(planned) = Planned::with_fuse() else { return };
    let options = ["--goal", "cheapest", "--samples", "3", "--json"];
    let text = done(&mut planned.plan(&options)).code(0).text();
    assert_eq!(text, done(&mut planned.plan(&options)).code(0).text());
    let plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((plan["goal"].as_str(), plan["samples"].as_u64()), (Some("cheapest"), Some(3)));
    assert!(plan["bound"].as_f64().expect("a bound") <= plan["value"].as_f64().expect("a value"));
    let before = plan["as_it_is"]["per_sample_usd"].as_f64().expect("dollars");
    assert!(plan["chosen"]["per_sample_usd"].as_f64().expect("dollars") <= before);
    assert_eq!(plan["prices"], "aws-us-east-1-2026-11 of 2026-11-21");
    assert!(plan["front"].as_array().is_some_and(|front| !front.is_empty()));
}

#[test]
fn machines_that_may_be_taken_away_are_tried_and_told() {
    let Some(planned) = Planned::with_fuse() else { return };
    let json = |more: &[&str]| -> serde_json::Value {
        let words = [&["--json", "--goal", "cheapest"], more].concat();
        let text = done(&mut planned.plan(&words)).code(0).text();
        serde_json::from_str(&text).expect("JSON")
    };
    let differs = |plan: &serde_json::Value| {
        let lost = plan["lost"].as_array().expect("a list").iter();
        let what = lost.filter_map(|lost| lost["what"].as_str()).collect::<Vec<_>>().join("\n");
        what.contains("machines that ")
    };
    let (both, spot, stay) = (json(&[]), json(&["--spot"]), json(&["--on-demand"]));
    assert!(differs(&both) && !differs(&spot) && !differs(&stay), "{both}");
    assert_eq!(
        (spot["setting"]["spot"].as_bool(), stay["setting"]["spot"].as_bool()),
        (Some(true), Some(false))
    );
    assert!(stay["chosen"]["cost"]["interruptions"].is_null());
    assert!(spot["chosen"]["cost"]["interruptions"].as_f64().is_some_and(|taken| taken > 0.0));
    let dollars = |plan: &serde_json::Value| plan["chosen"]["per_sample_usd"].as_f64();
    assert!(dollars(&both) <= dollars(&spot) && dollars(&both) <= dollars(&stay), "{both}");
    done(&mut planned.plan(&["--spot", "--on-demand"])).code(2);
}

#[test]
fn a_run_is_explained_too() {
    let Some(planned) = Planned::with_fuse() else { return };
    let place = &planned.tiered.place;
    let text = done(&mut place.forebay(&["explain", "../out.run"])).code(0).text();
    assert!(text.starts_with("It took "), "{text}");
    assert!(text.contains("\nWhat to do next\n"), "{text}");
    let json = done(&mut place.forebay(&["explain", "../out.run", "--json"])).code(0).text();
    let told: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(told["chapters"][0]["name"], "verdict");
    let site = ["--site", "../plan-site.toml", "--predicted", "../predicted.run"];
    done(&mut place.forebay(&[&["plan", "../out.run"], &site[..]].concat())).code(0);
    let text = done(&mut place.forebay(&["explain", "../predicted.run"])).code(0).text();
    assert!(text.starts_with("It would take "), "{text}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let Some(planned) = Planned::with_fuse() else { return };
    let place = &planned.tiered.place;
    std::fs::write(place.all.join("bad.toml"), "[tier.a]\nreach = 'near'\n").expect("written");
    std::fs::write(place.all.join("bare.toml"), "[tier.a]\npath = '/a'\nreach = 'node'\n")
        .expect("written");
    std::fs::write(place.all.join("odd.plan.json"), "{\"schema\": 1}").expect("written");
    let plan = |words: &[&str]| done(&mut place.forebay(&[&["plan"], words].concat()));
    plan(&["../none.run", "--site", "../plan-site.toml"]).code(1).says("none.run");
    plan(&["../plan-site.toml", "--site", "../plan-site.toml"]).code(1).says("plan-site.toml");
    plan(&["../out.run", "--site", "../none.toml"]).code(1).says("none.toml");
    plan(&["../out.run", "--site", "../bad.toml"]).code(1).says("bad.toml:");
    plan(&["../out.run", "--site", "../bare.toml", "--goal", "cheapest"]).code(1).says("no prices");
    let site = ["../out.run", "--site", "../plan-site.toml"];
    plan(&[&site[..], &["--project", "nowhere"]].concat())
        .code(1)
        .says("there is no tier \"nowhere\"");
    plan(&[&site[..], &["--prices", "../bad.toml"]].concat()).code(1).says("bad.toml:1:2");
    plan(&[&site[..], &["-o", "none/rules.toml"]].concat()).code(1).says("none/rules.toml");
    plan(&[&site[..], &["--goal", "dearest"]].concat()).code(2);
    plan(&[&site[..], &["--emit", "snakemake"]].concat()).code(2);
    plan(&[&site[..], &["--budget", "soon"]].concat()).code(2);
    plan(&["--site", "../plan-site.toml"]).code(2);
    let explain = |file: &str| done(&mut place.forebay(&["explain", file]));
    explain("../odd.plan.json").code(1).says("missing field");
    explain("../bare.toml").code(1).says("bare.plan.json");
    explain("../none.run").code(1).says("none.run");
}

#[test]
fn no_rules_are_written_that_a_run_would_refuse() {
    let Some(planned) = Planned::with_fuse() else { return };
    let place = &planned.tiered.place;
    let profile = "profile = { source = 'a test', latency = '10 us' }\n";
    let plan = |far: &str| {
        std::fs::write(
            place.all.join("plan-site.toml"),
            format!("{SITE}[tier.far]\n{far}{profile}"),
        )
        .expect("written");
        done(&mut planned.plan(&["-o", "../refused.toml", "--on-demand"]))
    };
    let told = plan("reach = 'node'\ncapacity = '1 GB'\n");
    told.code(1).says("would refuse").says("gives no path");
    assert!(told.text().is_empty(), "a plan that can't be obeyed is printed: {}", told.text());
    assert!(!place.all.join("refused.toml").exists());
    // Nothing lives in a bucket, so nothing is gained: that is three lines, and one for the files.
    let told = plan("reach = 'world'\npath = 's3://somewhere/below'\n").code(0).text();
    assert!(told.starts_with("Leave everything as it is"), "{told}");
    assert_eq!(told.lines().count(), 4, "{told}");
    assert!(!planned.read("refused.toml").contains("[[rule]]"));
    let all = done(&mut planned.plan(&["--all", "--on-demand"])).code(0).text();
    assert!(all.contains("tier far is a bucket") && all.lines().count() > 4, "{all}");
    // Where a tier is on other machines only, that is said.
    let told = plan("reach = 'node'\ncapacity = '1 GB'\npath = '/nowhere/far'\n").code(0).text();
    assert!(told.contains("Not on this machine: /nowhere/far (tier far)"), "{told}");
}

/// A directory that is not there must not be covered to plan for it.
#[test]
fn planning_needs_no_fuse_and_touches_nothing() {
    let place = Place::new();
    done(&mut place.forebay(&["plan", "a.run", "--site", "s.toml"])).code(1);
    place.nothing_left();
}

#[test]
fn a_run_is_simulated_again_and_on_other_storage() {
    let Some(planned) = Planned::with_fuse() else { return };
    let simulated = |more: &[&str]| {
        let mut words = vec!["simulate", "../out.run", "--json"];
        words.extend(more);
        let text = done(&mut planned.tiered.place.forebay(&words)).code(0).text();
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let seconds = |told: &serde_json::Value| told["makespan_s"].as_f64().expect("a number");
    let again = simulated(&[]);
    assert!(again["cost_usd"].is_null() && again["tiers"]["here"].is_object(), "{again}");
    assert!(seconds(&again) > 0.2, "it slept so long: {again}");
    let far = simulated(&["--site", "../plan-site.toml", "--project", "net"]);
    assert!(seconds(&far) > seconds(&again), "storage in place is slower there: {far}");
    assert!(far["cost_usd"].as_f64().is_some_and(|usd| usd > 0.0), "{far}");
    // What Forebay itself costs counts here as in a plan.
    let text = done(&mut planned.plan(&["-o", "../rules.toml", "--json"])).code(0).text();
    let plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let promised = plan["chosen"]["makespan_s"].as_f64().expect("seconds");
    let rules = ["--site", "../plan-site.toml", "--project", "net", "--rules", "../rules.toml"];
    let ruled = seconds(&simulated(&rules));
    assert!((ruled / promised - 1.0).abs() < 0.01, "{ruled} s simulated, {promised} s promised");
}
