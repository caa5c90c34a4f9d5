//! Files lie in the bucket as the rule of their last name says. If these fail, other tools do not
//! find a small result, or an object stays that no file has.

use super::super::super::placeholder_tree;
use super::*;

/// The root is what is served of the volume, by a machine that has all of it, or nothing.
struct Machine {
    folder: tempfile::TempDir,
    ship: CommitUploader,
}

impl Machine {
    fn new(bucket: &Arc<Memory>) -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ship = ship(bucket, folder.path());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = openat(CWD, folder.path(), flags, Mode::empty()).expect("opened");
        placeholder_tree::make_placeholder_tree(&fd, &ship.tree, &mut ship.scan).expect("made");
        Machine { folder, ship }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.at(path).parent().expect("a folder")).expect("made");
        std::fs::write(self.at(path), bytes).expect("written");
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.at(to).parent().expect("a folder")).expect("made");
        std::fs::rename(self.at(from), self.at(to)).expect("renamed");
    }

    fn cut(&mut self, is_busy: bool) {
        self.ship.make_commit(None, &|_| is_busy).expect("looked at");
        let open = open_in(self.folder.path());
        self.ship.upload_commit(&open).expect("shipped");
        self.ship.settle_object_keys().expect("objects have their names");
        assert!(self.ship.take_changed_names().is_empty(), "nothing changed meanwhile");
    }
}

/// Objects that any client reads; all files are what `expected` says, for another machine.
fn lies(bucket: &Arc<Memory>, expected: &[(&str, &[u8])]) -> Vec<String> {
    let expected: State =
        expected.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    assert_eq!(briefly(&seen(bucket)), briefly(&expected));
    let plain = bucket.plain();
    for (name, bytes) in &plain {
        assert_eq!(brief(bytes), brief(&expected[name]), "what a plain GET of {name} reads");
    }
    plain.into_keys().collect()
}

#[test]
fn small_results_are_objects_and_follow_the_rule_of_their_names() {
    let bucket = Memory::new();
    let mut one = Machine::new(&bucket);
    one.write("a/x", b"scratch");
    one.write("a/y", b"to be");
    one.write("c/x", b"result");
    one.write("c/empty", b"");
    one.write("c/sub/deep", b"deep");
    one.cut(false);
    let files: &[(&str, &[u8])] = &[
        ("a/x", b"scratch"),
        ("a/y", b"to be"),
        ("c/empty", b""),
        ("c/sub/deep", b"deep"),
        ("c/x", b"result"),
    ];
    assert_eq!(lies(&bucket, files), ["c/empty", "c/sub/deep", "c/x"]);
    // Here, and on a machine that has no bytes of them.
    let renames = [("a/y", "c/y"), ("c/x", "a/was"), ("c/sub", "a/sub"), ("c/empty", "a/none")];
    let back = renames.map(|(from, to)| (to, from));
    let moved: &[(&str, &[u8])] = &[
        ("a/none", b""),
        ("a/sub/deep", b"deep"),
        ("a/was", b"result"),
        ("a/x", b"scratch"),
        ("c/y", b"to be"),
    ];
    renames.iter().for_each(|(from, to)| one.rename(from, to));
    one.cut(false);
    assert_eq!(lies(&bucket, moved), ["c/y"]);
    let mut two = Machine::new(&bucket);
    let told = Arc::new(Told::default());
    two.ship.set_readers(Arc::clone(&told) as Arc<dyn MoveObserver>);
    back.iter().for_each(|(from, to)| two.rename(from, to));
    two.cut(false);
    assert_eq!(lies(&bucket, files), ["c/empty", "c/sub/deep", "c/x"]);
    let copied = std::mem::take(&mut *told.0.lock());
    assert!(
        copied.iter().any(|moved| matches!(moved.place, ContentLocation::Packed { segment, .. }
        if segment != super::super::super::tree_record::HERE)),
        "who reads it is told: {copied:?}"
    );
    let mut three = Machine::new(&bucket);
    renames.iter().for_each(|(from, to)| three.rename(from, to));
    three.cut(false);
    assert_eq!(lies(&bucket, moved), ["c/y"]);
}

/// A reader who looks at the place that it knows whenever it is told of another.
#[derive(Debug)]
struct Reader {
    bucket: Arc<Memory>,
    /// By the number of a file its object and bytes.
    knows: parking_lot::Mutex<BTreeMap<u64, (String, Bytes)>>,
}

impl MoveObserver for Reader {
    fn notify_moved(&self, moved: Vec<MovedContent>) {
        let mut knows = self.knows.lock();
        for (key, bytes) in knows.values() {
            let there = self.bucket.objects.lock().get(key).map(|(bytes, _)| bytes.to_vec());
            assert_eq!(there.as_ref(), Some(bytes), "{key} is still what it was");
        }
        for MovedContent { ino, place, .. } in moved {
            let ContentLocation::Own { key, .. } = place else { panic!("{place:?}") };
            knows.get_mut(&ino).expect("a file that it reads").0 = key;
        }
    }
}

#[test]
fn who_reads_knows_the_new_place_before_the_old_one_goes() {
    let bucket = Memory::new();
    let mut one = Machine::new(&bucket);
    for name in ["c/1", "c/2", "c/3"] {
        one.write(name, name.as_bytes());
    }
    one.cut(false);
    let own = |ship: &CommitUploader| -> BTreeMap<u64, (String, Bytes)> {
        let of = |(ino, file): (u64, &super::super::super::tree::VolumeFile)| match &file.place {
            ContentLocation::Own { key, .. } => {
                Some((ino, (key.clone(), key.clone().into_bytes())))
            }
            _ => None,
        };
        ship.tree.files().filter_map(of).collect()
    };
    let knows = own(&one.ship);
    assert_eq!(knows.len(), 3);
    let reader = Arc::new(Reader { bucket: Arc::clone(&bucket), knows: knows.into() });
    one.ship.set_readers(Arc::clone(&reader) as Arc<dyn MoveObserver>);
    // Each gets the name that the next one has; the last one's object is nobody's then.
    for (from, to) in [("c/3", "c/4"), ("c/2", "c/3"), ("c/1", "c/2")] {
        one.rename(from, to);
    }
    one.cut(false);
    let keys: Vec<String> = reader.knows.lock().values().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, ["c/2", "c/3", "c/4"]);
    assert!(!bucket.objects.lock().contains_key("c/1"), "nobody needs it");
}

#[test]
fn what_is_written_while_it_gets_its_name_lies_right_when_it_is_closed() {
    let bucket = Memory::new();
    let mut one = Machine::new(&bucket);
    one.write("tmp/x", b"1");
    one.write("results/x", b"2");
    one.cut(false);
    let now = std::time::SystemTime::UNIX_EPOCH;
    std::fs::rename(one.at("tmp"), one.at("c")).expect("renamed");
    one.cut(true);
    one.cut(false);
    assert_eq!(lies(&bucket, &[("c/x", b"1"), ("results/x", b"2")]), ["c/x"]);
    // Written with the same size and time; and grown, and cut to nothing.
    one.write("c/x", b"3");
    let file = std::fs::File::options().write(true).open(one.at("c/x")).expect("opened");
    file.set_modified(now).expect("set");
    one.cut(false);
    assert_eq!(lies(&bucket, &[("c/x", b"3"), ("results/x", b"2")]), ["c/x"]);
    one.write("c/x", b"");
    one.cut(false);
    assert_eq!(lies(&bucket, &[("c/x", b""), ("results/x", b"2")]), ["c/x"]);
    std::fs::remove_file(one.at("c/x")).expect("removed");
    one.cut(false);
    assert!(lies(&bucket, &[("results/x", b"2")]).is_empty());
}

#[test]
fn a_file_with_two_names_has_an_object_by_the_one_that_says_so() {
    let bucket = Memory::new();
    let mut one = Machine::new(&bucket);
    one.write("a", b"two names");
    one.write("c/other", b"x");
    std::fs::hard_link(one.at("a"), one.at("c/a")).expect("linked");
    let files: &[(&str, &[u8])] = &[("a", b"two names"), ("c/a", b"two names"), ("c/other", b"x")];
    for _ in 0..2 {
        one.cut(false);
        assert_eq!(lies(&bucket, files), ["c/a", "c/other"]);
    }
    one.write("a", b"written by one of them");
    one.cut(false);
    let written: &[u8] = b"written by one of them";
    let files = [("a", written), ("c/a", written), ("c/other", b"x".as_slice())];
    assert_eq!(lies(&bucket, &files), ["c/a", "c/other"]);
}

#[test]
fn other_rules_change_what_is_written_from_then_on_alone() {
    let bucket = Memory::new();
    let mut one = Machine::new(&bucket);
    one.write("c/x", b"1");
    one.write("a/x", b"2");
    one.cut(false);
    let mut two = Machine::new(&bucket);
    two.ship.scan.set_layout_rules(Arc::new(BucketRules::none()));
    let before = bucket.objects.lock().len();
    two.cut(false);
    assert_eq!(bucket.objects.lock().len(), before, "nothing is brought");
    std::fs::rename(two.at("c/x"), two.at("c/y")).expect("renamed");
    two.cut(false);
    assert_eq!(lies(&bucket, &[("a/x", b"2"), ("c/y", b"1")]), ["c/y"]);
    std::fs::remove_file(two.at("c/y")).expect("removed");
    two.write("c/y", b"3");
    two.cut(false);
    assert!(lies(&bucket, &[("a/x", b"2"), ("c/y", b"3")]).is_empty(), "by size");
}
