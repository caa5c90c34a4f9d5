//! Files on tiers whose name goes to another while they are used. If these fail, a name that is there
//! at every moment is missed, or two files are taken for one.

use std::sync::atomic::AtomicBool;

use super::*;

#[test]
fn a_name_that_is_replaced_is_there_at_every_moment() {
    let ground = Ground::new("");
    ground.write("doc.sam", "0");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            scope.spawn(|| {
                let native = &ground.native;
                while !done.load(Relaxed) {
                    let (found, _) = native.lookup(ROOT, c"doc.sam").expect("it is there");
                    let kind = u32::from(found.stat.stx_mode) & libc::S_IFMT;
                    assert_eq!(kind, libc::S_IFREG, "not the link that stands for it");
                    // ESTALE: the kernel looks again.
                    match native.getattr(found.node, None).map(drop) {
                        Ok(()) | Err(Errno::STALE) => {}
                        Err(other) => panic!("attributes: {other}"),
                    }
                    match native.access(found.node, 4) {
                        Ok(()) | Err(Errno::STALE) => {}
                        Err(other) => panic!("access: {other}"),
                    }
                    match native.open(found.node, 0) {
                        Ok((opened, _)) => drop(native.release(opened.fh)),
                        Err(Errno::STALE) => {}
                        Err(other) => panic!("opening: {other}"),
                    }
                    native.forget(found.node, 1);
                }
            })
        });
        for text in 0..4000 {
            ground.write("new.sam", &text.to_string());
            ground.rename("new.sam", "doc.sam");
            if readers.iter().any(|reader| reader.is_finished()) {
                break;
            }
        }
        done.store(true, Relaxed);
        readers.into_iter().for_each(|reader| reader.join().expect("it was there"));
    });
}

#[test]
fn an_open_file_without_a_name_keeps_its_number_and_has_no_links() {
    let ground = Ground::new("");
    let native = &ground.native;
    let permissions = CreateMode { mode: 0o640, umask: 0o022 };
    let make = |name: &str| {
        let name = CString::new(name).expect("no NUL");
        native.create(ROOT, &name, WRITE, permissions, 0).expect("made").0
    };
    let stat = |id, fh| {
        let (stat, _) = native.getattr(id, Some(fh)).expect("it is open");
        (stat.stx_ino, stat.stx_nlink)
    };
    type Loss = fn(&Ground);
    let losses: [Loss; 2] = [
        |ground| {
            ground.native.unlink(ROOT, c"a.sam").expect("removed");
        },
        |ground| ground.rename("new.sam", "a.sam"),
    ];
    for lose in losses {
        for _ in 0..20 {
            let old = make("a.sam");
            let (number, links) = stat(old.entry.node, old.opened.fh);
            assert_eq!((number, links), (old.entry.stat.stx_ino, 1));
            ground.write("new.sam", "new");
            lose(&ground);
            native.unlink(ROOT, c"new.sam").ok();
            // Each takes the number that is free, if one is.
            let others: Vec<_> = ["b.sam", "c.sam"].map(make).into();
            assert_eq!(stat(old.entry.node, old.opened.fh), (number, 0));
            for other in &others {
                assert_ne!(stat(other.entry.node, other.opened.fh).0, number);
                native.release(other.opened.fh);
            }
            assert_ne!(native.lookup(ROOT, c"b.sam").expect("there").0.stat.stx_ino, number);
            native.release(old.opened.fh);
            for name in [c"a.sam", c"b.sam", c"c.sam"] {
                native.unlink(ROOT, name).ok();
            }
        }
    }
}

/// Whoever archives a directory looks at times before and after it has read a file.
#[test]
fn opening_a_packed_file_changes_no_time_of_it() {
    const LARGE: &str = "[[rule]]\nmatch = '*'\nhome = 'near'\nlayout = 'packed'\n";
    const APART: &str = "[[rule]]\nmatch = '*'\nhome = 'near'\nlayout = 'apart'\n";
    for (rules, size) in [(LARGE, 10), (LARGE, 300 << 10), (APART, 10)] {
        let ground = Ground::with("", rules);
        let native = &ground.native;
        let id = ground.write("file", &"x".repeat(size));
        let times = || {
            let (stat, _) = native.getattr(id, None).expect("there");
            let (m, c) = (stat.stx_mtime, stat.stx_ctime);
            [(m.tv_sec, m.tv_nsec), (c.tv_sec, c.tv_nsec)]
        };
        let set = |mtime| {
            let change = AttributeChange { mtime: Some(mtime), ..AttributeChange::default() };
            native.setattr(id, change).expect("changed");
        };
        set(super::super::super::TimeOrNow::At(1_000_000, 5));
        let before = times();
        assert_eq!(before[0], (1_000_000, 5));
        for _ in 0..2 {
            let (opened, _) = native.open(id, libc::O_RDONLY as u32).expect("opens");
            assert_eq!(times(), before, "open, of {size} bytes, {rules}");
            native.release(opened.fh);
            assert_eq!(times(), before, "closed, of {size} bytes, {rules}");
        }
        let (opened, _) = native.open(id, libc::O_RDWR as u32).expect("opens");
        assert_eq!(times(), before, "open to write, of {size} bytes, {rules}");
        let handle = native.handle(opened.fh).expect("open");
        native.write(&handle, b"y", 0).expect("written");
        drop(handle);
        let written = times();
        assert!(written[0] > before[0] && written[1] > before[1], "{written:?} {before:?}");
        native.release(opened.fh);
        assert_eq!(times(), written);
    }
}
