//! Random verbs while files move. If this failed, a run would leave other files than one without us.

use super::super::super::tests::{Dice, append_file, bare, parent, picture, walk, write_file};
use super::*;

/// Random verbs on names of all rules, while files move, against the same made bare.
#[test]
#[allow(clippy::disallowed_methods)] // The seed of a failure comes from the environment.
fn random_verbs_between_moves_leave_what_they_leave_bare() {
    let seed = std::env::var("FOREBAY_SEED").ok().and_then(|s| s.parse().ok());
    let seeds = seed.map_or(20_261_121..20_261_126, |seed| seed..seed + 1);
    seeds.for_each(random_verbs);
}

fn random_verbs(seed: u64) {
    let ground = Ground::new("");
    // As the kernel does: what is there is opened and cut.
    let write_over = |native: &Native, path: &str, text: &[u8]| match walk(native, path) {
        Ok(id) => {
            let cut = AttributeChange { size: Some(0), ..AttributeChange::default() };
            native.setattr(id, cut).and_then(|_| append_file(native, path, text))
        }
        Err(_) => write_file(native, path, text),
    };
    let twin = tempfile::tempdir().expect("a directory");
    let mut dice = Dice(seed);
    let names = ["a.bam", "b.sam", "c.near", "d.txt", "e.tmp", "d/a.bam", "d/b.txt", "d/c.sam"];
    fs::create_dir(ground.home.join("d"))
        .and_then(|()| fs::create_dir(twin.path().join("d")))
        .expect("made");
    let native = &ground.native;
    let mut way: Option<(Box<ActiveMigration>, StagedFile)> = None;
    let mut numbers = std::collections::HashMap::new();
    for step in 0..1500 {
        let one = names[dice.roll(names.len() as u64) as usize];
        let two = names[dice.roll(names.len() as u64) as usize];
        let (at, to) = (twin.path().join(one), twin.path().join(two));
        let text = format!("{step};");
        let (ours, theirs) = match dice.roll(12) {
            0 | 1 => (write_over(native, one, text.as_bytes()), bare(fs::write(&at, &text))),
            2 => {
                let gone = parent(native, one).and_then(|(dir, name)| native.unlink(dir, &name));
                (gone.map(drop), bare(fs::remove_file(&at)))
            }
            3..=5 => {
                let moved = parent(native, one).and_then(|(dir, name)| {
                    let (new_dir, new_name) = parent(native, two)?;
                    native.rename(dir, &name, new_dir, &new_name, 0).map(drop)
                });
                (moved, bare(fs::rename(&at, &to)))
            }
            6 => {
                let linked = walk(native, one).and_then(|node| {
                    let (dir, name) = parent(native, two)?;
                    native.link(node, dir, &name).map(drop)
                });
                (linked, bare(fs::hard_link(&at, &to)))
            }
            7 => {
                let mode = 0o600 | (dice.roll(0o100) as u32);
                let changed = walk(native, one).and_then(|node| {
                    native
                        .setattr(
                            node,
                            AttributeChange { mode: Some(mode), ..AttributeChange::default() },
                        )
                        .map(drop)
                });
                (changed, bare(fs::set_permissions(&at, fs::Permissions::from_mode(mode))))
            }
            8 => {
                let appended = fs::OpenOptions::new()
                    .append(true)
                    .open(&at)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
                (append_file(native, one, text.as_bytes()), bare(appended))
            }
            9 => {
                native.migrate_due_files(EVER);
                (Ok(()), Ok(()))
            }
            // One that is carried now and lands some verbs later, if nothing has happened to it.
            10 if way.is_none() => {
                if let Ok(MigrationStart::Yes(moving)) =
                    walk(native, one).and_then(|id| native.begin_migration(id))
                {
                    let passage = native.staging_path().expect("there");
                    let carried =
                        Native::stage_migration(&ground.tiers, passage, &moving, &|| false);
                    way = Some((moving, carried.expect("carried")));
                }
                (Ok(()), Ok(()))
            }
            _ => {
                if let Some(way) = way.take() {
                    match ground.land(&way) {
                        Ok(moved) => native.finish_migration(&moved),
                        Err(error) => {
                            assert_eq!(error, Errno::CANCELED, "step {step} (seed {seed})");
                            native.abort_migration(&way.0);
                        }
                    }
                }
                (Ok(()), Ok(()))
            }
        };
        assert_eq!(ours, theirs, "step {step}: {one} {two} (seed {seed})");
        let mut seen = std::collections::HashMap::new();
        for name in names {
            let Ok(id) = walk(native, name) else { continue };
            let stat = native.getattr(id, None).expect("there").0;
            let twin = fs::metadata(twin.path().join(name)).expect("there too");
            assert_eq!(
                (u64::from(stat.stx_nlink), stat.stx_size, u32::from(stat.stx_mode)),
                (twin.nlink(), twin.len(), twin.mode()),
                "step {step}: {name} (seed {seed})"
            );
            let number = *numbers.entry(id).or_insert(stat.stx_ino);
            assert_eq!(number, stat.stx_ino, "step {step}: {name} changed (seed {seed})");
            let other = seen.insert(number, id);
            assert!(other.is_none_or(|other| other == id), "two with one number (seed {seed})");
        }
    }
    if let Some((moving, carried)) = way {
        ground.tiers.drop_migrated_file(native.staging_path().expect("there"), &carried);
        native.abort_migration(&moving);
    }
    // Rules may discard it at the end, or not, by where it has come.
    let _ = native.unlink(ROOT, c"e.tmp");
    let _ = fs::remove_file(twin.path().join("e.tmp"));
    ground.go_home();
    assert_eq!(picture(&ground.home), picture(twin.path()), "seed {seed}");
}
