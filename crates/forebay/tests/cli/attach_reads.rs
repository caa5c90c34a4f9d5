//! Archives of reads that are attached to a volume. If these fail, an aligner gets other bases than
//! a sequencer wrote, or takes a damaged file for one that ends early.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::process::Command;

use crate::place::{Done, FOREBAY, Place, USER, done};
use crate::reads::reads;

/// A project beside the files that were packed, and their archive.
struct Packed(Place);

impl Packed {
    fn with_fuse() -> Option<Packed> {
        let place = Place::with_fuse()?;
        let all = place.all.clone();
        for mate in ['1', '2'] {
            let text = reads(30_000, mate);
            fs::write(all.join(format!("x_R{mate}.fastq")), text).expect("written");
        }
        let words = ["reads", "pack", "../x_R1.fastq", "../x_R2.fastq", "-o", "../x.reads"];
        done(&mut place.forebay(&words)).code(0);
        Some(Packed(place))
    }

    fn attach(&self, more: &[&str]) -> Done {
        done(&mut self.0.forebay(&[&["attach", ".", "../x.reads"], more].concat()))
    }

    fn run(&self, script: &str) -> Done {
        done(&mut self.0.script(&["--quiet"], script))
    }

    /// Turns a bit in the middle of the bytes that were packed.
    fn damage(&self) {
        let data = self.0.all.join("x.reads/data-00000.fbr");
        let file = fs::File::options().read(true).write(true).open(data).expect("opened");
        let middle = file.metadata().expect("there").len() / 2;
        let mut byte = [0];
        file.read_exact_at(&mut byte, middle).expect("read");
        file.write_all_at(&[byte[0] ^ 4], middle).expect("written");
    }
}

#[test]
fn an_archive_is_shown_as_the_files_that_were_packed() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.attach(&["in/reads"]).code(0).says("shows it");
    let listed = done(&mut packed.0.forebay(&["attach", "."]));
    listed.code(0).says("/x.reads  (reads)\n");
    let end = packed.run("ls in/reads; stat -c '%s %Y %a' in/reads/x_R1.fastq");
    let manifest = fs::metadata(packed.0.all.join("x.reads/manifest.fbr")).expect("there");
    let (time, mode) = (manifest.mtime(), manifest.mode() & 0o444);
    let size = fs::metadata(packed.0.all.join("x_R1.fastq")).expect("there").len();
    let names = "x_R1.fastq\nx_R1.fastq.gz\nx_R2.fastq\nx_R2.fastq.gz\n";
    assert_eq!(end.code(0).text(), format!("{names}{size} {time} {mode:o}\n"));
    let script = "set -e
        cmp in/reads/x_R1.fastq ../x_R1.fastq; cmp in/reads/x_R2.fastq ../x_R2.fastq
        gzip -t in/reads/x_R1.fastq.gz; zcat in/reads/x_R2.fastq.gz | cmp - ../x_R2.fastq
        for at in 0 1 77 300 1021 1500; do
            for how in '' iflag=direct; do
                dd if=in/reads/x_R2.fastq bs=4096 skip=$at count=3 status=none $how > part
                dd if=../x_R2.fastq bs=4096 skip=$at count=3 status=none | cmp - part
            done
        done
        tail -c 1000 in/reads/x_R1.fastq > part; tail -c 1000 ../x_R1.fastq | cmp - part
        cp in/reads/x_R1.fastq.gz copy.gz; zcat copy.gz | cmp - ../x_R1.fastq
        tar -cSf - in/reads/x_R1.fastq | tar -xOf - | cmp - ../x_R1.fastq
        rm part copy.gz";
    // Through the cache of the kernel, and past it.
    for options in [&["--quiet"][..], &["--quiet", "--trace", "every-read"]] {
        let end = done(&mut packed.0.script(options, script));
        assert_eq!((end.code(0).text().as_str(), end.stderr.as_str()), ("", ""), "{options:?}");
    }
    let writes = packed.run(
        "cd in/reads; echo x > new; echo x >> x_R1.fastq; rm x_R1.fastq; mkdir d; mv x_R1.fastq y; \
        chmod 600 x_R1.fastq; :",
    );
    assert_eq!(writes.code(0).stderr.matches("Read-only file system").count(), 6, "{writes:?}");
    // Nothing was staged: neither in the project nor where Forebay keeps what is its own.
    let left = "find . -path ./.forebay -prune -o -print; find ../state -name '*fastq*'";
    assert_eq!(done(packed.0.program("sh").args(["-c", left])).text(), ".\n./in\n./in/reads\n");
    done(&mut packed.0.forebay(&["detach", ".", "in/reads"])).code(0);
    packed.0.nobody_left();
}

#[test]
fn a_mapping_of_an_archives_file_has_its_bytes() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.attach(&["r"]).code(0);
    let script = "import mmap
for options in ('x_R1.fastq', 'x_R2.fastq'):
    with open('r/' + options, 'rb') as file, open('../' + options, 'rb') as packed:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            text = packed.read()
            for at in range(0, len(text) - 100, 99991):
                assert mapped[at:at + 100] == text[at:at + 100], at
            assert mapped[:] == text
";
    fs::write(packed.0.all.join("map.py"), script).expect("written");
    for options in [&["--quiet"][..], &["--quiet", "--trace", "every-read"]] {
        let end = done(&mut packed.0.script(options, "python3 ../map.py"));
        assert_eq!(end.code(0).stderr, "", "{options:?}");
    }
    packed.0.nobody_left();
}

#[test]
fn what_is_read_of_an_archive_is_recorded() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.attach(&["r"]).code(0);
    let options = ["--quiet", "--trace", "every-read"];
    done(&mut packed.0.script(&options, "cat r/x_R1.fastq > /dev/null")).code(0);
    let size = fs::metadata(packed.0.all.join("x_R1.fastq")).expect("there").len();
    let record = packed.0.record();
    let read = "select sum(o.read_bytes) from opens o join files f on f.file = o.file \
        where f.path like '%x_R1.fastq'";
    assert_eq!(record.number(read), size as i64);
    packed.0.nobody_left();
}

#[test]
fn shards_of_an_archive_are_shown_if_so_asked() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.attach(&["r", "--shards", "2"]).code(0);
    let listed = done(&mut packed.0.forebay(&["attach", "."]));
    listed.code(0).says("/x.reads  (reads, 2 shards)\n");
    let script = "ls r | wc -l
        cat r/x_R1.0001-of-0002.fastq r/x_R1.0002-of-0002.fastq | paste - - - - | sort > shards
        paste - - - - < ../x_R1.fastq | sort | cmp - shards
        gzip -t r/x_R2.0002-of-0002.fastq.gz && rm shards";
    let end = packed.run(script);
    assert_eq!((end.code(0).text().trim(), end.stderr.as_str()), ("12", ""));
    packed.0.nobody_left();
}

#[test]
fn an_archive_whose_qualities_are_gone_is_shown_without_them() {
    let Some(packed) = Packed::with_fuse() else { return };
    let place = &packed.0;
    let words = [
        "reads",
        "pack",
        "--objects",
        "apart",
        "../x_R1.fastq",
        "../x_R2.fastq",
        "-o",
        "../y.reads",
    ];
    done(&mut place.forebay(&words)).code(0);
    fs::remove_file(place.all.join("y.reads/qualities-00000.fbr")).expect("removed");
    done(&mut place.forebay(&["attach", ".", "../y.reads", "r"])).code(1).says("qualities-00000");
    done(&mut place.forebay(&["attach", ".", "../y.reads", "r", "--lite"])).code(0);
    done(&mut place.forebay(&["attach", "."])).code(0).says("/y.reads  (reads, lite)\n");
    let script = "cmp r/x_R1.fastq want; gzip -t r/x_R2.fastq.gz
        tail -c 999 r/x_R1.fastq > part; tail -c 999 want | cmp - part; rm part";
    let text = place.all.join("x_R1.fastq");
    let want: String = fs::read_to_string(text)
        .expect("read")
        .lines()
        .enumerate()
        .map(|(nth, line)| match nth % 4 {
            3 => format!("{}\n", "?".repeat(line.len())),
            _ => format!("{line}\n"),
        })
        .collect();
    fs::write(place.project.join("want"), want).expect("written");
    let end = packed.run(script);
    assert_eq!((end.code(0).text().as_str(), end.stderr.as_str()), ("", ""));
    place.nobody_left();
}

#[test]
fn a_damaged_archive_is_an_error_for_its_readers_and_told_at_the_end() {
    let Some(packed) = Packed::with_fuse() else { return };
    packed.attach(&["r"]).code(0);
    packed.damage();
    let end = packed.run("cat r/x_R1.fastq r/x_R2.fastq > got; head -c 100 r/x_R1.fastq > part");
    end.code(0).says("Input/output error").says("could not be read from").says("checksum");
    end.says("x.reads: data-00000.fbr, bytes").says("`forebay reads verify");
    let text = fs::read(packed.0.all.join("x_R1.fastq")).expect("read");
    assert_eq!(packed.0.read("part").as_bytes(), &text[..100], "what is before it is whole");
    packed.0.nobody_left();
}

#[test]
fn an_archive_that_can_not_be_shown_says_why() {
    let Some(packed) = Packed::with_fuse() else { return };
    let place = &packed.0;
    packed.attach(&["r", "--shards", "0"]).code(2).says("a number from 1 to 10000");
    fs::create_dir(place.all.join("plain")).expect("made");
    let plain = done(&mut place.forebay(&["attach", ".", "../plain", "r", "--shards", "2"]));
    plain.code(1).says("it is no archive of reads").says("nothing was attached");
    let (manifest, data) = ("x.reads/manifest.fbr", "x.reads/data-00000.fbr");
    let (manifest, data) = (place.all.join(manifest), place.all.join(data));
    let aside = place.all.join("aside");
    fs::rename(&manifest, &aside).expect("moved");
    let end = packed.attach(&["r"]);
    end.code(1).says("x.reads/manifest.fbr is missing").says("nothing was attached");
    assert!(!place.project.join("r").exists() && !place.project.join(".forebay").exists());
    fs::rename(&aside, &manifest).expect("moved back");
    packed.attach(&["r"]).code(0);
    fs::rename(&data, &aside).expect("moved");
    let end = packed.run("touch was-run");
    end.code(125).says("x.reads, which is attached, can't be shown: data-00000.fbr is missing");
    end.says("`forebay reads verify`").says("nothing was run");
    assert!(!place.project.join("was-run").exists());
    place.nobody_left();
}

#[test]
fn an_ordinary_user_reads_an_attached_archive_if_it_is_theirs_to_read() {
    let Some(place) = Place::with_root() else { return };
    drop(place);
    let Some(packed) = Packed::with_fuse() else { return };
    let place = &packed.0;
    let binary = place.give_to_user();
    let user = USER.to_string();
    let as_user = |words: &[&str]| {
        let mut command = place.program("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]).arg(&binary);
        command.args(words);
        command
    };
    let node = place.all.join("node").display().to_string();
    let prepare =
        format!("rm -f {node}; mknod -m 666 {node} c 10 229; mount --bind {node} /dev/fuse");
    let run = |command: &Command| done(&mut place.apart(&prepare, command));
    run(&as_user(&["attach", ".", "../x.reads", "r"])).code(0);
    let script =
        "umask 077; cmp r/x_R2.fastq ../x_R2.fastq && gzip -t r/x_R1.fastq.gz; touch r/new";
    let words = ["run", "-q", "-o", "../out.run", "--", "sh", "-c", script];
    let end = run(&as_user(&words));
    end.code(1).says("Read-only file system");
    assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
    let data = place.all.join("x.reads/data-00000.fbr");
    fs::set_permissions(data, fs::Permissions::from_mode(0o600)).expect("root's alone");
    let _ = fs::remove_file(&place.run);
    let end = run(&as_user(&words));
    end.says("Input/output error").says("data-00000.fbr: Permission denied");
    place.nobody_left();
}

#[test]
fn a_mount_shows_an_archive_that_lies_in_the_volume_itself() {
    let Some(packed) = Packed::with_fuse() else { return };
    let place = &packed.0;
    fs::rename(place.all.join("x.reads"), place.project.join("x.reads")).expect("moved");
    done(&mut place.forebay(&["attach", ".", "x.reads", "r"])).code(0);
    // Over itself: a path to the archive leads through the mount.
    done(&mut place.forebay(&["mount", "--allow-root", ".", "."])).code(0);
    let cmp = done(place.program("cmp").args(["r/x_R1.fastq", "../x_R1.fastq"]));
    let verify = done(&mut place.forebay(&["reads", "verify", "x.reads"]));
    // From outside: who unmounts must not be in the way.
    let mut unmount = Command::new(FOREBAY);
    done(unmount.arg("unmount").arg(&place.project).current_dir("/")).code(0);
    cmp.code(0);
    verify.code(0);
    place.nobody_left();
}
