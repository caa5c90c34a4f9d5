//! Rules that are for the files of some tasks. If these fail, a file is placed by the name of a task
//! that did not make it, or is forgotten to be one that a rule discards.

use crate::place::done;
use crate::tiers::Tiered;

#[test]
fn files_go_where_the_rules_of_their_tasks_say() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"*.tmp\"\ntask = [\"sort*\", \"make.py\"]\nhome = \"near\"\n\
        after = \"discard\"\nfsync = \"ordered\"\n\
        [[rule]]\nmatch = \"*.small\"\ntask = \"tee\"\nhome = \"near\"\nlayout = \"packed\"\n\
        after = \"discard\"\n\
        [[rule]]\nmatch = \"*.tmp\"\nhome = \"far\"\n";
    // The shell makes one by redirection: it drives, and is known by its own name.
    let script = "echo b > in; sort -o a.tmp in; cp in b.tmp; echo c > c.tmp
        echo d | tee d.small > /dev/null; cp in e.small; sync a.tmp; mv a.tmp f.tmp
        sh -c 'sort -o g.tmp in; true'; mv g.tmp kept; ls";
    let end = done(&mut tiered.script(rules, script));
    let inside = "b.tmp\nc.tmp\nd.small\ne.small\nf.tmp\nin\nkept\n";
    assert_eq!(end.code(0).text(), inside, "{}", end.stderr);
    let project = std::fs::read_dir(&tiered.place.project).expect("there").flatten();
    let mut names: Vec<_> = project.map(|entry| entry.file_name()).collect();
    names.retain(|name| name != ".forebay");
    names.sort();
    assert_eq!(names, ["b.tmp", "c.tmp", "e.small", "in", "kept"], "{}", end.stderr);
    end.says("3 files (6 B) written back, 2 files (4 B) discarded");
    // The names are those of the table.
    let sql = "SELECT count(*) FROM tasks WHERE name IN ('sort', 'tee')";
    assert_eq!(tiered.place.record().number(sql), 3);
    tiered.all_home();
}

#[test]
fn nextflow_tasks_are_known_by_the_directory_of_their_files() {
    let Some(tiered) = Tiered::with_fuse() else { return };
    let rules = "[[rule]]\nmatch = \"*.bam\"\ntask = \"*:ALIGN\"\nhome = \"far\"\n\
        after = \"discard\"\n";
    let script = "make() { mkdir -p $2; echo '#!/bin/bash' > $2/.command.run
            echo \"### name: 'X:$1 (s1)'\" >> $2/.command.run
            sleep 0.3 # a task begins later: closes are told in the kernel's own time
            echo x > $2/a.bam; }
        make ALIGN work/3f/0123456789abcdef01234567890123; make CALL work/3f/0123456789abcdef01234567894567
        ls work/3f/*/a.bam | wc -l";
    let end = done(&mut tiered.script(rules, script));
    assert_eq!(end.code(0).text().trim(), "2", "{}", end.stderr);
    end.says("1 file (2 B) discarded");
    let work = tiered.place.project.join("work/3f");
    assert!(!work.join("0123456789abcdef01234567890123/a.bam").exists());
    assert!(work.join("0123456789abcdef01234567894567/a.bam").exists());
    tiered.all_home();
}
