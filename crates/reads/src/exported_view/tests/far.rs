//! Archives whose objects lie far away. If these failed, whoever reads one part after the other would
//! wait for each, or a byte that changed on its way would end a pipeline.
use super::*;
use crate::manifest::{INDEX, MANIFEST};
use crate::objects::ObjectRange;
use crate::view::{ReadSelection, TextFormat};

type Log = Arc<Mutex<BTreeSet<(String, u64, usize)>>>;

/// Objects that keep what was told and what was asked, and get bytes wrong for a while.
#[derive(Debug)]
struct Far {
    own: DirectoryObjects,
    told: Log,
    asked: Log,
    wrong: Arc<AtomicUsize>,
}

impl ObjectSource for Far {
    fn object_size(&self, name: &str) -> Result<u64> {
        self.own.object_size(name)
    }

    fn read_range(&self, name: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        if name != INDEX && name != MANIFEST {
            self.asked.lock().expect("it").insert((name.to_owned(), offset, len));
        }
        let mut bytes = self.own.read_range(name, offset, len)?;
        let is_wrong = |left: usize| left.checked_sub(1);
        if self.wrong.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_wrong).is_ok() {
            bytes[0] ^= 0x10;
        }
        Ok(bytes)
    }

    fn prefetch_parts(&self, parts: &[ObjectRange<'_>]) {
        for part in parts {
            let part = (part.name.to_owned(), part.offset, part.len);
            assert!(!self.asked.lock().expect("it").contains(&part), "it was read already");
            assert!(self.told.lock().expect("it").insert(part), "it was told already");
        }
    }

    fn can_retry_damaged(&self, _: &[ObjectRange<'_>]) -> bool {
        true
    }
}

fn far(packed: &Packed) -> (Archive, Log, Log, Arc<AtomicUsize>) {
    let own = DirectoryObjects::new(&packed._dir.path().join("a"));
    let (told, asked, wrong) = (Log::default(), Log::default(), Arc::new(AtomicUsize::new(0)));
    let (mine, yours, odd) = (Arc::clone(&told), Arc::clone(&asked), Arc::clone(&wrong));
    let far = Far { own, told: mine, asked: yours, wrong: odd };
    (Archive::open(Box::new(far)).expect("open"), told, asked, wrong)
}

#[test]
fn who_reads_in_a_row_tells_once_and_before_what_will_be_asked_for() {
    let texts = [reads(24 << 20, '1', 100), reads(24 << 20, '2', 100)];
    let packed = packed(&[&texts[0], &texts[1]], false);
    for mate in [0, 1] {
        let (archive, told, asked, _) = far(&packed);
        let archive = Arc::new(archive.with_decode_limit(1));
        let face = archive.exported_files(None).expect("faces").swap_remove(2 * mate);
        let mut out = Vec::new();
        ExportedReader::copy_to_writer(Arc::clone(&archive), &face, 3, &mut out).expect("read");
        assert!(out == texts[mate]);
        let (told, asked) = (told.lock().expect("it"), asked.lock().expect("it"));
        // The group with which it began: bases, names, qualities, and what they lean on.
        assert!(asked.difference(&told).count() <= 4, "{:?}", asked.difference(&told));
        assert_eq!(told.difference(&asked).count(), 0, "nothing is fetched in vain");
    }
    let (archive, told, asked, _) = far(&packed);
    let mut out = Vec::new();
    archive.write_view(ReadSelection::Mate(0), TextFormat::Fastq, 3, &mut out).expect("read");
    assert!(out == texts[0]);
    assert_eq!(*told.lock().expect("it"), *asked.lock().expect("it"));
    // Some reads by their numbers are no reason to fetch others.
    let (archive, told, _, _) = far(&packed);
    archive.write_spots(5..9, ReadSelection::Both, TextFormat::Fastq, 3, &mut out).expect("read");
    assert!(told.lock().expect("it").is_empty());
}

#[test]
fn what_changes_on_its_way_is_asked_for_again_and_what_stays_wrong_is_told() {
    let text = reads(6 << 20, '1', 100);
    let packed = packed(&[&text], false);
    for count in [1, 2, 3] {
        let (archive, _, _, wrong) = far(&packed);
        wrong.store(count, Ordering::SeqCst);
        let mut out = Vec::new();
        archive.write_view(ReadSelection::File(0), TextFormat::Fastq, 1, &mut out).expect("read");
        assert!(out == text, "{count}");
    }
    let (archive, _, _, wrong) = far(&packed);
    wrong.store(usize::MAX, Ordering::SeqCst);
    let error = archive.write_view(ReadSelection::File(0), TextFormat::Fastq, 1, &mut Vec::new());
    assert_eq!(error.expect_err("damaged").kind, Kind::Damaged);
}
