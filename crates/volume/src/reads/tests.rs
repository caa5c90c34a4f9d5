//! An archive is shown without a kernel. If these failed, a program would read other bases than
//! were packed, or take a file that is damaged for one that ends early.

use std::ffi::CString;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use forebay_model::attached::ExposedReads;
use forebay_reads::{MANIFEST, PackOptions, pack_files};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use tempfile::TempDir;

use super::*;
use crate::bucket::BucketAccess;
use crate::native::{IoState, Native, ROOT};

struct Place {
    dir: TempDir,
    texts: [Vec<u8>; 2],
}

struct Stood {
    native: Native,
    shown: Arc<ExportedReads>,
}

/// Reads that nothing makes much smaller, in some groups.
fn text(mate: u64) -> Vec<u8> {
    let mut state = mate;
    let mut text = String::new();
    for nth in 0..40_000 {
        let mut letters = |alphabet: &[u8]| -> String {
            let mut letter = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                char::from(alphabet[(state >> 60) as usize % alphabet.len()])
            };
            (0..100).map(|_| letter()).collect()
        };
        text += &format!("@M:1:{nth} {mate}\n{}\n+\n{}\n", letters(b"ACGT"), letters(b"FFF:,#"));
    }
    text.into_bytes()
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().expect("a directory");
        let texts = [text(1), text(2)];
        let inputs = ["x_R1.fastq", "x_R2.fastq"].map(|name| dir.path().join(name)).to_vec();
        for (input, text) in inputs.iter().zip(&texts) {
            std::fs::write(input, text).expect("written");
        }
        let packing = PackOptions {
            inputs: inputs.into_iter().map(|input| vec![input]).collect(),
            interleaved: false,
            names: Vec::new(),
            threads: 2,
            profile: forebay_reads::PackProfile::default(),
            layout: forebay_reads::ArchiveLayout::default(),
            writer: "test".to_owned(),
        };
        pack_files(&packing, &dir.path().join("x.reads"), |_| ()).expect("packed");
        Place { dir, texts }
    }

    fn archive(&self) -> PathBuf {
        self.dir.path().join("x.reads")
    }

    fn ways(&self) -> BucketAccess {
        BucketAccess {
            settings: forebay_objstore::BucketSettings::default(),
            state: self.dir.path().join("state"),
        }
    }

    fn show(&self, shards: u32) -> Stood {
        let shown = ExposedReads { shards: std::num::NonZeroU32::new(shards), lite: false };
        let found = prepare_archive(&self.archive(), shown, &self.ways());
        let found = found.expect("an archive");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, found.directory(), flags, Mode::empty()).expect("opened");
        let shown = ExportedReads::start(found).expect("started");
        let settings = crate::native::NativeSettings::default();
        let native = Native::new(root, settings, Box::new(|_| Arc::from([]))).expect("statx works");
        Stood {
            native: native.with_backend(Arc::clone(&shown) as Arc<dyn crate::backend::Backend>),
            shown,
        }
    }

    fn why(&self) -> String {
        prepare_archive(&self.archive(), ExposedReads::default(), &self.ways())
            .expect_err("refused")
            .why
    }

    /// Turns a bit in the middle of the bytes that were packed.
    fn damage(&self) {
        let data = self.archive().join("data-00000.fbr");
        let file = std::fs::File::options().read(true).write(true).open(data).expect("opened");
        let middle = file.metadata().expect("there").len() / 2;
        let mut byte = [0];
        file.read_exact_at(&mut byte, middle).expect("read");
        file.write_all_at(&[byte[0] ^ 4], middle).expect("written");
    }
}

impl Stood {
    fn open(&self, name: &str) -> (u64, crate::native::OpenReply) {
        let name = CString::new(name).expect("a name");
        let node = self.native.lookup(ROOT, &name).expect("found").0.node;
        (node, self.native.open(node, libc::O_RDONLY as u32).expect("opened").0)
    }

    fn read(&self, name: &str, at: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let (_, opened) = self.open(name);
        let handle = self.native.handle(opened.fh).expect("open");
        let mut buffer = vec![0; len];
        let read = self.native.read(&handle, &mut buffer, at, false);
        drop(handle);
        self.native.release(opened.fh);
        buffer.truncate(read?);
        Ok(buffer)
    }

    /// All of a file, as a program reads it.
    fn whole(&self, name: &str) -> Result<Vec<u8>, Errno> {
        let mut all = Vec::new();
        loop {
            let part = self.read(name, all.len() as u64, 1 << 20)?;
            if part.is_empty() {
                return Ok(all);
            }
            all.extend(part);
        }
    }
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut MultiGzDecoder::new(bytes), &mut text).expect("gzip");
    text
}

#[test]
fn what_was_packed_is_read_at_any_place() {
    let place = Place::new();
    let stood = place.show(0);
    for (name, text) in ["x_R1.fastq", "x_R2.fastq"].iter().zip(&place.texts) {
        assert!(stood.whole(name).expect("read") == *text, "{name} is not what was packed");
        let zipped = stood.whole(&format!("{name}.gz")).expect("read");
        assert!(unzipped(&zipped) == *text, "{name}.gz");
        let mut at = 1_u64;
        for nth in 0..200_u64 {
            at = (at * 6_364_136_223 + nth) % text.len() as u64;
            let len = (nth as usize * 97) % 9000 + 1;
            let expected = &text[at as usize..(at as usize + len).min(text.len())];
            assert!(stood.read(name, at, len).expect("read") == expected, "{len} at {at}");
        }
        assert_eq!(stood.read(name, text.len() as u64, 10), Ok(Vec::new()));
    }
    assert_eq!(stood.shown.finish_and_report(), [""; 0]);
}

#[test]
fn a_file_is_as_long_and_as_old_as_the_archive_says_however_it_is_asked() {
    let place = Place::new();
    let stood = place.show(0);
    let manifest = std::fs::metadata(place.archive().join(MANIFEST)).expect("there");
    let zipped = stood.whole("x_R2.fastq.gz").expect("read").len() as u64;
    for (name, len) in [("x_R2.fastq", place.texts[1].len() as u64), ("x_R2.fastq.gz", zipped)] {
        let found = stood.native.lookup(ROOT, &CString::new(name).expect("a name"));
        let (node, opened) = stood.open(name);
        let asked = |fh| stood.native.getattr(node, fh).expect("there").0;
        for stat in [found.expect("found").0.stat, asked(None), asked(Some(opened.fh))] {
            assert_eq!((stat.stx_size, stat.stx_blocks), (len, len.div_ceil(512)), "{name}");
            assert_eq!(stat.stx_mtime.tv_sec, manifest.mtime());
            assert_eq!(u32::from(stat.stx_mode) & 0o7777, manifest.mode() & 0o444);
        }
        assert_eq!((opened.size, opened.state), (len, IoState::Cached));
        let handle = stood.native.handle(opened.fh).expect("open");
        let seek = |at, how| stood.native.seek_data_or_hole(&handle, at, how as u32);
        assert_eq!(seek(7, libc::SEEK_DATA), Ok(7));
        assert_eq!(seek(7, libc::SEEK_HOLE), Ok(len));
        assert_eq!(seek(len, libc::SEEK_DATA), Err(Errno::NXIO));
    }
}

#[test]
fn damage_is_an_error_of_its_readers_that_names_it() {
    let place = Place::new();
    let stood = place.show(0);
    place.damage();
    let read = ["x_R1.fastq", "x_R2.fastq"].map(|name| stood.whole(name));
    assert!(read.contains(&Err(Errno::IO)), "a bit that turned was given to a program");
    for (read, text) in read.iter().zip(&place.texts) {
        assert!(read.as_ref().is_ok_and(|read| read == text) || *read == Err(Errno::IO));
    }
    // What lies before it is whole.
    assert!(stood.read("x_R1.fastq", 0, 5000).expect("read") == place.texts[0][..5000]);
    let told = stood.shown.finish_and_report().join("\n");
    assert!(told.contains("x_R") && told.contains("checksum"), "{told}");
    assert!(told.contains(&place.archive().display().to_string()), "{told}");
    assert!(!told.contains("/proc/"), "{told}");
}

#[test]
fn an_archive_that_lacks_something_is_refused_before_anything_is_shown() {
    let place = Place::new();
    let data = place.archive().join("data-00000.fbr");
    let bytes = std::fs::read(&data).expect("read");
    std::fs::write(&data, &bytes[..bytes.len() - 1]).expect("written");
    assert!(place.why().contains(&format!("has {} bytes of {}", bytes.len() - 1, bytes.len())));
    std::fs::remove_file(&data).expect("removed");
    assert!(place.why().contains("data-00000.fbr is missing"));
    let elsewhere = place.dir.path().join("elsewhere");
    std::fs::write(&elsewhere, &bytes).expect("written");
    std::os::unix::fs::symlink(&elsewhere, &data).expect("linked");
    assert!(place.why().contains("no links"));
    std::fs::remove_file(&data).expect("removed");
    std::fs::write(&data, &bytes).expect("written");
    place.show(0);
    let manifest = place.archive().join(MANIFEST);
    let mut bytes = std::fs::read(&manifest).expect("read");
    bytes[40] ^= 1;
    std::fs::write(&manifest, &bytes).expect("written");
    assert!(
        !place.why().is_empty()
            && check_can_show(
                &place.archive(),
                ExposedReads::default(),
                &forebay_objstore::BucketSettings::default()
            )
            .is_err()
    );
    std::fs::remove_file(&manifest).expect("removed");
    assert!(place.why().contains(&manifest.display().to_string()), "{}", place.why());
}

#[test]
fn shards_have_each_read_once_and_mates_the_same() {
    let place = Place::new();
    let stood = place.show(3);
    let names = |mate: usize, end: &str| {
        (1..=3).map(move |nth| format!("x_R{mate}.000{nth}-of-0003.fastq{end}")).collect::<Vec<_>>()
    };
    let whole = |name: &String| stood.whole(name).expect("read");
    for (mate, text) in [1, 2].into_iter().zip(&place.texts) {
        let parts: Vec<Vec<u8>> = names(mate, "").iter().map(whole).collect();
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), text.len());
        let mut reads: Vec<&[u8]> = parts.iter().flat_map(|part| records(part)).collect();
        let mut packed: Vec<&[u8]> = records(text).collect();
        reads.sort_unstable();
        packed.sort_unstable();
        assert!(reads == packed, "mate {mate}");
        let zipped: Vec<Vec<u8>> =
            names(mate, ".gz").iter().map(|name| unzipped(&whole(name))).collect();
        assert!(zipped == parts);
    }
    let spots = |mate| names(mate, "").iter().map(|name| whole(name).len()).collect::<Vec<_>>();
    assert_eq!(spots(1), spots(2));
}

fn records(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut start = 0;
    ends.skip(3).step_by(4).map(move |end| &text[std::mem::replace(&mut start, end)..end])
}

#[test]
fn two_runs_at_a_time_show_the_same_archive_and_leave_no_files_behind() {
    let place = Place::new();
    let (one, two) = (place.show(0), place.show(2));
    assert!(one.read("x_R1.fastq", 9, 99) == two.read("x_R1.fastq", 9, 99));
    let is_there = |stood: &Stood| {
        let found = stood.native.lookup(ROOT, c"x_R1.0001-of-0002.fastq");
        found.is_ok_and(|(entry, _)| entry.node != 0)
    };
    assert!(!is_there(&one) && is_there(&two));
    let _ = (one.shown.finish_and_report(), two.shown.finish_and_report());
    drop((one, two));
    let files = walk(&place.dir.path().join("state"));
    assert!(files.iter().all(|name| !name.contains("fastq")), "{files:?}");
}

fn walk(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory").flatten();
    let below = entries.flat_map(|entry| match entry.path().is_dir() {
        true => walk(&entry.path()),
        false => vec![entry.path().display().to_string()],
    });
    below.collect()
}
