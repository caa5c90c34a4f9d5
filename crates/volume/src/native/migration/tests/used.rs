//! Files that somebody uses, changes, replaces or removes while they move. If these fail, what a
//! program does to such a file is lost.

use super::*;

#[test]
fn whoever_uses_or_changes_a_file_ends_its_move() {
    type Step = (&'static str, fn(&Ground, u64), &'static str);
    let steps: [Step; 8] = [
        (
            "write",
            |g, id| {
                let (opened, _) = g.native.open(id, libc::O_WRONLY as u32).expect("opens at once");
                let handle = g.native.handle(opened.fh).expect("open");
                g.native.write(&handle, b"W", 0).expect("written");
                drop(handle);
                g.native.release(opened.fh);
            },
            "Words",
        ),
        (
            "truncate",
            |g, id| {
                let change = AttributeChange { size: Some(2), ..AttributeChange::default() };
                g.native.setattr(id, change).expect("cut");
            },
            "wo",
        ),
        (
            "chmod",
            |g, id| {
                let change = AttributeChange { mode: Some(0o600), ..AttributeChange::default() };
                g.native.setattr(id, change).expect("changed");
            },
            "words",
        ),
        (
            "xattr",
            |g, id| {
                let _ = g.native.setxattr(id, c"user.x", b"1", 0);
            },
            "words",
        ),
        (
            "link",
            |g, id| {
                g.native.link(id, ROOT, c"twin").expect("linked");
            },
            "words",
        ),
        ("rename", |g, _| g.rename("a.bam", "b.bam"), "words"),
        (
            "outside, through the link",
            |g, _| {
                let body = fs::read_link(g.home.join("a.bam")).expect("a link");
                // Whoever opens it waits until the move is given up.
                std::thread::scope(|scope| {
                    let write = scope.spawn(|| {
                        let mut file =
                            fs::OpenOptions::new().append(true).open(body).expect("opens");
                        std::io::Write::write_all(&mut file, b"!").expect("written");
                    });
                    let moving = g.native.node(g.look("a.bam").0).expect("known");
                    while !write.is_finished() {
                        // As who copies does after each step.
                        if let Some(ticket) = moving.open.lock().moving.clone() {
                            let _ = ticket.is_undisturbed();
                        }
                        std::thread::yield_now();
                    }
                });
            },
            "words!",
        ),
        (
            "outside, the mode",
            |g, _| {
                let mode = fs::Permissions::from_mode(0o600);
                fs::set_permissions(g.home.join("a.bam"), mode).expect("changed");
            },
            "words",
        ),
    ];
    for (what, step, text) in steps {
        let ground = Ground::new("");
        let id = ground.write("a.bam", "words");
        let number = ground.look("a.bam").1;
        let way = ground.begin(id);
        step(&ground, id);
        assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED), "{what}");
        ground.native.abort_migration(&way.0);
        drop(way);
        assert_eq!(ground.bodies().len(), 1, "{what}: {:?}", ground.bodies());
        assert_eq!(ground.read(id), text, "{what}");
        assert_eq!(ground.native.getattr(id, None).expect("there").0.stx_ino, number);
        if what != "link" {
            let again = ground.begin(id);
            let moved = ground.land(&again).expect(what);
            ground.native.finish_migration(&moved);
            assert_eq!((ground.read(id), ground.bodies().len()), (text.to_owned(), 0), "{what}");
        }
        ground.go_home();
    }
}

#[test]
fn a_file_that_goes_or_is_replaced_on_its_way_is_not_brought_back() {
    for replace in [false, true] {
        let ground = Ground::new("");
        let id = ground.write("a.bam", "old");
        let way = ground.begin(id);
        match replace {
            false => drop(ground.native.unlink(ROOT, c"a.bam").expect("removed")),
            true => {
                ground.write("new", "new");
                ground.rename("new", "a.bam");
            }
        }
        assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED));
        ground.native.abort_migration(&way.0);
        assert_eq!(
            fs::read_to_string(ground.home.join("a.bam")).ok().as_deref(),
            replace.then_some("new")
        );
        assert_eq!(ground.native.getattr(id, None).expect("held").0.stx_size, 3);
        ground.go_home();
    }
}

#[test]
fn what_somebody_puts_on_the_way_does_not_get_the_name() {
    // The file itself is on its way home; a link is, to another tier.
    for (made, name) in [("a.bam", "a.bam"), ("b.sam", "b.near")] {
        let ground = Ground::new("");
        let id = ground.write(made, "words");
        if made != name {
            ground.rename(made, name);
        }
        let theirs = ground.home.join("theirs");
        let moving = ground.home.join(".forebay/moving");
        for is_link in [false, true] {
            let way = ground.begin(id);
            let at = fs::read_dir(&moving).expect("there").next().expect("one").expect("its name");
            match is_link {
                false => fs::write(&theirs, "lies!").expect("written"),
                true => std::os::unix::fs::symlink("/dev/null", &theirs).expect("made"),
            }
            fs::rename(&theirs, at.path()).expect("exchanged");
            assert_eq!(ground.land(&way).err(), Some(Errno::CANCELED), "{name}");
            ground.native.abort_migration(&way.0);
            assert_eq!((ground.read(id), ground.bodies().len()), ("words".to_owned(), 1), "{name}");
        }
        let way = ground.begin(id);
        ground.native.finish_migration(&ground.land(&way).expect("it moves"));
        assert_eq!(ground.read(id), "words");
        drop(way);
        ground.go_home();
    }
}

#[test]
fn who_is_open_locked_mapped_or_has_two_names_does_not_move() {
    let ground = Ground::new("");
    let id = ground.write("a.bam", "words");
    let (opened, node) = ground.native.open(id, libc::O_RDWR as u32).expect("opens");
    assert!(matches!(ground.native.begin_migration(id), Ok(MigrationStart::No)), "it is open");
    let body = fs::read_link(ground.home.join("a.bam")).expect("a link");
    ground.native.release(opened.fh);
    let outside = fs::File::open(&body).expect("opens");
    assert!(
        matches!(ground.native.begin_migration(id), Ok(MigrationStart::Later)),
        "somebody outside has it"
    );
    drop(outside);
    node.foreign.store(true, Relaxed);
    assert!(matches!(ground.native.begin_migration(id), Ok(MigrationStart::No)));
    node.foreign.store(false, Relaxed);
    ground.native.link(id, ROOT, c"twin.bam").expect("linked");
    assert!(matches!(ground.native.begin_migration(id), Ok(MigrationStart::No)), "two names");
    ground.native.unlink(ROOT, c"twin.bam").expect("removed");
    assert!(matches!(ground.native.begin_migration(id), Ok(MigrationStart::Yes(_))));
    ground.go_home();
}
