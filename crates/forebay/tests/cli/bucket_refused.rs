//! What a bucket refuses. If these fail, somebody looks for hours for a clock that is wrong, or a
//! key is in a message that is sent to others.

use std::path::Path;
use std::process::Command;

use crate::bucket::Volume;
use crate::place::{done, wait_until};
use crate::s3::faults::Refusal;

/// What a server answers with what, and what helps (Amazon S3 API reference, error responses).
const REFUSED: [(Refusal, &str); 7] = [
    (Refusal::All(403, "InvalidAccessKeyId"), "is AWS_ACCESS_KEY_ID of one who may?"),
    (Refusal::All(403, "SignatureDoesNotMatch"), "is AWS_ACCESS_KEY_ID of one who may?"),
    (Refusal::All(400, "ExpiredToken"), "renew your credentials"),
    (Refusal::All(403, "RequestTimeTooSkewed"), "set this machine's clock"),
    (Refusal::All(404, "NoSuchBucket"), "is it the right bucket"),
    (Refusal::All(403, "AccessDenied"), "is AWS_ACCESS_KEY_ID of one who may?"),
    // A bucket that may be read alone.
    (Refusal::Writes(403, "AccessDenied"), "a volume lists, writes, reads and deletes"),
];
const TOKEN: &str = "a token that nobody prints";

/// A command whose key is a temporary one.
fn with_token(volume: &Volume, words: &[&str]) -> Command {
    let mut command = volume.forebay(words);
    command.env("AWS_SESSION_TOKEN", TOKEN);
    command
}

fn mount(volume: &Volume) -> Command {
    let mut command = with_token(volume, &["mount", "--patience", "1 s", "--state"]);
    command.arg(volume.place.all.join("one")).args(["-o", "../out.run", "s3://ours/lab/v"]);
    command.arg(volume.at());
    command
}

/// What may be shown nowhere.
fn secrets(volume: &Volume) -> Vec<String> {
    let settings = volume.server.settings().into_iter();
    let keys = settings.filter(|(name, _)| name.contains("_KEY")).map(|(_, value)| value);
    let keys: Vec<_> = keys.chain([TOKEN.to_owned()]).collect();
    assert_eq!(keys.len(), 3);
    keys
}

#[track_caller]
fn is_silent(volume: &Volume, what: &str, bytes: &[u8]) {
    for secret in secrets(volume) {
        let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_there, "{what} has {secret:?}: {}", String::from_utf8_lossy(bytes));
    }
}

/// No file below a folder has one.
fn are_silent(volume: &Volume, folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            count += are_silent(volume, &entry.path());
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).expect("read");
            is_silent(volume, &entry.path().to_string_lossy(), &bytes);
            count += 1;
        }
    }
    count
}

#[test]
fn what_a_bucket_refuses_is_named_when_it_is_mounted_and_no_key_is() {
    let Some(volume) = Volume::with_fuse() else { return };
    for (refusal, next) in REFUSED {
        volume.server.refuse(Some(refusal));
        let end = done(&mut mount(&volume));
        end.code(125).says("s3://ours/lab/v can't be mounted").says("nothing was mounted");
        let (Refusal::All(_, code) | Refusal::Writes(_, code)) = refusal else { continue };
        end.says(next);
        assert!(end.stderr.contains(code) || code == "NoSuchBucket", "{}", end.stderr);
        is_silent(&volume, "what was said", end.stderr.as_bytes());
        let end = done(&mut with_token(&volume, &["check", "s3://ours/lab/v"]));
        is_silent(&volume, "what a check said", end.stderr.as_bytes());
    }
    volume.server.refuse(None);
    are_silent(&volume, &volume.place.all);
    volume.place.nobody_left();
}

#[test]
fn what_is_refused_while_it_is_mounted_is_told_and_the_files_are_here() {
    let Some(volume) = Volume::with_fuse() else { return };
    done(&mut mount(&volume)).code(0);
    volume.sh(&volume.at(), "echo early > early; head -c 200000 /dev/zero > large");
    volume.server.refuse(Some(Refusal::All(400, "ExpiredToken")));
    volume.sh(&volume.at(), "echo late > late; sync late");
    let doctor = || {
        let end = done(&mut with_token(&volume, &["doctor"]));
        is_silent(&volume, "the doctor", &end.stdout);
        end.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    wait_until("the doctor knows", || doctor().contains("ExpiredToken"));
    let mut unmount = with_token(&volume, &["unmount"]);
    let end = done(unmount.arg(volume.at()));
    end.code(121).says("ExpiredToken").says("one/tree; mounting it again goes on");
    is_silent(&volume, "the end", end.stderr.as_bytes());
    assert!(are_silent(&volume, &volume.place.all) > 5, "state, run, objects");
    volume.server.refuse(None);
    done(&mut mount(&volume)).code(0);
    volume.unmount(&volume.at()).code(0);
    volume.mount("two", &volume.there());
    assert_eq!(
        volume.sh(&volume.there(), "cat early late; stat -c %s large"),
        "early\nlate\n200000\n"
    );
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn a_store_without_conditional_writes_is_refused_and_nothing_is_left_there() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.server.refuse(Some(Refusal::Conditions));
    let end = volume.try_mount("one", &[], &volume.at());
    end.code(125).says("If-None-Match").says("conditional writes").says("nothing was mounted");
    let left = done(Command::new("find").arg(volume.object("")).args(["-type", "f"]));
    assert_eq!(left.text(), "", "what was tried is removed");
    volume.server.refuse(None);
    volume.mount("one", &volume.at());
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}
