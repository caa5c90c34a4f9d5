//! A disk that is full below the files of a volume in a bucket. If these fail, bytes are wrong or
//! lost without a word, or the volume can't be mounted again.

use std::process::Command;

use crate::bucket::Volume;
use crate::place::{Done, finish};

/// What the scripts have in common: a small disk of their own for what is kept here, which nobody
/// else sees.
const BEGIN: &str = "mount -t tmpfs -o size=12m tmpfs $STATE
    mount_it() { $FOREBAY mount --state $STATE/s s3://ours/lab/v $AT; }
    kill_it() { kill -9 $(fuser $STATE/s/lock 2> /dev/null); }
    fill() { dd if=/dev/zero of=$1 bs=64k conv=notrunc oflag=append 2> /dev/null && exit 9; true; }
    full() { grep -q 'No space left' $HERE/why || { cat $HERE/why; exit 8; }; }\n";

fn script(volume: &Volume, script: &str) -> Done {
    let place = &volume.place;
    std::fs::create_dir_all(place.all.join("disk")).expect("a folder");
    let mut shell = place.program("unshare");
    shell.args(["-m", "bash", "-euc", &format!("{BEGIN}{script}")]);
    shell.envs(volume.server.settings()).env("FOREBAY", crate::place::FOREBAY);
    shell.env("STATE", place.all.join("disk")).env("AT", volume.there()).env("HERE", &place.all);
    let shell = shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(shell.spawn().expect("started"), 4 * crate::place::PATIENCE)
}

/// A volume with files that are in the bucket alone, and copies beside it.
fn with_files_away() -> Option<Volume> {
    let volume = Volume::with_root()?;
    volume.mount("one", &volume.at());
    let make =
        "for n in 1 2 3; do head -c 4000000 /dev/urandom > large$n; cp large$n ../right$n; done
        head -c 100000 /dev/urandom > small; cp small ../right";
    volume.sh(&volume.at(), make);
    volume.unmount(&volume.at()).code(0);
    Some(volume)
}

#[test]
fn on_a_full_disk_reads_and_writes_fail_and_no_byte_is_wrong() {
    let Some(volume) = with_files_away() else { return };
    let end = script(
        &volume,
        "mount_it; cd $AT; cmp large1 $HERE/right1
        # What somebody has open makes no room.
        exec 3>> filler 4< large1; fill filler
        ! cat large2 > $HERE/got 2> $HERE/why; full; cmp -n $(stat -c %s $HERE/got) $HERE/got $HERE/right2
        ! cat small > $HERE/got 2> $HERE/why; full; cmp -n $(stat -c %s $HERE/got) $HERE/got $HERE/right
        ! dd if=large3 of=$HERE/got bs=4k skip=900 count=1 2> $HERE/why; full
        ! echo more 2> $HERE/why >> large3; test $(stat -c %s large3) = 4000000
        ! (head -c 9000 /dev/zero > new) 2> $HERE/why; full
        cmp large1 $HERE/right1
        exec 3>&- 4<&-; rm filler; cmp large2 $HERE/right2; cmp small $HERE/right; rm large2; cmp large3 $HERE/right3
        cd /; $FOREBAY unmount $AT; cd $HERE
        mount_it; cmp $AT/large1 right1; cmp $AT/large3 right3; $FOREBAY unmount $AT; echo well",
    );
    end.code(0);
    assert_eq!(end.text(), "well\n");
    volume.mount("three", &volume.at());
    let same = "cmp large1 ../right1; cmp large3 ../right3; cmp small ../right; test ! -e large2";
    volume.sh(&volume.at(), same);
    volume.unmount(&volume.at()).code(0);
    volume.place.nobody_left();
}

#[test]
fn what_was_acknowledged_before_a_disk_was_full_is_there_after_a_kill() {
    let Some(volume) = with_files_away() else { return };
    // Files that are new while the disk is full are noted in a journal that can't grow.
    let end = script(
        &volume,
        "mount_it; cd $AT; mkdir d
        for n in $(seq 400); do
            head -c 50000 /dev/urandom > d/$n 2> /dev/null && sync d/$n 2> /dev/null || break
            (cd d; md5sum $n) >> $HERE/acknowledged
        done
        fill filler; for n in $(seq 900); do : > empty$n; done; sleep 2
        kill_it; cd /; $FOREBAY unmount $AT || test $? = 121
        mount -o remount,size=40m $STATE; mount_it; cd $AT/d; md5sum --quiet -c $HERE/acknowledged
        cd ..; rm filler; for n in $(seq 901 1200); do : > empty$n; done; ls | wc -l
        cd /; $FOREBAY unmount $AT
        mount_it; fill $AT/filler; for n in $(seq 1201 2000); do : > $AT/empty$n; done; sleep 2
        rm $AT/filler; $FOREBAY unmount $AT; cp -r $STATE/s $HERE/kept",
    );
    end.code(0);
    assert_eq!(end.text(), "1205\n");
    let acknowledged = std::fs::read_to_string(volume.place.all.join("acknowledged"));
    assert!(acknowledged.expect("some").lines().count() > 100);
    volume.mount("three", &volume.at());
    volume.sh(&volume.at(), "cd d; md5sum --quiet -c ../../acknowledged; test -e ../empty2000");
    volume.unmount(&volume.at()).code(0);
    // Its end was noted though the disk had been full, so another's work is not in its way.
    let mut known = Command::new("python3");
    known.arg("-c").arg(LAST).arg(volume.place.all.join("kept/known"));
    assert_eq!(crate::place::done(&mut known).code(0).text(), "whole, clean 1\n");
    volume.place.nobody_left();
}

/// More files than the disk holds, written one after the other as fast as they can be, and read by
/// a machine that has none of them.
fn more_than_fits(space: &str, files: usize, bytes: usize) {
    let Some(volume) = Volume::with_root() else { return };
    let end = script(
        &volume,
        &format!(
            "mount -o remount,size=64m $STATE
            $FOREBAY mount --state $STATE/s {space} s3://ours/lab/v $AT; cd $AT
            head -c {bytes} /dev/urandom > $HERE/right
            for n in $(seq {files}); do (echo $n; cat $HERE/right) > f$n; done
            mkdir d; mv f1 d; cd /; $FOREBAY unmount $AT; rm -rf $STATE/s
            $FOREBAY mount --state $STATE/s {space} s3://ours/lab/v $AT; cd $AT
            for n in $(seq 2 {files}); do (echo $n; cat $HERE/right) | cmp - f$n; done
            cd /; $FOREBAY unmount $AT; echo well"
        ),
    );
    end.code(0);
    assert_eq!(end.text(), "well\n");
    volume.mount("two", &volume.there());
    let same = format!(
        "mv d/f1 .; for n in $(seq {files}); do (echo $n; cat ../right) | cmp - f$n; done; ls | wc -l"
    );
    assert_eq!(volume.sh(&volume.there(), &same), format!("{}\n", files + 1));
    volume.unmount(&volume.there()).code(0);
    volume.place.nobody_left();
}

#[test]
fn who_writes_or_reads_more_than_the_disk_holds_waits_for_room() {
    more_than_fits("", 120, 1_000_000);
}

#[test]
fn who_writes_or_reads_more_than_the_space_waits_for_room() {
    more_than_fits("--space 24MiB", 20, 6_000_000);
}

/// The last frame of a journal (docs/formats/bucket.md), and whether anything follows.
const LAST: &str = "import sys, zlib
rest, clean = open(sys.argv[1], 'rb').read(), None
while rest:
    length, crc = (int.from_bytes(rest[at:at + 4], 'little') for at in (0, 4))
    frame, rest = rest[8:8 + length], rest[8 + length:]
    assert len(frame) == length and zlib.crc32(frame) == crc, 'half a frame'
    at = next(at for at in range(10) if frame[at] < 128) + 1
    clean = frame[at]
print('whole, clean', clean)";
