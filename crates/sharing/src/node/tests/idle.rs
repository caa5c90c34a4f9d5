//! Folders in which nothing happens any more. If these fail, a node that makes files for weeks runs out
//! of memory, or finds other files in a folder to which it comes back.

use forebay_book::FolderId;

use super::worlds::World;

#[test]
fn folders_of_which_there_are_too_many_go_back_the_one_that_rested_longest_first() {
    let world = World::new();
    let (a, b) = (world.node(1), world.node(2));
    a.0.set_names_kept(44);
    let path = |folder: u32, file: u32| format!("d{folder}/f{file}");
    for folder in 0..10 {
        a.mkdir(&format!("d{folder}")).expect("made");
        for file in 0..9 {
            a.put(&path(folder, file), path(folder, file).as_bytes()).expect("written");
        }
    }
    // One of them is in use.
    let open = a.known(&path(0, 0)).expect("it is there").file;
    a.0.open(open, true).expect("opened");
    a.0.write(open, 0, b"D").expect("written");
    a.0.publish().expect("published");
    a.0.give_back_idle().expect("given back");
    let held = || {
        let state = a.0.state.lock();
        let folders: Vec<FolderId> = state.folders.keys().copied().collect();
        (folders, state.files.len())
    };
    let (folders, files) = held();
    // The root with ten names, and of the folders the two in which something changed last.
    let newest = ["d9", "d0"].map(|name| FolderId(a.known(name).expect("it is there").file.0));
    assert!(newest.iter().all(|folder| folders.contains(folder)), "{folders:?}");
    assert!(folders.len() == 3 && files < 50, "{folders:?} {files}");
    // With fewer nothing goes.
    a.0.give_back_idle().expect("nothing to do");
    assert_eq!(held().0.len(), 3);

    for node in [&b, &a] {
        for (folder, file) in [(1, 3), (8, 8), (9, 0)] {
            let bytes = node.read(&path(folder, file)).expect("it is there");
            assert_eq!(bytes, path(folder, file).as_bytes());
        }
    }
    a.put("d1/new", b"1").expect("it is taken again");
    b.put("d1/other", b"2").expect("and by another node");
    a.close(open, true).expect("closed");
    assert_eq!(b.read("d0/f0").expect("closed"), b"D0/f0");
    assert_eq!(a.read("d1/other").expect("closed"), b"2");
}
