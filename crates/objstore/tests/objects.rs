//! Objects in a bucket. If these fail, bytes are taken for stored that are not, or a wrong key for a
//! missing object.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "common/others.rs"]
mod others;
#[path = "common/s3.rs"]
mod s3;

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use forebay_objstore::{BucketClient, PutCondition, RequestError};
use s3::Server;
use s3::faults::FAULTS;

/// Each kind of storage keeps to this.
fn contract(objects: &BucketClient) {
    objects.put("reads/one", Bytes::from_static(b"ACGTACGT")).unwrap();
    objects.put("two [2] ~%41", Bytes::new()).unwrap();
    assert_eq!(objects.get("reads/one", 2..5).unwrap(), "GTA");
    assert_eq!(objects.object_size("reads/one").unwrap(), Some(8));
    assert_eq!(objects.object_size("three").unwrap(), None);
    let names = |folder: &str| -> Vec<(String, u64)> {
        objects
            .list_recursive(folder)
            .unwrap()
            .into_iter()
            .map(|found| (found.name, found.size))
            .collect()
    };
    assert_eq!(names(""), [("reads/one".to_owned(), 8), ("two [2] ~%41".to_owned(), 0)]);
    assert_eq!(names("reads"), [("reads/one".to_owned(), 8)]);
    objects.copy("reads/one", "three").unwrap();
    assert_eq!(objects.get("three", 0..8).unwrap(), "ACGTACGT");
    assert_eq!(objects.get("four", 0..1).unwrap_err().kind, ErrorKind::NotFound);

    let first =
        objects.put_when("log/1", Bytes::from_static(b"a"), PutCondition::Absent, "me-1").unwrap();
    let first = first.expect("a version");
    let other = objects.put_when("log/1", Bytes::from_static(b"b"), PutCondition::Absent, "you-1");
    assert_eq!(other.unwrap_err().kind, ErrorKind::AlreadyExists);
    let second = objects
        .put_when("log/1", Bytes::from_static(b"cc"), PutCondition::Is(&first), "me-2")
        .unwrap();
    let late =
        objects.put_when("log/1", Bytes::from_static(b"d"), PutCondition::Is(&first), "you-2");
    assert_eq!(late.unwrap_err().kind, ErrorKind::StaleNetworkFileHandle);
    let head = objects.head("log/1").unwrap().unwrap();
    assert_eq!((head.size, &head.version, head.tag.as_deref()), (2, &second, Some("me-2")));

    // Not all that speaks S3 tells it in a listing.
    let listed = objects.list_recursive("log").unwrap().remove(0).version;
    assert!(listed.is_none() || listed == head.version, "{listed:?} is {:?}", head.version);

    // Longer than one request.
    let long: Vec<u8> = (0..20_000_000u32).map(|at| (at / 7) as u8).collect();
    upload(objects, "a/long.bam", "long-1", &long).unwrap();
    let version = objects.head("a/long.bam").unwrap().unwrap().version;
    let mut read = Vec::new();
    let range = 100..long.len() as u64;
    let mut take = |bytes: Bytes| {
        read.extend_from_slice(&bytes);
        Ok(())
    };
    objects.read_in_parts("a/long.bam", range, version.as_ref(), &mut take).unwrap();
    assert!(read == long[100..], "other bytes came back");
    objects.put("a/long.bam", Bytes::from_static(b"short now")).unwrap();
    let changed =
        objects.fetch_verified("a/long.bam", 0..4, version.as_ref(), &|_| true).unwrap_err();
    assert_eq!(changed.kind, ErrorKind::StaleNetworkFileHandle, "{changed}");
    let never = objects.fetch_verified("a/long.bam", 0..4, None, &|_| false).unwrap_err();
    assert_eq!(never.kind, ErrorKind::InvalidData, "{never}");

    // The same where nothing may be there yet.
    let new = |tag: &str, bytes: &[u8]| {
        let mut rest = bytes;
        let mut next = |buffer: &mut [u8]| std::io::Read::read(&mut rest, buffer);
        objects.upload("b/new", tag, bytes.len() as u64, PutCondition::Absent, &mut next)
    };
    assert_eq!(new("n-1", &long).unwrap(), objects.head("b/new").unwrap().unwrap().version);
    new("n-1", &long).expect("it is this one: an answer was lost");
    let other: Vec<u8> = long.iter().rev().copied().collect();
    assert_eq!(new("n-2", &other).unwrap_err().kind, ErrorKind::AlreadyExists);
    assert!(objects.get("b/new", 0..long.len() as u64).unwrap() == long, "it was written over");
    assert_eq!(names("b"), [("b/new".to_owned(), long.len() as u64)], "nothing is left beside it");
    assert_eq!(names(".forebay"), []);

    for length in [long.len() - 1, long.len() + 1] {
        let mut rest = &long[..];
        let mut next = |buffer: &mut [u8]| std::io::Read::read(&mut rest, buffer);
        let failed = objects
            .upload("torn", "t", length as u64, PutCondition::Always, &mut next)
            .unwrap_err();
        assert_eq!(failed.kind, ErrorKind::InvalidData, "{failed}");
    }
    assert_eq!(objects.object_size("torn").unwrap(), None, "a part was seen");
    for found in objects.list_recursive("").unwrap() {
        objects.delete(&found.name).unwrap();
    }
    objects.delete("never there").unwrap();
    assert_eq!(names(""), []);
}

fn upload(objects: &BucketClient, name: &str, tag: &str, bytes: &[u8]) -> Result<(), RequestError> {
    let mut rest = bytes;
    let mut next = |buffer: &mut [u8]| std::io::Read::read(&mut rest, buffer);
    objects.upload(name, tag, bytes.len() as u64, PutCondition::Always, &mut next).map(drop)
}

#[test]
fn every_scheme_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::start(folder.path(), Duration::ZERO);
    // Azure's is that of its emulator.
    for scheme in BucketClient::scheme_names().filter(|name| *name != "az") {
        let url = format!("{scheme}://bucket/some/prefix/");
        contract(&BucketClient::open(&url, server.settings()).unwrap());
    }
    assert!(server.requests() > 10);
}

#[test]
fn every_server_keeps_the_contract() {
    for other in others::OTHERS {
        let Some(server) = other.start("bucket") else { continue };
        let url = format!("{}/some/prefix/", server.url("bucket"));
        let objects = BucketClient::open(&url, server.settings()).unwrap();
        // A failure names its thread.
        let thread = std::thread::Builder::new().name(other.name.to_owned());
        thread.spawn(move || contract(&objects)).unwrap().join().unwrap();
    }
}

#[test]
fn objects_lie_where_others_find_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::start(folder.path(), Duration::ZERO);
    let objects = BucketClient::open("s3://bucket/some/prefix/", server.settings()).unwrap();
    objects.put("a [1]/b", Bytes::from_static(b"ACGT")).unwrap();
    assert_eq!(std::fs::read(folder.path().join("bucket/some/prefix/a [1]/b")).unwrap(), b"ACGT");
}

#[test]
fn what_is_wrong_is_said_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::start(folder.path(), Duration::ZERO);
    let objects = BucketClient::open("s3://nowhere", server.settings()).unwrap();
    assert_eq!(
        objects.list_recursive("").unwrap_err().kind,
        ErrorKind::NotFound,
        "{:?}",
        objects.list_recursive("")
    );
    let mut settings = server.settings();
    settings[2].1 = "another secret".to_owned();
    let failed =
        BucketClient::open("s3://bucket", settings).unwrap().list_recursive("").unwrap_err();
    assert_eq!(failed.kind, ErrorKind::PermissionDenied, "{failed}");
    assert!(!format!("{failed:?}").contains("secret"), "{failed:?}");
    for url in ["s3://", "/bucket", "s3:///x", "ftp://bucket"] {
        assert_eq!(
            BucketClient::open(url, Vec::new()).unwrap_err().kind,
            ErrorKind::InvalidInput,
            "{url}"
        );
    }
}

/// Asks again, as whoever keeps a queue does, while that can help.
fn persist<T>(what: &str, ask: impl Fn() -> Result<T, RequestError>) -> T {
    for _ in 0..40 {
        match ask() {
            Ok(done) => return done,
            Err(failed) if failed.is_lasting() => panic!("{what}: {failed}"),
            Err(_) => {}
        }
    }
    panic!("{what}: never");
}

/// Writes, reads, copies and removes while one request in ten goes wrong; then looks at what is
/// there without any.
fn survives(fault: s3::faults::Fault) {
    let seed = 20 + fault as u64;
    let name = format!("{fault:?}, seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::faulty(folder.path(), fault, seed);
    let mut settings = server.settings();
    settings.push(("AWS_TIMEOUT".to_owned(), "500ms".to_owned()));
    let objects = BucketClient::open("s3://bucket/v", settings).unwrap();
    let content = |turn: u32| Bytes::from(format!("file {turn} ").repeat(40 + turn as usize));
    for turn in 0..40 {
        let (at, tag) = (format!("log/{turn}"), format!("tag-{turn}"));
        persist(&name, || objects.put_when(&at, content(turn), PutCondition::Absent, &tag));
    }
    for turn in 0..40 {
        let (at, right) = (format!("log/{turn}"), content(turn));
        let all = 0..right.len() as u64;
        let got =
            persist(&name, || objects.fetch_verified(&at, all.clone(), None, &|got| got == right));
        assert_eq!(got, right, "{name}");
        assert_eq!(persist(&name, || objects.object_size(&at)), Some(right.len() as u64), "{name}");
        persist(&name, || objects.copy(&at, &format!("copy/{turn}")));
        if turn % 2 == 0 {
            persist(&name, || objects.delete(&at));
        }
        persist(&name, || objects.list_recursive("log"));
    }
    let long: Vec<u8> = (0..17_000_000u32).map(|at| (at / 5) as u8).collect();
    persist(&name, || upload(&objects, "long", "long", &long));
    for turn in 0..40 {
        let read = |part: String| std::fs::read(folder.path().join("bucket/v").join(part));
        assert_eq!(read(format!("copy/{turn}")).unwrap(), content(turn), "{name}");
        assert_eq!(read(format!("log/{turn}")).is_ok(), turn % 2 == 1, "{name}");
    }
    assert!(std::fs::read(folder.path().join("bucket/v/long")).unwrap() == long, "{name}");
}

#[test]
fn whatever_goes_wrong_once_in_ten_times_is_survived() {
    std::thread::scope(|scope| {
        for fault in FAULTS {
            scope.spawn(move || survives(fault));
        }
    });
}
