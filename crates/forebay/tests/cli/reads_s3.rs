//! Archives of reads in a bucket. If these fail, an aligner gets other bases than a sequencer wrote,
//! reads of two archives as one, or a thousand requests are paid where ten would do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::place::{Done, PATIENCE, Place, done, finish, wait_until};
use crate::reads::reads;
use crate::s3::Server;
use crate::s3::faults::Fault;

const URL: &str = "s3://lab/x.reads";

/// A project, the files that were packed, and their archive in a bucket.
struct Stored {
    place: Place,
    buckets: PathBuf,
    server: Server,
}

impl Stored {
    fn over(place: Place, server: impl FnOnce(&std::path::Path) -> Server) -> Stored {
        let buckets = place.all.join("buckets");
        std::fs::create_dir_all(buckets.join("lab")).expect("a bucket");
        let server = server(&buckets);
        let stored = Stored { place, buckets, server };
        stored.pack(30_000, &[]);
        stored
    }

    fn new() -> Stored {
        Stored::over(Place::new(), |buckets| Server::start(buckets, Duration::ZERO))
    }

    fn with_fuse() -> Option<Stored> {
        let place = Place::with_fuse()?;
        Some(Stored::over(place, |buckets| Server::start(buckets, Duration::ZERO)))
    }

    fn faulty(fault: Fault) -> Stored {
        Stored::over(Place::new(), |buckets| Server::faulty(buckets, fault, 7))
    }

    /// Packs pairs, and brings the archive as any client would: each file an object.
    fn pack(&self, count: u64, options: &[&str]) {
        let all = &self.place.all;
        for mate in ['1', '2'] {
            std::fs::write(all.join(format!("x_R{mate}.fastq")), reads(count, mate))
                .expect("written");
        }
        let _ = std::fs::remove_dir_all(self.archive());
        let to = self.archive().display().to_string();
        let words = ["reads", "pack", "-q", "../x_R1.fastq", "../x_R2.fastq", "-o", &to];
        done(&mut self.place.forebay(&[&words[..], options].concat())).code(0);
    }

    fn archive(&self) -> PathBuf {
        self.buckets.join("lab/x.reads")
    }

    fn text(&self, mate: char) -> Vec<u8> {
        std::fs::read(self.place.all.join(format!("x_R{mate}.fastq"))).expect("packed")
    }

    fn forebay(&self, words: &[&str]) -> Command {
        let mut command = self.place.forebay(words);
        command.envs(self.server.settings());
        command
    }

    fn script(&self, script: &str) -> Command {
        let mut command = self.place.script(&["--quiet"], script);
        command.envs(self.server.settings());
        command
    }

    fn run(&self, script: &str) -> Done {
        done(&mut self.script(script))
    }

    /// Requests of each kind, and bytes that objects give.
    fn requests(&self, run: impl FnOnce()) -> (BTreeMap<&'static str, u64>, u64) {
        let before = self.server.tally();
        run();
        let (mut kinds, mut sent) = (BTreeMap::new(), 0);
        for (kind, now) in self.server.tally() {
            let old = before.get(kind).copied().unwrap_or_default();
            if now.requests > old.requests {
                kinds.insert(kind, now.requests - old.requests);
            }
            sent += if kind == "GET" { now.sent - old.sent } else { 0 };
        }
        (kinds, sent)
    }

    fn size(&self) -> u64 {
        let objects = std::fs::read_dir(self.archive()).expect("there").flatten();
        objects.map(|object| object.metadata().expect("there").len()).sum()
    }
}

#[test]
fn an_archive_in_a_bucket_is_read_by_few_requests_and_each_byte_once() {
    let stored = Stored::new();
    let mut end = None;
    let (kinds, sent) = stored.requests(|| {
        end = Some(done(&mut stored.forebay(&["reads", "cat", URL, "--mate", "1"])));
    });
    let end = end.expect("it ran");
    assert!(end.code(0).stdout == stored.text('1'), "{}", end.stderr);
    // One listing; manifest, index, and stretches of bases, names and qualities.
    assert_eq!(kinds.get("LIST"), Some(&1));
    assert!(kinds["GET"] <= 8 && kinds.len() == 2, "{kinds:?}");
    assert!(sent <= stored.size() + (64 << 10), "{sent} of {}", stored.size());
    let (kinds, sent) = stored.requests(|| {
        let end = done(&mut stored.forebay(&["reads", "verify", &format!("{URL}/")]));
        end.code(0).says("is whole");
    });
    assert!(kinds["GET"] <= 12 && sent <= stored.size() + (64 << 10), "{kinds:?} {sent}");
    let name = ["--file", "x_R2.fastq"];
    let end = done(&mut stored.forebay(&[&["reads", "cat", URL], &name[..]].concat()));
    assert!(end.code(0).stdout == stored.text('2'));
    // A read by its number: its group alone.
    let (kinds, _) = stored.requests(|| {
        let words = ["reads", "cat", URL, "--mate", "2", "--spots", "17"];
        let end = done(&mut stored.forebay(&words));
        let text = stored.text('2');
        let lines = text.split_inclusive(|byte| *byte == b'\n').skip(64).take(4);
        assert!(end.code(0).stdout == lines.collect::<Vec<_>>().concat());
    });
    assert!(kinds["GET"] <= 6, "{kinds:?}");
    let info = done(&mut stored.forebay(&["reads", "info", URL]));
    info.code(0).says("");
    assert!(info.text().starts_with("30,000 pairs of reads"), "{}", info.text());
}

#[test]
fn whatever_goes_wrong_on_the_way_the_reads_are_those_that_were_packed() {
    for fault in [Fault::Internal, Fault::SlowDown, Fault::ResetBefore, Fault::Truncated] {
        let stored = Stored::faulty(fault);
        for _ in 0..4 {
            let end = done(&mut stored.forebay(&["reads", "cat", URL, "--mate", "2"]));
            assert!(end.code(0).stdout == stored.text('2'), "{fault:?}: {}", end.stderr);
        }
    }
    // A byte that changes on its way is asked for again, one that is damaged is told.
    let stored = Stored::faulty(Fault::Corrupt);
    for _ in 0..8 {
        let end = done(&mut stored.forebay(&["reads", "cat", URL, "--mate", "1"]));
        assert!(end.code(0).stdout == stored.text('1'), "{}", end.stderr);
    }
    let stored = Stored::new();
    let data = stored.archive().join("data-00000.fbr");
    let mut bytes = std::fs::read(&data).expect("data");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&data, bytes).expect("written");
    let end = done(&mut stored.forebay(&["reads", "verify", URL]));
    end.code(1).says("data-00000.fbr, bytes").says("is damaged");
}

#[test]
fn who_wants_no_qualities_fetches_none_and_needs_none() {
    let stored = Stored::new();
    for layout in ["together", "apart", "each"] {
        stored.pack(30_000, &["--objects", layout]);
        let cat = |words: &[&str]| {
            let mut out = Vec::new();
            let (_, sent) = stored.requests(|| {
                let end = done(&mut stored.forebay(&[&["reads", "cat", URL], words].concat()));
                out = end.code(0).stdout.clone();
            });
            (out, sent as f64 / stored.size() as f64)
        };
        let (whole, all) = cat(&[]);
        assert!(whole.len() == stored.text('1').len() * 2 && all < 1.1, "{layout}: {all}");
        let text = String::from_utf8(stored.text('1')).expect("text");
        let (bases, part) = cat(&["--mate", "1", "--form", "bases"]);
        let lines: String =
            text.lines().skip(1).step_by(4).map(|line| format!("{line}\n")).collect();
        assert!(bases == lines.as_bytes());
        // Of letters at random two bits a base, with N, are more than half of what qualities take.
        assert!(part < 0.6, "{layout}: {part}");
        let (lite, part) = cat(&["--lite", "--mate", "2", "--form", "tab"]);
        let lite = String::from_utf8(lite).expect("text");
        assert!(lite.lines().all(|line| line.ends_with(&format!("\t{}", "?".repeat(75)))));
        assert!(part < 0.7, "{layout}: {part}");
    }
    // The qualities went elsewhere: as in SRA Lite, all else is there.
    stored.pack(30_000, &["--objects", "apart"]);
    std::fs::remove_file(stored.archive().join("qualities-00000.fbr")).expect("an object");
    let words = ["reads", "cat", URL, "--form", "fasta"];
    assert_eq!(done(&mut stored.forebay(&words)).code(0).text().lines().count(), 120_000);
    let end = done(&mut stored.forebay(&["reads", "cat", URL]));
    end.code(1).says("qualities-00000.fbr is missing").says("--lite");
    done(&mut stored.forebay(&["reads", "verify", URL])).code(1).says("qualities-00000.fbr");
}

#[test]
fn an_archive_in_a_bucket_is_shown_as_files_and_nothing_is_staged() {
    let Some(stored) = Stored::with_fuse() else { return };
    let attach = ["attach", ".", "s3://lab/x.reads/", "in/r", "--shards", "2"];
    done(&mut stored.forebay(&attach)).code(0).says("shows it");
    let listed = done(&mut stored.forebay(&["attach", "."]));
    listed.code(0).says("in/r  s3://lab/x.reads  (reads, 2 shards)\n");
    let script = "set -e
        cmp in/r/x_R1.fastq ../x_R1.fastq; cmp in/r/x_R2.fastq ../x_R2.fastq
        gzip -dc in/r/x_R1.fastq.gz | cmp - ../x_R1.fastq
        cat in/r/x_R2.000?-of-0002.fastq | sort | cksum > a; sort ../x_R2.fastq | cksum | cmp - a
        paste in/r/x_R1.fastq in/r/x_R2.fastq | cksum > a
        paste ../x_R1.fastq ../x_R2.fastq | cksum | cmp - a; rm a";
    let end = stored.run(script);
    assert_eq!((end.code(0).text().as_str(), end.stderr.as_str()), ("", ""));
    let time = std::fs::metadata(stored.archive().join("manifest.fbr")).expect("there");
    let time = std::os::unix::fs::MetadataExt::mtime(&time);
    let end = stored.run("stat -c %Y in/r/x_R1.fastq; touch in/r/new");
    assert_eq!(end.text(), format!("{time}\n"));
    end.code(1).says("Read-only file system");
    // Two mates at once fetch each byte once or so.
    let (_, sent) = stored.requests(|| {
        stored.run("paste in/r/x_R1.fastq in/r/x_R2.fastq > /dev/null").code(0);
    });
    assert!(sent <= 2 * stored.size(), "{sent} of {}", stored.size());
    let left = "find . -path ./.forebay -prune -o -print; find ../state -name '*fastq*'";
    let left = done(stored.place.program("sh").args(["-c", left]));
    assert_eq!(left.text(), ".\n./in\n./in/r\n");
    stored.place.nobody_left();
}

#[test]
fn four_kilobytes_at_random_cost_a_group_and_the_index_is_fetched_once() {
    let Some(stored) = Stored::with_fuse() else { return };
    done(&mut stored.forebay(&["attach", ".", URL, "r"])).code(0);
    let one = |skip: u32| {
        let dd = "bs=4096 count=1 iflag=direct status=none";
        format!("dd if=r/x_R1.fastq {dd} skip={skip} | cmp - part{skip};")
    };
    let text = stored.text('1');
    for skip in [300, 900, 1100] {
        let part = &text[skip * 4096..][..4096];
        std::fs::write(stored.place.project.join(format!("part{skip}")), part).expect("written");
    }
    let (kinds, first) = stored.requests(|| {
        stored.run(&one(300)).code(0);
    });
    // Listing and manifest, then two round trips: a page of the index; bases, names and qualities.
    assert_eq!(kinds.get("LIST"), Some(&1), "{kinds:?}");
    assert!(kinds["GET"] <= 5, "{kinds:?}");
    let mates = stored.size() * 4 / 5;
    assert!(first < mates && first < 1 << 20, "{first} of {}", stored.size());
    let (more, _) = stored.requests(|| {
        stored.run(&[one(300), one(900), one(1100)].concat()).code(0);
    });
    assert!(more["GET"] <= kinds["GET"] + 2 * 3, "{more:?} after {kinds:?}");
    stored.place.nobody_left();
}

#[test]
fn an_archive_that_is_replaced_under_its_reader_is_told() {
    let Some(stored) = Stored::with_fuse() else { return };
    done(&mut stored.forebay(&["attach", ".", URL, "r"])).code(0);
    let script = "dd if=r/x_R1.fastq bs=4096 count=1 status=none | cksum; : > ready
        while [ ! -e go ]; do sleep 0.01; done; cat r/x_R2.fastq > rest";
    let mut command = stored.script(script);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("started");
    let ready = stored.place.project.join("ready");
    wait_until("the first block is read", || ready.exists());
    stored.pack(29_000, &[]);
    std::fs::write(stored.place.project.join("go"), "").expect("written");
    let end = finish(child, PATIENCE);
    // This server's listings don't tell states of objects: the first answers did.
    end.code(1).says("cat: r/x_R2.fastq: Stale file handle");
    assert_eq!(stored.place.read("rest"), "", "no byte of another archive");
    stored.run("cmp r/x_R2.fastq ../x_R2.fastq").code(0);
    stored.place.nobody_left();
}

#[test]
fn what_of_a_bucket_can_not_be_read_says_why_and_nobodys_secret() {
    let Some(stored) = Stored::with_fuse() else { return };
    let refused = |command: &mut Command, code: i32, why: &str| {
        let end = done(command.env("AWS_SECRET_ACCESS_KEY", "hush"));
        end.code(code).says(why);
        assert!(!end.stderr.contains("hush") && end.stdout.is_empty(), "{}", end.stderr);
    };
    refused(&mut stored.forebay(&["reads", "cat", URL]), 1, "attaching lists and reads");
    refused(&mut stored.forebay(&["attach", ".", URL, "r"]), 1, "nothing was attached");
    done(&mut stored.forebay(&["attach", ".", URL, "r"])).code(0);
    refused(&mut stored.script("touch was-run"), 125, "nothing was run");
    assert!(!stored.place.project.join("was-run").exists());
    let none = done(&mut stored.forebay(&["reads", "cat", "s3://lab/none.reads"]));
    none.code(1).says("manifest.fbr is missing");
    let none = done(&mut stored.forebay(&["reads", "info", "s3://nobody/x.reads"]));
    none.code(1).says("NoSuchBucket");
    std::fs::write(stored.buckets.join("lab/plain"), "an object").expect("written");
    let shards = ["attach", ".", "s3://lab", "all", "--shards", "2"];
    done(&mut stored.forebay(&shards)).code(1).says("it is no archive of reads");
    std::fs::remove_file(stored.archive().join("data-00000.fbr")).expect("removed");
    let end = stored.run("touch was-run");
    end.code(125).says("x.reads, which is attached, can't be shown: data-00000.fbr is missing");
    std::fs::remove_file(stored.archive().join("manifest.fbr")).expect("removed");
    let end = done(&mut stored.forebay(&["attach", ".", URL, "again"]));
    end.code(1).says("manifest.fbr is missing").says("nothing was attached");
    stored.place.nobody_left();
}
