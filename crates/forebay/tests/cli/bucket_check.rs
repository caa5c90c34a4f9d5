//! `forebay check` of a volume in a bucket. If these fail, damage stays unseen until somebody needs
//! the file, or a repair takes away what somebody needs.

use std::time::Duration;

use forebay_objstore::{BucketClient, PutCondition};

use crate::bucket::Volume;
use crate::place::{Done, PATIENCE, done, finish};
use crate::s3::Server;
use crate::s3::faults::Fault;

const URL: &str = "s3://ours/lab/v";

/// The bucket, as any other client sees it.
fn client(volume: &Volume) -> BucketClient {
    BucketClient::open(URL, volume.server.settings()).expect("a client")
}

fn bytes(objects: &BucketClient, name: &str) -> Vec<u8> {
    let size = objects.object_size(name).expect("asked").expect("it is there");
    objects.get(name, 0..size).expect("read").to_vec()
}

fn names(objects: &BucketClient) -> Vec<String> {
    objects.list_recursive("").expect("listed").into_iter().map(|found| found.name).collect()
}

fn check(volume: &Volume, words: &[&str]) -> Done {
    done(volume.forebay(&["check", URL]).args(words))
}

#[test]
fn a_volume_is_checked_and_damage_has_the_names_of_files() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(
        &volume.at(),
        "mkdir d e; head -c 300000 /dev/urandom > d/large; cp d/large d/other; echo one > d/x
        ln d/x e/linked; echo two > e/y; mv d/other e/moved",
    );
    check(&volume, &[]).says("has it mounted").says("check again");
    let end = check(&volume, &["--repair"]);
    end.code(1).says("can't be repaired").says("unmount it there").says("nothing was removed");
    volume.unmount(&volume.at()).code(0);
    let end = check(&volume, &[]);
    end.code(0).says("own: 2 (").says("small ones: 2 (").says("all are there and whole");
    let objects = client(&volume);
    let (large, before) = (bytes(&objects, "d/large"), names(&objects));

    objects.delete("d/large").expect("removed");
    let end = check(&volume, &[]);
    end.code(1).says("d/large: its bytes are gone: object d/large is missing").says("put the obj");
    assert!(!end.stderr.contains("e/moved"), "{}", end.stderr);
    let mut other = large;
    other[7] ^= 1;
    objects.put("d/large", other.into()).expect("written");
    let end = check(&volume, &[]);
    end.code(1).says("d/large: somebody has written over object d/large: its ETag is another");
    objects.put("d/large", "short".into()).expect("written");
    check(&volume, &[]).code(1).says("it has 5 bytes and not 300000");

    // One byte of a small file that has two names.
    let is_packed = |name: &&String| {
        let whole = bytes(&objects, name);
        name.contains(".forebay/log") && whole.windows(4).any(|four| four == b"one\n")
    };
    let segment = before.iter().find(is_packed).expect("its segment");
    let mut whole = bytes(&objects, segment);
    let at = whole.windows(4).rposition(|four| four == b"one\n").expect("its bytes");
    whole[at] ^= 1;
    objects.put(segment, whole.into()).expect("written");
    let end = check(&volume, &["--repair"]);
    end.code(1).says("d/x: its bytes are gone: they are damaged in .forebay/log/");
    end.says("e/linked: its bytes are gone").says("write the file anew in a mount");
    assert!(!end.stderr.contains("e/y"), "{}", end.stderr);
    assert_eq!(names(&objects), before, "a repair does not make it worse");
    volume.place.nobody_left();
}

#[test]
fn a_repair_sweeps_what_forebay_wrote_and_nothing_else() {
    let Some(volume) = Volume::with_fuse() else { return };
    volume.mount("one", &volume.at());
    volume.sh(&volume.at(), "head -c 300000 /dev/zero > large; echo small > x");
    volume.unmount(&volume.at()).code(0);
    let (objects, tag) = (client(&volume), "0123abcd 99 1700000000.000000000 1700000001.000000001");
    let mut kept = names(&objects);
    objects.put_when("stray", "left over".into(), PutCondition::Always, tag).expect("written");
    objects.put("theirs.txt", "not ours".into()).expect("written");
    kept.push("theirs.txt".to_owned());
    kept.sort();
    let end = check(&volume, &[]);
    end.code(1).says("stray (9 B): Forebay wrote it, and no file has it").says("--repair");
    end.says("theirs.txt (8 B): not of this volume, and left alone");
    let end = check(&volume, &["--repair"]);
    end.code(0).says("removed stray (9 B)").says("all are there and whole");
    assert_eq!(names(&objects), kept);
    check(&volume, &[]).code(0).says("theirs.txt");
    volume.mount("two", &volume.there());
    assert_eq!(volume.sh(&volume.there(), "cat x; stat -c %s large"), "small\n300000\n");
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn what_goes_wrong_on_the_way_is_not_taken_for_damage() {
    for fault in [Fault::Corrupt, Fault::Truncated, Fault::SlowDown] {
        let Some(volume) = Volume::with(|buckets| Server::faulty(buckets, fault, 5)) else {
            return;
        };
        volume.mount("one", &volume.at());
        let script = "for n in $(seq 8); do head -c 200000 /dev/urandom > large$n; done
            for n in $(seq 300); do echo small $n > $n; done";
        volume.sh(&volume.at(), script);
        let mut unmount = volume.forebay(&["unmount"]);
        let unmount = unmount.arg(volume.at()).stderr(std::process::Stdio::piped());
        finish(unmount.spawn().expect("started"), 6 * PATIENCE).code(0);
        for _ in 0..3 {
            let mut check = volume.forebay(&["check", URL, "--repair"]);
            let check = check.stderr(std::process::Stdio::piped()).spawn().expect("started");
            let end = finish(check, 6 * PATIENCE);
            assert!(!end.stderr.contains("gone"), "{fault:?}: {}", end.stderr);
            end.code(0).says("all are there and whole");
        }
    }
}

#[test]
fn what_is_no_volume_is_not_taken_for_a_damaged_one() {
    let place = crate::place::Place::new();
    let buckets = place.all.join("buckets");
    std::fs::create_dir_all(buckets.join("ours")).expect("a bucket");
    let server = Server::start(&buckets, Duration::ZERO);
    let objects = BucketClient::open(URL, server.settings()).expect("a client");
    objects.put("theirs.txt", "not ours".into()).expect("written");
    for (url, why) in [(URL, "no volume is there"), ("s3://nobodys/v", "can't be checked")] {
        for repair in [&[][..], &["--repair"]] {
            let mut command = place.forebay(&["check", url]);
            let end = done(command.args(repair).envs(server.settings()));
            end.code(1).says(why).says("is it the right bucket and prefix");
        }
    }
    assert_eq!(names(&objects), ["theirs.txt"]);
}
