//! The suite: each function is run over each book.

use std::collections::BTreeSet;
use std::time::Duration;

use forebay_book::{
    After, Claim, EntryName, ErrorKind, FileBytes, FileKind, FileRecord, FolderChange, FolderId,
    InodeNumber, LEASE, MAX_BODY, NameChange, PublicationNumber, Taken, VolumeName,
};

use super::worlds::{World, held, name, small};

const ROOT: FolderId = FolderId::ROOT;

macro_rules! suite {
    ($($test:ident)*) => {
        mod memory {
            $(#[test]
            fn $test() {
                super::$test(&super::World::memory().expect("memory"));
            })*
        }
        mod postgres {
            $(#[test]
            fn $test() {
                if let Some(world) = super::World::postgres() {
                    super::$test(&world);
                }
            })*
        }
    };
}

suite! {
    a_volume_is_made_once_with_an_empty_root
    a_node_that_registers_anew_ends_what_it_was
    two_living_nodes_of_one_name_are_refused
    two_living_nodes_of_one_key_are_refused
    a_lease_that_is_over_refuses_everything
    renewals_keep_a_lease
    a_node_back_after_a_week_gets_what_nobody_took
    a_look_takes_a_folder_from_the_dead
    the_living_keep_what_they_hold
    two_folders_are_taken_together_or_not_at_all
    one_of_many_takes_a_folder
    a_publication_is_whole_or_refused
    publications_are_a_prefix_each_taken_once
    giving_up_publishes_and_releases_as_one
    an_older_epoch_is_fenced
    who_is_not_reached_hears_of_who_wants_a_folder
    names_are_set_replaced_moved_and_removed
    a_file_lives_as_long_as_a_name
    folders_are_made_and_removed
    a_file_of_nobodys_folder_is_refused
    all_that_a_file_is_comes_back
    folders_with_a_file_are_told
    numbers_are_lent_once
    times_of_files_decide_nothing
    a_node_that_leaves_gives_all_up
    what_makes_no_sense_is_refused
    how_it_is
}

fn kind<T: std::fmt::Debug>(result: forebay_book::Result<T>) -> ErrorKind {
    let error = result.expect_err("refused");
    assert!(!error.message.is_empty() && !error.next.is_empty(), "{error:?}");
    error.kind
}

fn a_volume_is_made_once_with_an_empty_root(world: &World) {
    let volume = world.volume();
    assert_eq!(world.volume(), volume);
    let other = world.book.open_volume(&VolumeName::new("s3://ours/w/").expect("a name"));
    assert_ne!(other.as_ref().expect("another"), &volume);
    let secrets = [volume, other.expect("another")].map(|it| world.book.peer_secret(it));
    let [ours, theirs] = secrets.map(|secret| secret.expect("one").0);
    assert!(ours.len() >= 24 && ours != theirs);
    assert_eq!(kind(world.book.peer_secret(forebay_book::VolumeId(77))), ErrorKind::Inconsistent);
    let root = world.book.list(volume, ROOT).expect("the root");
    assert_eq!(root.answer_for(None), Ok(Vec::new()));
    assert_eq!(kind(world.book.list(volume, FolderId(77))), ErrorKind::Inconsistent);
}

fn a_node_that_registers_anew_ends_what_it_was(world: &World) {
    let mut first = world.node(1);
    let epoch = first.take(ROOT);
    first.write(ROOT, epoch, "a", "1");
    let again = world.try_node(1, 1).expect("it is the same one");
    assert_eq!(again.member.node, first.member.node);
    assert_eq!(again.holds, [(ROOT, epoch)]);
    assert_eq!(again.published, PublicationNumber(1));
    assert_eq!(kind(world.book.renew(&first.member)), ErrorKind::Fenced);
    assert_eq!(kind(first.try_publish(vec![held(ROOT, epoch, vec![])], vec![])), ErrorKind::Fenced);
    assert_eq!(kind(world.book.lend_inodes(&first.member, 1)), ErrorKind::Fenced);
    assert_eq!(kind(world.book.take(&first.member, &[ROOT])), ErrorKind::Fenced);
    assert_eq!(kind(world.book.leave(&first.member)), ErrorKind::Fenced);
    // It is the same node: its unpublished changes are still its own.
    world.book.renew(&again.member).expect("the later one speaks");
}

fn two_living_nodes_of_one_name_are_refused(world: &World) {
    let first = world.node(1);
    let error = world.try_node(1, 2).expect_err("the name is taken");
    assert_eq!(error.kind, ErrorKind::NameTaken);
    assert!(error.message.contains("10.0.0.1:7000"), "{error}");
    world.pass(LEASE.as_secs() + 1);
    let second = world.try_node(1, 2).expect("the first one is dead");
    assert_ne!(second.member.node, first.member.node);
    // The first one comes back: its name is another's, its number is not.
    assert_eq!(kind(world.try_node(1, 1)), ErrorKind::NameTaken);
    let renamed = world.try_node(3, 1).expect("by another name");
    assert_eq!(renamed.member.node, first.member.node);
}

/// A machine that was copied with its state directory: the two would end each other's registrations.
fn two_living_nodes_of_one_key_are_refused(world: &World) {
    let node = world.node(1);
    let key = forebay_book::NodeKey([1; 16]);
    let copy = forebay_book::NodeOffer::new("node2", key, "10.0.0.2:7000").expect("an offer");
    let error = world.book.register(world.volume(), &copy).expect_err("it is alive elsewhere");
    assert_eq!(error.kind, ErrorKind::NameTaken);
    assert!(error.message.contains("10.0.0.1:7000"), "{error}");
    assert!(error.next.contains("`key`"), "{}", error.next);
    world.book.renew(&node.member).expect("it has not noticed");
    // A process that begins anew where the last one was killed.
    let again = world.try_node(1, 1).expect("it is the same one");
    world.pass(LEASE.as_secs() + 1);
    let moved =
        world.book.register(world.volume(), &copy).expect("the machine has another address");
    assert_eq!(moved.member.node, again.member.node);
    // Who was the node before is told when it wakes up.
    assert_eq!(kind(world.book.renew(&again.member)), ErrorKind::Fenced);
    assert_eq!(kind(world.try_node(1, 1)), ErrorKind::NameTaken);
}

fn a_lease_that_is_over_refuses_everything(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    node.write(ROOT, epoch, "a", "1");
    world.pass(LEASE.as_secs() + 1);
    let member = &node.member;
    assert_eq!(kind(world.book.renew(member)), ErrorKind::LeaseExpired);
    assert_eq!(kind(world.book.lend_inodes(member, 1)), ErrorKind::LeaseExpired);
    assert_eq!(kind(world.book.take(member, &[ROOT])), ErrorKind::LeaseExpired);
    let refused = node.try_publish(vec![held(ROOT, epoch, vec![])], vec![]);
    assert_eq!(kind(refused), ErrorKind::LeaseExpired);
    // Nobody wanted the folder meanwhile: nothing was lost, and nobody was evicted for nothing.
    let again = world.try_node(1, 1).expect("registered");
    assert_eq!(again.holds, [(ROOT, epoch)]);
}

fn renewals_keep_a_lease(world: &World) {
    let node = world.node(1);
    for _ in 0..5 {
        world.pass(LEASE.as_secs() - 5);
        world.book.renew(&node.member).expect("it is alive");
    }
    let state = &world.book.nodes(world.volume()).expect("nodes")[0];
    let left = state.lease_left.expect("alive");
    assert!(left <= LEASE && left > LEASE / 3, "{left:?}");
    assert!(state.renewed_ago < LEASE, "{state:?}");
}

fn a_node_back_after_a_week_gets_what_nobody_took(world: &World) {
    let mut old = world.node(1);
    let root = old.take(ROOT);
    let (one, two) = (old.make_folder(ROOT, root, "one"), old.make_folder(ROOT, root, "two"));
    world.pass(7 * 24 * 3600);
    let mut new = world.node(2);
    let epoch = new.take(one);
    new.write(one, epoch, "a", "new");
    let late = old.try_publish(vec![held(two, forebay_book::Epoch(1), vec![])], vec![]);
    assert_eq!(kind(late), ErrorKind::LeaseExpired);
    let back = world.try_node(1, 1).expect("back");
    let still: Vec<FolderId> = back.holds.iter().map(|(folder, _)| *folder).collect();
    assert_eq!(still, [ROOT, two]);
    old.member = back.member;
    let stale = old.try_publish(vec![held(one, forebay_book::Epoch(1), vec![])], vec![]);
    assert_eq!(kind(stale), ErrorKind::Fenced);
    let inode = old.inode();
    let set = NameChange::Set(name("late"), inode);
    old.publish(vec![held(two, forebay_book::Epoch(1), vec![set])], vec![small(inode, "x")]);
    let look = world.book.look_up(world.volume(), one, &name("a")).expect("a look");
    assert_eq!(look.published.expect("there").file.bytes, FileBytes::InBook(b"new".to_vec()));
}

fn a_look_takes_a_folder_from_the_dead(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    node.write(ROOT, epoch, "a", "1");
    let look = || world.book.look_up(world.volume(), ROOT, &name("a")).expect("a look");
    let holder = look().answer_for(None).expect_err("a living node holds it");
    assert_eq!((holder.node, holder.epoch), (node.member.node, epoch));
    assert_eq!((holder.name.as_str(), holder.address.as_str()), ("node1", "10.0.0.1:7000"));
    world.pass(LEASE.as_secs() + 1);
    let found = look().answer_for(None).expect("nobody holds it any more");
    assert_eq!(found.expect("there").name, name("a"));
    // What was answered stays right: the node's lease is over for good, whatever its clock says.
    world.pass(0);
    assert_eq!(kind(world.book.renew(&node.member)), ErrorKind::LeaseExpired);
    let back = world.try_node(1, 1).expect("registered");
    assert_eq!(back.holds, []);
}

fn the_living_keep_what_they_hold(world: &World) {
    let (first, second) = (world.node(1), world.node(2));
    let epoch = first.take(ROOT);
    assert_eq!(first.take(ROOT), epoch, "taken twice is taken once");
    world.pass(LEASE.as_secs() - 5);
    match world.book.take(&second.member, &[ROOT]).expect("an answer") {
        Taken::HeldBy(others) => {
            assert_eq!(others[0].0, ROOT);
            assert_eq!(others[0].1.address, "10.0.0.1:7000");
        }
        Taken::All(taken) => panic!("{taken:?}"),
    }
    assert_eq!(first.take(ROOT), epoch);
}

fn two_folders_are_taken_together_or_not_at_all(world: &World) {
    let mut first = world.node(1);
    let root = first.take(ROOT);
    let (one, two) = (first.make_folder(ROOT, root, "one"), first.make_folder(ROOT, root, "two"));
    first.publish(
        vec![FolderChange { after: After::GiveUp, ..held(one, forebay_book::Epoch(1), vec![]) }],
        vec![],
    );
    let second = world.node(2);
    let wanted = [two, one];
    match world.book.take(&second.member, &wanted).expect("an answer") {
        Taken::HeldBy(others) => assert_eq!(others.len(), 1),
        Taken::All(taken) => panic!("{taken:?}"),
    }
    let look = world.book.list(world.volume(), one).expect("a look");
    assert_eq!(look.holder, None, "it was not taken");
    first.publish(
        vec![FolderChange { after: After::GiveUp, ..held(two, forebay_book::Epoch(1), vec![]) }],
        vec![],
    );
    match world.book.take(&second.member, &wanted).expect("an answer") {
        Taken::All(taken) => {
            assert_eq!(taken.iter().map(|(folder, _)| *folder).collect::<Vec<_>>(), [one, two]);
        }
        Taken::HeldBy(others) => panic!("{others:?}"),
    }
    let missing = world.book.take(&second.member, &[one, FolderId(99)]);
    assert_eq!(kind(missing), ErrorKind::Inconsistent);
}

fn one_of_many_takes_a_folder(world: &World) {
    let nodes: Vec<_> = (1..=8).map(|number| world.node(number)).collect();
    let winners = std::thread::scope(|scope| {
        let threads: Vec<_> = nodes
            .iter()
            .map(|node| scope.spawn(|| world.book.take(&node.member, &[ROOT]).expect("an answer")))
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        answers.filter(|answer| matches!(answer, Taken::All(_))).count()
    });
    assert_eq!(winners, 1);
}

fn a_publication_is_whole_or_refused(world: &World) {
    let mut node = world.node(1);
    let root = node.take(ROOT);
    let inner = node.make_folder(ROOT, root, "d");
    let (good, bad) = (node.inode(), node.inode());
    let folders = vec![
        held(ROOT, root, vec![NameChange::Set(name("good"), good)]),
        held(inner, forebay_book::Epoch(9), vec![NameChange::Set(name("bad"), bad)]),
    ];
    let refused = node.try_publish(folders, vec![small(good, "1"), small(bad, "2")]);
    assert_eq!(kind(refused), ErrorKind::Fenced);
    let look = world.book.look_up(world.volume(), ROOT, &name("good")).expect("a look");
    assert_eq!(look.published, None);
    assert_eq!(world.book.file(world.volume(), good).expect("a look"), None);
    // A name that leads nowhere spoils all, too.
    let folders = vec![held(
        ROOT,
        root,
        vec![NameChange::Set(name("good"), good), NameChange::Set(name("x"), bad)],
    )];
    assert_eq!(kind(node.try_publish(folders, vec![small(good, "1")])), ErrorKind::Inconsistent);
    assert_eq!(world.book.file(world.volume(), good).expect("a look"), None);
}

fn publications_are_a_prefix_each_taken_once(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let inode = node.inode();
    let set = vec![held(ROOT, epoch, vec![NameChange::Set(name("a"), inode)])];
    let first = node.try_publish(set.clone(), vec![small(inode, "1")]).expect("published");
    assert!(!first.again);
    assert_eq!(first.versions.len(), 1);
    // The answer was lost, and it is sent again.
    node.number = PublicationNumber(0);
    let again = node.try_publish(set.clone(), vec![small(inode, "1")]).expect("published");
    assert!(again.again);
    let look = world.book.list(world.volume(), ROOT).expect("a look");
    assert_eq!(look.version, first.versions[0].1);
    node.number = PublicationNumber(2);
    let gap = node.try_publish(set, vec![small(inode, "2")]);
    assert_eq!(kind(gap), ErrorKind::Inconsistent);
}

fn giving_up_publishes_and_releases_as_one(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let inode = node.inode();
    let change = FolderChange {
        after: After::GiveUp,
        ..held(ROOT, epoch, vec![NameChange::Set(name(".exitcode"), inode)])
    };
    node.publish(vec![change], vec![small(inode, "0")]);
    let found = world.book.list(world.volume(), ROOT).expect("a look").answer_for(None);
    assert_eq!(found.expect("nobody holds it").len(), 1);
    let late = node.try_publish(vec![held(ROOT, epoch, vec![])], vec![]);
    assert_eq!(kind(late), ErrorKind::Fenced);
    assert!(node.take(ROOT) > epoch);
}

fn an_older_epoch_is_fenced(world: &World) {
    let (mut first, mut second) = (world.node(1), world.node(2));
    let old = first.take(ROOT);
    first.publish(vec![FolderChange { after: After::GiveUp, ..held(ROOT, old, vec![]) }], vec![]);
    let new = second.take(ROOT);
    assert!(new > old);
    let error = first.try_publish(vec![held(ROOT, old, vec![])], vec![]).expect_err("fenced");
    assert_eq!(error.kind, ErrorKind::Fenced);
    assert!(error.message.contains(&format!("node {}", second.member.node)), "{error}");
    let theirs = first.try_publish(vec![held(ROOT, new, vec![])], vec![]);
    assert_eq!(kind(theirs), ErrorKind::Fenced, "another's epoch is no right");
    second.publish(vec![held(ROOT, new, vec![])], vec![]);
}

fn who_is_not_reached_hears_of_who_wants_a_folder(world: &World) {
    let (mut first, second, third) = (world.node(1), world.node(2), world.node(3));
    let root = first.take(ROOT);
    let inner = first.make_folder(ROOT, root, "d");
    let renew = |node: &super::worlds::Node<'_>| {
        let wanted = world.book.renew(&node.member).expect("renewed");
        wanted.into_iter().map(|it| (it.folder, it.name, it.address)).collect::<Vec<_>>()
    };
    let by = |folder, node: u8| (folder, format!("node{node}"), format!("10.0.0.{node}:7000"));
    world.book.want(&first.member, ROOT).expect("of itself it wants nothing");
    assert_eq!(renew(&first), []);
    for _ in 0..2 {
        world.book.want(&second.member, inner).expect("asked");
    }
    world.book.want(&third.member, ROOT).expect("asked");
    world.book.want(&third.member, FolderId(99)).expect("there is none: nobody is asked");
    assert_eq!(renew(&second), []);
    // As long as it does not give them up, and without an end of what it may do.
    for _ in 0..2 {
        assert_eq!(renew(&first), [by(ROOT, 3), by(inner, 2)]);
    }
    world.book.want(&second.member, ROOT).expect("asked");
    assert_eq!(renew(&first), [by(ROOT, 2), by(inner, 2)]);
    let give_up =
        |folder, epoch| FolderChange { after: After::GiveUp, ..held(folder, epoch, vec![]) };
    first.publish(vec![give_up(ROOT, root)], vec![]);
    assert_eq!(renew(&first), [by(inner, 2)]);
    // What was wanted under an older epoch is over, whoever holds it then.
    first.take(ROOT);
    assert_eq!(renew(&first), [by(inner, 2)]);
    world.pass(LEASE.as_secs() + 1);
    assert_eq!(kind(world.book.want(&second.member, ROOT)), ErrorKind::LeaseExpired);
}

fn names_are_set_replaced_moved_and_removed(world: &World) {
    let mut node = world.node(1);
    let root = node.take(ROOT);
    let inner = node.make_folder(ROOT, root, "d");
    let one = forebay_book::Epoch(1);
    let first = node.write(ROOT, root, "a", "1");
    let second = node.write(ROOT, root, "b", "2");
    // A rename over another name: both changes in one publication.
    let moved = vec![NameChange::Remove(name("b")), NameChange::Set(name("a"), second)];
    node.publish(vec![held(ROOT, root, moved)], vec![]);
    let all = |folder| {
        let look = world.book.list(world.volume(), folder).expect("a look");
        let entries = look.published.into_iter();
        entries.map(|entry| (entry.name, entry.file.inode)).collect::<Vec<_>>()
    };
    assert_eq!(all(ROOT), [(name("a"), second), (name("d"), inner.inode())]);
    assert_eq!(world.book.file(world.volume(), first).expect("a look"), None);
    // Into another folder.
    let folders = vec![
        held(ROOT, root, vec![NameChange::Remove(name("a"))]),
        held(inner, one, vec![NameChange::Set(name("c"), second)]),
    ];
    node.publish(folders, vec![]);
    assert_eq!(all(inner), [(name("c"), second)]);
    // What is gone is gone.
    node.publish(vec![held(ROOT, root, vec![NameChange::Remove(name("never"))])], vec![]);
    assert_eq!(all(ROOT), [(name("d"), inner.inode())]);
    // Bytes that are no text, and their order.
    let odd = EntryName::new(vec![0xff, 0xfe, b'\\', b'\'']).expect("a name");
    let long = EntryName::new(vec![b'z'; 255]).expect("a name");
    let folders = vec![held(
        inner,
        one,
        vec![NameChange::Set(odd.clone(), second), NameChange::Set(long.clone(), second)],
    )];
    node.publish(folders, vec![]);
    let names: Vec<EntryName> = all(inner).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [name("c"), long, odd.clone()]);
    let look = world.book.look_up(world.volume(), inner, &odd).expect("a look");
    assert_eq!(look.published.expect("there").file.inode, second);
}

fn a_file_lives_as_long_as_a_name(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let inode = node.write(ROOT, epoch, "a", "1");
    let set = NameChange::Set(name("hard"), inode);
    node.publish(vec![held(ROOT, epoch, vec![set])], vec![]);
    node.publish(vec![held(ROOT, epoch, vec![NameChange::Remove(name("a"))])], vec![]);
    assert!(world.book.file(world.volume(), inode).expect("a look").is_some());
    node.publish(vec![held(ROOT, epoch, vec![NameChange::Remove(name("hard"))])], vec![]);
    assert_eq!(world.book.file(world.volume(), inode).expect("a look"), None);
}

fn folders_are_made_and_removed(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let inner = node.make_folder(ROOT, epoch, "d");
    let one = forebay_book::Epoch(1);
    node.write(inner, one, "a", "1");
    let remove = |names: Vec<NameChange>| {
        vec![
            held(ROOT, epoch, vec![NameChange::Remove(name("d"))]),
            FolderChange { after: After::Remove, ..held(inner, one, names) },
        ]
    };
    assert_eq!(kind(node.try_publish(remove(vec![]), vec![])), ErrorKind::Inconsistent);
    assert!(world.book.list(world.volume(), inner).is_ok(), "it is as it was");
    node.publish(remove(vec![NameChange::Remove(name("a"))]), vec![]);
    assert_eq!(kind(world.book.list(world.volume(), inner)), ErrorKind::Inconsistent);
    assert_eq!(world.book.file(world.volume(), inner.inode()).expect("a look"), None);
    let twice =
        FolderChange { folder: ROOT, claim: Claim::Made, names: vec![], after: After::Keep };
    assert_eq!(kind(node.try_publish(vec![twice], vec![])), ErrorKind::Inconsistent);
}

fn a_file_of_nobodys_folder_is_refused(world: &World) {
    let mut first = world.node(1);
    let root = first.take(ROOT);
    let inner = first.make_folder(ROOT, root, "d");
    let inode = first.write(ROOT, root, "a", "1");
    first.publish(
        vec![FolderChange { after: After::GiveUp, ..held(inner, forebay_book::Epoch(1), vec![]) }],
        vec![],
    );
    let mut second = world.node(2);
    let epoch = second.take(inner);
    let refused = second.try_publish(vec![held(inner, epoch, vec![])], vec![small(inode, "mine")]);
    assert_eq!(kind(refused), ErrorKind::Inconsistent);
    let file = world.book.file(world.volume(), inode).expect("a look").expect("there");
    assert_eq!(file.bytes, FileBytes::InBook(b"1".to_vec()));
}

fn all_that_a_file_is_comes_back(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let places = [
        (FileKind::Regular, FileBytes::InBook(vec![0, 255, 10]), 3),
        (FileKind::Regular, FileBytes::InBook(vec![7; MAX_BODY]), MAX_BODY as u64),
        (FileKind::Regular, FileBytes::InBook(Vec::new()), 0),
        (
            FileKind::Regular,
            FileBytes::InBucket { object: "d/ä x".into(), sums: vec![1, 2, 3] },
            1 << 40,
        ),
        (FileKind::Regular, FileBytes::OnNode(node.member.node), 5 << 30),
        (FileKind::Symlink, FileBytes::InBook(b"../t0/out.tsv".to_vec()), 13),
        (FileKind::Fifo, FileBytes::None, 0),
        (FileKind::CharacterDevice, FileBytes::None, 0),
    ];
    let files: Vec<FileRecord> = places
        .into_iter()
        .map(|(kind, bytes, size)| FileRecord {
            kind,
            bytes,
            size,
            mode: 0o7777,
            uid: u32::MAX - 1,
            gid: 3_000_000_000,
            mtime_ns: -1_234_567_890_123_456_789,
            rdev: (1 << 32) + 259,
            attributes: vec![(b"user.a".to_vec(), vec![0, 1]), (b"user.b".to_vec(), Vec::new())],
            ..small(node.inode(), "")
        })
        .collect();
    let names = files.iter().map(|file| NameChange::Set(name(&file.inode.to_string()), file.inode));
    node.publish(vec![held(ROOT, epoch, names.collect())], files.clone());
    for file in &files {
        let found = world.book.file(world.volume(), file.inode).expect("a look");
        assert_eq!(found.as_ref(), Some(file));
    }
    // What is written over is all new, attributes too.
    let after = FileRecord { inode: files[0].inode, ..small(files[0].inode, "after") };
    node.publish(vec![held(ROOT, epoch, vec![])], vec![after.clone()]);
    let found = world.book.file(world.volume(), after.inode).expect("a look");
    assert_eq!(found, Some(after));
}

fn folders_with_a_file_are_told(world: &World) {
    let mut node = world.node(1);
    let (root, epoch) = (ROOT, node.take(ROOT));
    let inode = node.inode();
    let set = |text: &str| NameChange::Set(name(text), inode);
    node.publish(vec![held(root, epoch, vec![set("a"), set("b")])], vec![small(inode, "1")]);
    assert_eq!(world.book.folders_with(world.volume(), inode).expect("a look"), [ROOT]);
    let gone = ["a", "b"].map(|text| NameChange::Remove(name(text)));
    node.publish(vec![held(root, epoch, gone.into())], vec![]);
    assert_eq!(world.book.folders_with(world.volume(), inode).expect("a look"), []);
}

fn numbers_are_lent_once(world: &World) {
    let (first, second) = (world.node(1), world.node(2));
    let lent: BTreeSet<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = [&first, &second, &first, &second]
            .map(|node| {
                scope.spawn(move || {
                    let lend = || world.book.lend_inodes(&node.member, 100).expect("lent");
                    (0..5).map(|_| lend().first.0).collect::<Vec<_>>()
                })
            })
            .into_iter()
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(lent.len(), 20);
    let firsts: Vec<i64> = lent.into_iter().collect();
    assert!(firsts.windows(2).all(|pair| pair[1] - pair[0] >= 100), "{firsts:?}");
    assert!(firsts[0] > ROOT.0);
    assert_eq!(kind(world.book.lend_inodes(&first.member, 0)), ErrorKind::Invalid);
    assert_eq!(kind(world.book.lend_inodes(&first.member, 1_000_001)), ErrorKind::Invalid);
}

fn times_of_files_decide_nothing(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    // A node whose clock is an hour ahead, another decades back: no lease is shorter or longer.
    for mtime_ns in [i64::MAX, i64::MIN, 0] {
        let inode = node.inode();
        let file = FileRecord { mtime_ns, ..small(inode, "x") };
        let set = NameChange::Set(name(&inode.to_string()), inode);
        node.publish(vec![held(ROOT, epoch, vec![set])], vec![file]);
    }
    let left = |at: usize| world.book.nodes(world.volume()).expect("nodes")[at].lease_left;
    assert!(left(0).is_some_and(|left| left <= LEASE && left > LEASE / 3));
    world.pass(LEASE.as_secs() + 1);
    assert_eq!(left(0), None);
}

fn a_node_that_leaves_gives_all_up(world: &World) {
    let mut node = world.node(1);
    let root = node.take(ROOT);
    let inner = node.make_folder(ROOT, root, "d");
    world.book.leave(&node.member).expect("gone");
    world.book.leave(&node.member).expect("gone is gone");
    for folder in [ROOT, inner] {
        assert_eq!(world.book.list(world.volume(), folder).expect("a look").holder, None);
    }
    assert_eq!(kind(world.book.renew(&node.member)), ErrorKind::LeaseExpired);
    // Nobody waits for a lease that was given back.
    let other = world.try_node(1, 2).expect("the name is free");
    world.book.leave(&other.member).expect("gone");
    let back = world.node(1);
    assert_eq!(back.member.node, node.member.node);
    assert!(back.member.term > node.member.term);
}

fn what_makes_no_sense_is_refused(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    let (a, b) = (node.inode(), node.inode());
    let set = |at: &str, inode| NameChange::Set(name(at), inode);
    let root = |names| vec![held(ROOT, epoch, names)];
    let long = FileRecord {
        bytes: FileBytes::InBook(vec![0; MAX_BODY + 1]),
        size: MAX_BODY as u64 + 1,
        ..small(a, "")
    };
    let attributes = vec![(b"user.a".to_vec(), vec![]), (b"user.a".to_vec(), vec![1])];
    let cases = [
        (root(vec![set("x", a), NameChange::Remove(name("x"))]), vec![small(a, "1")]),
        (root(vec![set("x", a)]), vec![small(a, "1"), small(a, "2")]),
        ([root(vec![]), root(vec![])].concat(), vec![]),
        (root(vec![set("x", a)]), vec![long]),
        (root(vec![set("x", a)]), vec![FileRecord { size: 2, ..small(a, "1") }]),
        (root(vec![set("x", a)]), vec![FileRecord { mode: 0o100_644, ..small(a, "1") }]),
        (root(vec![set("x", a)]), vec![FileRecord { attributes, ..small(a, "1") }]),
        (
            root(vec![set("x", a)]),
            vec![FileRecord { bytes: FileBytes::None, size: u64::MAX, ..small(a, "") }],
        ),
        (root(vec![]), vec![small(b, "no name")]),
        (root(vec![set("x", InodeNumber(1 << 50))]), vec![small(InodeNumber(1 << 50), "1")]),
    ];
    for (number, (folders, files)) in cases.into_iter().enumerate() {
        assert_eq!(kind(node.try_publish(folders, files)), ErrorKind::Inconsistent, "{number}");
    }
    assert_eq!(world.book.list(world.volume(), ROOT).expect("a look").published, []);
    node.write(ROOT, epoch, "x", "fine");
}

fn how_it_is(world: &World) {
    let mut node = world.node(1);
    let epoch = node.take(ROOT);
    node.write(ROOT, epoch, "a", "1");
    world.node(2);
    world.pass(3);
    let status = world.book.status().expect("a status");
    assert_eq!(status.read_only, None);
    let volume = &status.volumes[0];
    assert_eq!(
        (volume.name.as_str(), volume.folders, volume.held, volume.files),
        ("s3://ours/v", 1, 1, 1)
    );
    assert_eq!(status.nodes.len(), 2);
    assert_eq!((status.nodes[0].name.as_str(), status.nodes[0].holds), ("node1", 1));
    assert!(status.nodes[0].renewed_ago >= Duration::from_secs(3));
    world.pass(LEASE.as_secs());
    assert_eq!(world.book.status().expect("a status").nodes[0].lease_left, None);
}
