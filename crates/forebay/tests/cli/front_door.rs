//! What people type at first. If these fail, they get an error of usage where it was clear what
//! they wanted, or nothing where they may not look.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;

use crate::made;
use crate::place::{Done, PATIENCE, Place, USER, done, finish, wait_until};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_command_needs_no_dashes_and_none_is_told() {
    let Some(place) = Place::with_fuse() else { return };
    let words = ["run", "-q", "-o", "../out.run", "sh", "-c", "echo \"$@\"", "x", "-q", "--", "-o"];
    assert_eq!(done(&mut place.forebay(&words)).code(0).text(), "-q -- -o\n");
    let none = done(&mut place.forebay(&["run", "-q"]));
    none.code(2).says("A command is missing").says("forebay run snakemake --cores 8");
    place.nothing_left();
}

#[test]
fn runs_are_kept_found_listed_and_cleaned() {
    let Some(place) = Place::with_fuse() else { return };
    let forebay = |words: &[&str]| -> Done { done(&mut place.forebay(words)) };
    for words in [&["summary"][..], &["report"]] {
        forebay(words).code(1).says("no run was named").says("forebay run COMMAND");
    }
    forebay(&["list"]).code(0).says("no run is kept");
    for number in ["one", "two", "three"] {
        forebay(&["run", "-q", "sh", "-c", &format!("echo {number} > made")]).code(0);
    }
    let runs = place.project.join(".forebay/runs");
    let kept = names(&runs);
    assert_eq!(kept.len(), 3);
    // A name sorts by the second: of several in one the newest is by chance.
    let newest = format!("the newest run here is .forebay/runs/{}", kept[2]);
    let told = forebay(&["summary"]);
    assert!(told.code(0).says(&newest).text().contains("sh"), "{}", told.text());
    forebay(&["report"]).code(0).says(&newest).says("the report is in report.html");
    forebay(&["report", "-q"]).code(2);
    let json = forebay(&["report", ".", "--json"]).code(0).text();
    assert!(kept.iter().all(|name| json.contains(name.as_str())), "not all runs are in {json}");
    forebay(&["report", ".forebay/runs", "-o", "all.html"]).code(0);
    let listed = forebay(&["list"]).code(0).text();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(listed.contains("started (UTC)") && listed.contains(&kept[0]), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&forebay(&["list", "--json"]).code(0).text()).expect("JSON");
    assert_eq!(json["runs"][2]["path"], format!("./.forebay/runs/{}", kept[2]));
    assert!(json["runs"][0]["took_us"].as_u64() > Some(0), "{json}");
    forebay(&["clean"]).code(2).says("--keep");
    forebay(&["clean", "--keep", "2", "--dry-run"]).code(0).says("1 runs").says("would be removed");
    assert_eq!(names(&runs), kept);
    forebay(&["clean", "--keep", "2"]).code(0).says("were removed, 2 stay");
    assert_eq!(names(&runs), kept[1..]);
    std::fs::write(runs.join("notes.run"), "mine\n").expect("written");
    forebay(&["clean", "--keep", "1"]).code(0);
    assert_eq!(names(&runs), [kept[2].as_str(), "notes.run"]);
}

#[test]
fn a_script_of_here_is_found_by_bench() {
    let Some(place) = Place::with_fuse() else { return };
    let script = place.project.join("pipeline.sh");
    std::fs::write(&script, "#!/bin/sh\necho x > made\n").expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("set");
    let on = format!("here={}", place.all.display());
    let words = ["bench", "--on", &on, "--repeat", "1", "--", "./pipeline.sh"];
    done(&mut place.forebay(&words)).code(0);
}

#[test]
fn a_site_names_what_probe_wrote() {
    let place = Place::new();
    made::named(&place.project, "measured").expect("known").expect("a run");
    std::fs::create_dir(place.project.join("sites")).expect("made");
    let tier = "about = 'a test'\nreach = 'node'\n[profile]\nsource = 'a test'\n";
    std::fs::write(place.project.join("sites/shm.toml"), tier).expect("written");
    let site = |profile: &str| {
        let text = format!("[nodes]\ncount = 1\ncores = 4\n[tier.shm]\nprofile = '{profile}'\n");
        std::fs::write(place.project.join("sites/site.toml"), text).expect("written");
        done(&mut place.forebay(&["plan", "measured.run", "--site", "sites/site.toml"]))
    };
    site("shm.toml").code(0);
    site("none.toml").code(1).says("sites/site.toml:5:11").says("none.toml can't be read: No such");
    std::fs::write(place.project.join("sites/bad.toml"), "about = 1\n").expect("written");
    site("bad.toml").code(1).says("bad.toml:1:");
}

#[test]
fn what_may_not_be_looked_into_is_told() {
    let Some(place) = Place::with_root() else { return };
    let binary = place.give_to_user();
    let closed = place.project.join("closed");
    std::fs::create_dir_all(closed.join("below")).expect("made");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("closed");
    let as_user = |words: &[&str]| {
        let mut command = place.program(&binary);
        done(command.args(words).uid(USER).gid(USER))
    };
    for (words, says) in [
        (["check", "closed"], "closed can't be read: Permission denied"),
        (["restore", "closed"], "closed can't be read: Permission denied"),
        (["check", "."], "closed of . may not be looked into: Permission denied"),
        (["restore", "."], "closed of . may not be looked into: Permission denied"),
        (["explain", "closed/a.run"], "check that you may read it"),
        (["list", "closed"], "can't be read: Permission denied"),
    ] {
        as_user(&words).code(1).says(says);
    }
    as_user(&["doctor", "--salvage", "closed/a.run", "-o", "b.run"]).code(1);
}

#[test]
fn what_a_number_is_and_what_is_no_storage_of_ours_is_told() {
    let place = Place::new();
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/genomon-corun");
    for (option, word, says) in [
        ("--nodes", "two", "it is no whole number, such as 2"),
        ("--seed", "x", "it is no whole number, such as 2"),
        ("--pipelines", "-1", "-1 is no whole number from 1 on"),
        ("--nodes", "0", "0 is no whole number from 1 on"),
    ] {
        let told = done(&mut place.forebay(&["simulate", study, option, word]));
        told.code(2).says(says).says(option);
    }
    std::fs::create_dir(place.project.join("mnt")).expect("made");
    for (words, code) in [
        (&["mount", "gs://b/p", "mnt"][..], 125),
        (&["attach", ".", "gcs://b/p", "in"], 1),
        (&["check", "https://x.blob.core.windows.net/c"], 1),
        (&["probe", "gs://b"], 1),
        (&["reads", "cat", "gs://b/x.reads"], 1),
    ] {
        done(&mut place.forebay(words))
            .code(code)
            .says("is not supported")
            .says("AWS_ENDPOINT_URL");
    }
    for words in [&["reads", "cat", "nosuch"][..], &["reads", "verify", "nosuch"]] {
        let told = done(&mut place.forebay(words));
        told.code(1).says("nosuch: no archive of reads is there").says("reads pack");
    }
}

#[test]
fn help_knows_what_was_meant_and_has_the_manual() {
    let place = Place::new();
    let forebay = |words: &[&str]| -> Done { done(&mut place.forebay(words)) };
    let told = forebay(&["help", "plan"]).code(0).text();
    assert_eq!(told, forebay(&["plan", "--help"]).text());
    forebay(&["help", "summry"]).code(2).says("'summary'");
    forebay(&["help", "nosuch"]).code(2).says("unrecognized subcommand 'nosuch'");
    assert!(forebay(&["manual"]).code(0).text().contains("formats "));
    let site = forebay(&["manual", "formats", "site", "file"]).code(0).text();
    assert!(site.starts_with("# Site file\n") && !site.contains("\n# Rules file"), "{site}");
    forebay(&["manual", "format"]).code(2).says("pages: formats, semantics");
    forebay(&["manual", "formats", "nosuch"]).code(1).says("sections: ").says("Rules file");
}

#[test]
fn a_site_in_the_place_of_rules_is_told() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        std::fs::write(place.project.join(name), text).expect("written");
    };
    write("site.toml", "[tier.fast]\npath = \"/dev/shm\"\nreach = \"node\"\n");
    write("rules.toml", "[[rule]]\nmatch = \"**\"\nhome = \"fast\"\n");
    for (site, rules, says) in [
        ("rules.toml", "site.toml", "rules.toml:1:3: this is a file of rules: --rules takes it"),
        ("site.toml", "site.toml", "site.toml:1:2: this is a site file: --site takes it"),
    ] {
        let words = ["run", "--site", site, "--rules", rules, "--", "true"];
        done(&mut place.forebay(&words)).code(125).says(says).says("forebay manual formats");
    }
}

#[test]
fn two_runs_that_are_given_one_name_keep_both() {
    let Some(place) = Place::with_fuse() else { return };
    let slow = [
        "run",
        "-q",
        "-o",
        "../one.run",
        "sh",
        "-c",
        ": > ../on; while [ ! -e ../go ]; do \
        sleep 0.01; done",
    ];
    let slow = place.forebay(&slow).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("it runs", || place.all.join("on").exists());
    done(&mut place.forebay(&["run", "-q", "-o", "../one.run", "sh", "-c", ": quick"])).code(0);
    std::fs::write(place.all.join("go"), "").expect("written");
    let end = finish(slow, PATIENCE);
    end.code(0).says("one.run is another run's, which ended first");
    let runs: Vec<_> =
        names(&place.all).into_iter().filter(|name| name.ends_with(".run")).collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs.contains(&"one.run".to_owned()), "{runs:?}");
    for (name, ran) in
        runs.iter().map(|name| (name, if name == "one.run" { "quick" } else { "while" }))
    {
        let told = done(&mut place.forebay(&["summary", &format!("../{name}")])).code(0).text();
        assert!(told.contains(ran), "{name}: {told}");
    }
    place.nothing_left();
}

#[test]
fn no_setting_of_a_bucket_ends_in_a_panic() {
    let place = Place::new();
    let check = |name: &str, value: &str| {
        let mut command = place.forebay(&["check", "s3://bucket/prefix"]);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "hush");
        command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9").env("HOME", &place.all);
        let told = done(command.env(name, value));
        assert!(told.stderr.lines().count() <= 3, "{name}={value}: {}", told.stderr);
        told.code(1);
        told
    };
    check("AWS_ENDPOINT_URL", "127.0.0.1:9000").says("AWS_ENDPOINT_URL has no http://");
    check("AWS_ENDPOINT_URL", "http://a b/").says("AWS_ENDPOINT_URL has ' ' in it");
    check("AWS_ENDPOINT_URL", "http://127.0.0.1:99999").says("port");
    check("AWS_REGION", "eu west").says("AWS_REGION has ' ' in it");
    let key = check("AWS_SESSION_TOKEN", "hush\nhush");
    assert!(!key.says("AWS_SESSION_TOKEN").stderr.contains("hush"), "{}", key.stderr);
    // What the client says of itself is left out.
    let down = check("AWS_REGION", "eu-west-1");
    down.says("Connection refused").says("AWS_ENDPOINT_URL");
    for word in ["Generic", "max_retries", "client error"] {
        assert!(!down.stderr.contains(word), "{}", down.stderr);
    }
}

#[test]
fn what_a_mount_hides_is_told() {
    let Some(place) = Place::with_fuse() else { return };
    let at = place.all.join("at");
    std::fs::create_dir(&at).expect("made");
    std::fs::write(at.join("thesis.tex"), "years").expect("written");
    std::fs::write(place.all.join("file"), "").expect("written");
    done(&mut place.forebay(&["mount", ".", "../file"])).code(125).says("is a file");
    let told = done(&mut place.forebay(&["mount", ".", "../at"]));
    told.code(0).says("is not empty").says("thesis.tex").says("--nonempty");
    done(&mut place.forebay(&["unmount", "../at"])).code(0);
    for words in [&["mount", "--nonempty", ".", "../at"][..], &["mount", "../at", "../at"]] {
        let told = done(&mut place.forebay(words));
        assert!(!told.code(0).stderr.contains("not empty"), "{words:?}: {}", told.stderr);
        done(&mut place.forebay(&["unmount", "../at"])).code(0);
    }
    place.nobody_left();
}

#[test]
fn a_rule_for_no_file_is_told() {
    let Some(tiered) = crate::tiers::Tiered::with_fuse() else { return };
    tiered.site("");
    let rules =
        "[[rule]]\nmatch = '*.bam'\nhome = 'far'\n[[rule]]\nmatch = '*.sam'\nhome = 'far'\n";
    let run = |rules: &str, script: &str| {
        tiered.rules(rules);
        let options = ["--site", "../site.toml", "--rules", "../rules.toml"];
        done(&mut tiered.place.script(&options, script))
    };
    let told = run(rules, "echo x > a.bam");
    told.code(0).says("rule 2 of ../rules.toml matched no file of this run");
    let told = run(rules, "echo x > a.bam; echo x > a.sam");
    assert!(!told.code(0).stderr.contains("matched no file"), "{}", told.stderr);
    run("", "echo x > a").code(0).says("has no [[rule]]");
}

/// Whether a process has a way of its own with SIGINT.
fn catches(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    caught.is_some_and(|bits| bits & 1 << (libc::SIGINT - 1) != 0)
}

#[test]
fn who_interrupts_is_told_what_is_left() {
    let place = Place::new();
    made::named(&place.project, "measured").expect("known").expect("a run");
    let replay = ["replay", "--speed", "0.001", "-C", "empty", "measured.run"];
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/genomon-corun");
    let simulate = ["simulate", study, "--pipelines", "20000"];
    std::fs::create_dir(place.project.join("empty")).expect("made");
    for (words, says) in [
        (&["reads", "pack", "-", "-o", "x.reads"][..], "x.reads is no archive yet"),
        (&replay, "what it made is in empty"),
        (&simulate, "nothing is left of this simulation"),
    ] {
        let mut command = place.forebay(words);
        // SAFETY: a plain system call. Who runs the tests in the background ignores it.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let (to, from) = (Stdio::piped(), Stdio::piped());
        let child = command.stdin(to).stdout(Stdio::piped()).stderr(from).spawn().expect("started");
        wait_until("it catches the signal", || catches(child.id()));
        // SAFETY: a plain system call.
        unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
        let end = finish(child, crate::place::PATIENCE);
        assert_eq!(end.says("interrupted").says(says).status.signal(), Some(libc::SIGINT));
    }
    // A plan keeps the best that was found; the signal is there before it looks.
    let site = "[nodes]\ncount = 1\ncores = 4\n[tier.near]\nprofile = 'laptop-nvme'\n";
    std::fs::write(place.project.join("site.toml"), site).expect("written");
    let mut plan = place.forebay(&["plan", "measured.run", "--site", "site.toml", "-o", "r.toml"]);
    // SAFETY: what is called is async-signal-safe.
    unsafe {
        plan.pre_exec(|| {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            libc::raise(libc::SIGINT);
            Ok(())
        });
    }
    done(&mut plan).code(130).says("interrupted: this is the best");
    assert!(place.read("r.toml").contains("Made by `forebay plan`"));
}
