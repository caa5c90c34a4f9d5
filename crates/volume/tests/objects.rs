//! Objects in a bucket. If these fail, bytes are taken for stored that are not, or a wrong key for a
//! missing object.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "common/s3.rs"]
mod s3;

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use forebay_volume::store::Objects;
use s3::Server;

#[test]
fn objects_are_written_read_listed_copied_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::start(folder.path(), Duration::ZERO);
    let objects = Objects::open("s3://bucket/some/prefix/", server.settings()).unwrap();
    objects.put("reads/one", Bytes::from_static(b"ACGTACGT")).unwrap();
    objects.put("two", Bytes::new()).unwrap();
    assert_eq!(objects.get("reads/one", 2..5).unwrap(), "GTA");
    assert_eq!(objects.size("reads/one").unwrap(), Some(8));
    assert_eq!(objects.size("three").unwrap(), None);
    let names = |folder: &str| objects.list(folder).unwrap();
    assert_eq!(names(""), [("reads/one".to_owned(), 8), ("two".to_owned(), 0)]);
    assert_eq!(names("reads"), [("reads/one".to_owned(), 8)]);
    objects.copy("reads/one", "three").unwrap();
    assert_eq!(objects.get("three", 0..8).unwrap(), "ACGTACGT");
    let stored = folder.path().join("bucket/some/prefix/three");
    assert_eq!(std::fs::read(stored).unwrap(), b"ACGTACGT", "it is where others find it");
    for name in ["reads/one", "two", "three", "never there"] {
        objects.delete(name).unwrap();
    }
    assert_eq!(names(""), []);
    assert!(server.requests() > 10);
}

#[test]
fn what_is_wrong_is_said_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let server = Server::start(folder.path(), Duration::ZERO);
    let objects = Objects::open("s3://nowhere", server.settings()).unwrap();
    assert_eq!(objects.list("").unwrap_err().kind, ErrorKind::NotFound, "{:?}", objects.list(""));
    let mut settings = server.settings();
    settings[2].1 = "another secret".to_owned();
    let failed = Objects::open("s3://bucket", settings).unwrap().list("").unwrap_err();
    assert_eq!(failed.kind, ErrorKind::PermissionDenied, "{failed}");
    assert!(!format!("{failed:?}").contains("secret"), "{failed:?}");
    for url in ["s3://", "/bucket", "s3:///x"] {
        assert_eq!(Objects::open(url, []).unwrap_err().kind, ErrorKind::InvalidInput, "{url}");
    }
}
