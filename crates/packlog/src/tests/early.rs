//! If this fails, an old copy of a file is taken for what it is now, and comes home for it.

use super::*;

#[test]
fn of_two_that_make_one_file_only_the_last_counts() {
    let works = tempfile::tempdir().expect("a directory");
    let pack = open(&Place::default(), works.path(), 1).expect("opened");
    let (ino, work) = pack.create_file(DIRS[0], Vec::new, b"a", Attr::default()).expect("made");
    pack.commit_content(ino, &work, false).expect("settled");
    pack.release_working_file(ino, work);
    let file = |inode| DirKey { inode, born: 1 };
    let over = || pack.lookup_name(DIRS[0], b"a").expect("there").over;
    let hide = |turn, inode| pack.hide_in_place_file(turn, DIRS[0], b"a", file(inode));
    let first = pack.begin_eager_write_back(ino).expect("nobody makes it");
    assert_eq!(pack.begin_eager_write_back(ino), None, "one at a time");
    pack.set_attributes(ino, Attr { mode: 0o600, ..Attr::default() }).expect("changed");
    let second = pack.begin_eager_write_back(ino).expect("anew");
    assert_eq!((hide(first, 21), over()), (Err(Errno::BUSY), None), "it is an old copy");
    hide(second, 22).expect("hidden");
    // The first comes to its end, however it ends.
    pack.finish_eager_write_back(first, file(21));
    assert_eq!(pack.eager_copy(ino), None, "the second is not done");
    pack.unhide_in_place_file(first, DIRS[0], b"a", file(21));
    pack.cancel_eager_write_back(first);
    assert_eq!(
        (pack.begin_eager_write_back(ino), over()),
        (None, Some(file(22))),
        "nothing of the second's"
    );
    pack.finish_eager_write_back(second, file(22));
    assert_eq!(pack.eager_copy(ino), Some(file(22)));
    // And one that changes between getting its name and the word of it.
    pack.forget_eager_copy(ino);
    pack.finish_eager_write_back(second, file(22));
    assert_eq!(pack.eager_copy(ino), None);
    pack.unhide_in_place_file(second, DIRS[0], b"a", file(22));
    assert_eq!(over(), Some(DirKey { inode: 0, born: 0 }), "its number is anybody's");
}
