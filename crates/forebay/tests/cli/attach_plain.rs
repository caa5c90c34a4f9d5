//! Files of reads that are attached as plain FASTQ. If these fail, an aligner gets other bases than
//! `gzip -d` would give it, or a file that was changed is read by what was known of another. CRAM is
//! in tests/real, where samtools is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use flate2::{Compression, write::GzEncoder};

use crate::place::{Done, Place, done, skip};
use crate::reads::reads;

/// A project beside two files of reads.
struct Files(Place);

fn pack(path: &Path, text: &[u8]) {
    let mut out = GzEncoder::new(Vec::new(), Compression::new(6));
    out.write_all(text).expect("memory");
    fs::write(path, out.finish().expect("memory")).expect("written");
}

impl Files {
    fn with_fuse() -> Option<Files> {
        let place = Place::with_fuse()?;
        fs::create_dir(place.all.join("data")).expect("made");
        for mate in ['1', '2'] {
            let text = reads(30_000, mate);
            fs::write(place.all.join(format!("x_R{mate}.fastq")), &text).expect("written");
            let packed = place.all.join(format!("data/x_R{mate}.fastq.gz"));
            pack(&packed, text.as_bytes());
            fs::set_permissions(packed, fs::Permissions::from_mode(0o640)).expect("set");
        }
        fs::write(place.all.join("data/notes.txt"), "not reads").expect("written");
        Some(Files(place))
    }

    fn attach(&self, words: &[&str]) -> Done {
        done(&mut self.0.forebay(&[&["attach", "."], words].concat()))
    }

    fn run(&self, script: &str) -> Done {
        done(&mut self.0.script(&["--quiet"], script))
    }
}

#[test]
fn a_gzip_is_shown_as_plain_fastq_without_a_copy() {
    let Some(files) = Files::with_fuse() else { return };
    let told = files.attach(&["../data/x_R1.fastq.gz", "in/plain"]);
    told.code(0).says("in/plain/x_R1.fastq: ").says("shows it");
    files.attach(&[]).code(0).says("/data/x_R1.fastq.gz  (plain FASTQ)\n");
    let packed = fs::metadata(files.0.all.join("data/x_R1.fastq.gz")).expect("there");
    let size = fs::metadata(files.0.all.join("x_R1.fastq")).expect("there").len();
    let end = files.run("ls in/plain; stat -c '%s %Y %a' in/plain/x_R1.fastq");
    let wanted = format!("x_R1.fastq\nx_R1.fastq.gz\n{size} {} 440\n", packed.mtime());
    assert_eq!(end.code(0).text(), wanted);
    let script = "set -e
        cmp in/plain/x_R1.fastq ../x_R1.fastq
        zcat in/plain/x_R1.fastq.gz | cmp - ../x_R1.fastq
        for at in 0 1 77 300 1021 1500; do
            dd if=in/plain/x_R1.fastq bs=4096 skip=$at count=3 status=none > part
            dd if=../x_R1.fastq bs=4096 skip=$at count=3 status=none | cmp - part
        done
        rm part";
    for options in [&["--quiet"][..], &["--quiet", "--trace", "every-read"]] {
        let end = done(&mut files.0.script(options, script));
        assert_eq!((end.code(0).text().as_str(), end.stderr.as_str()), ("", ""), "{options:?}");
    }
    let index = files.0.project.join(".forebay/attached/in%2fplain.fbx");
    let index = fs::metadata(index).expect("an index");
    assert_eq!(index.mode() & 0o777, 0o600);
    assert!(index.len() < size / 100, "an index of {} for {size}", index.len());
    let writes = files.run("cd in/plain; echo x >> x_R1.fastq; rm x_R1.fastq; :");
    assert_eq!(writes.code(0).stderr.matches("Read-only file system").count(), 2, "{writes:?}");
    done(&mut files.0.forebay(&["detach", ".", "in/plain"])).code(0);
    assert!(!files.0.project.join(".forebay/attached").exists(), "an index is left behind");
    files.0.nobody_left();
}

#[test]
fn a_directory_shows_each_of_its_files_of_reads() {
    let Some(files) = Files::with_fuse() else { return };
    std::os::unix::fs::symlink("../data/x_R1.fastq.gz", files.0.all.join("data/same.fq.gz"))
        .expect("a link");
    let two = files.attach(&["../data", "p", "--plain"]);
    // The link has another name, but what is shown goes by the file.
    two.code(1).says("two of the files that it shows are called x_R1.fastq");
    fs::remove_file(files.0.all.join("data/same.fq.gz")).expect("removed");
    files.attach(&["../data", "p", "--plain"]).code(0).says("p/x_R2.fastq: ");
    let script = "ls p; cmp p/x_R1.fastq ../x_R1.fastq; cmp p/x_R2.fastq ../x_R2.fastq";
    let end = files.run(script);
    let names = "x_R1.fastq\nx_R1.fastq.gz\nx_R2.fastq\nx_R2.fastq.gz\n";
    assert_eq!((end.code(0).text().as_str(), end.stderr.as_str()), (names, ""));
    files.0.nobody_left();
}

#[test]
fn a_file_that_was_changed_is_refused_until_it_is_attached_again() {
    let Some(files) = Files::with_fuse() else { return };
    files.attach(&["../data/x_R1.fastq.gz", "p"]).code(0);
    let path = files.0.all.join("data/x_R1.fastq.gz");
    let before = fs::metadata(&path).expect("there").modified().expect("a time");
    pack(&path, b"@a\nA\n+\nF\n");
    files.run("ls p").code(125).says("it had").says("forebay detach").says("nothing was run");
    fs::remove_file(&path).expect("removed");
    files.run("ls p").code(125).says("x_R1.fastq.gz");
    // The same text, only newer: nobody knows that it is the same.
    pack(&path, reads(30_000, '1').as_bytes());
    files.run("ls p").code(125).says("was changed since it was attached");

    done(&mut files.0.forebay(&["detach", ".", "p"])).code(0);
    files.attach(&["../data/x_R1.fastq.gz", "p"]).code(0);
    assert_eq!(files.run("cmp p/x_R1.fastq ../x_R1.fastq").code(0).stderr, "");
    // Damage that keeps size and time is met by whoever reads it.
    let file = fs::File::options().read(true).write(true).open(&path).expect("opened");
    let (time, middle) = (file.metadata().expect("it"), file.metadata().expect("it").len() / 2);
    let mut byte = [0];
    file.read_exact_at(&mut byte, middle).expect("read");
    file.write_all_at(&[byte[0] ^ 4], middle).expect("written");
    file.set_modified(time.modified().expect("a time")).expect("set");
    assert!(time.modified().expect("a time") >= before);
    let end = files.run("cat p/x_R1.fastq > /dev/null; echo $?");
    assert_eq!(end.code(0).text(), "1\n");
    end.says("Input/output error").says("bytes of x_R1.fastq could not be read").says("attach it");
    files.0.nobody_left();
}

#[test]
fn what_can_not_be_attached_as_plain_says_why() {
    let Some(files) = Files::with_fuse() else { return };
    let all = &files.0.all;
    fs::write(all.join("cut.fastq.gz"), {
        let whole = fs::read(all.join("data/x_R1.fastq.gz")).expect("there");
        whole[..whole.len() / 2].to_vec()
    })
    .expect("written");
    fs::create_dir(all.join("empty")).expect("made");
    let cases: [(&[&str], &str); 7] = [
        (&["../cut.fastq.gz", "p"], "cut off"),
        (&["../x_R1.fastq", "p"], "neither gzip nor CRAM"),
        (&["../empty", "p", "--plain"], "it has no file that ends in .fastq.gz"),
        (&["../data/x_R1.fastq.gz", "p", "--shards", "2"], "it is no archive of reads"),
        (&["../data", "p", "--plain", "--lite"], "cannot be used with"),
        (&["../gone.fastq.gz", "p"], "is no directory, and no file of reads"),
        (&["s3://lab/x", "p", "--plain"], "lies in a bucket"),
    ];
    for (words, why) in cases {
        let end = files.attach(words);
        assert!(!end.status.success(), "{words:?}");
        end.says(why);
    }
    files.attach(&[]).code(0);
    assert_eq!(files.attach(&[]).text(), "", "something was attached");
    let index = all.join("project/.forebay/attached");
    assert!(!index.exists() || fs::read_dir(index).expect("it").next().is_none());
}

#[test]
fn what_somebody_else_learned_is_not_believed() {
    let Some(files) = Files::with_fuse() else { return };
    if !rustix::process::geteuid().is_root() {
        skip::<()>("this test needs root");
        return;
    }
    files.attach(&["../data/x_R1.fastq.gz", "p"]).code(0);
    let index = files.0.project.join(".forebay/attached/p.fbx");
    std::os::unix::fs::chown(&index, Some(12345), Some(12345)).expect("given away");
    files.run("ls p").code(125).says("p.fbx").says("forebay detach");
}

#[test]
fn what_a_killed_attach_leaves_is_gone_after_the_next() {
    let Some(files) = Files::with_fuse() else { return };
    let attached = files.0.project.join(".forebay/attached");
    files.attach(&["../data/x_R1.fastq.gz", "p"]).code(0);
    // As the kill found them: of this place and of another; and one that somebody is still writing.
    for name in ["p.fbx.4711", "gone.fbx.4712", "underway.fbx.4713"] {
        fs::copy(attached.join("p.fbx"), attached.join(name)).expect("left");
    }
    let underway = attached.join("underway.fbx.4713");
    let writer = fs::File::options().write(true).open(&underway).expect("opened");
    writer.lock().expect("locked");
    let names = || {
        let entries = fs::read_dir(&attached).expect("it");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("one").file_name()).collect();
        names.sort();
        names
    };
    files.attach(&["../data/x_R2.fastq.gz", "q"]).code(0);
    assert_eq!(names(), ["p.fbx", "q.fbx", "underway.fbx.4713"]);
    drop(writer);
    files.run("cmp p/x_R1.fastq ../x_R1.fastq && cmp q/x_R2.fastq ../x_R2.fastq").code(0);
    done(&mut files.0.forebay(&["detach", ".", "p"])).code(0);
    assert_eq!(names(), ["q.fbx"]);
    done(&mut files.0.forebay(&["detach", ".", "q"])).code(0);
    assert!(!attached.exists(), "something is left behind");
}
