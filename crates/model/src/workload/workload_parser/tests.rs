//! If these fail, a published workload is simulated with other jobs, bytes or barriers than its
//! file says, or a typing error in it ends in a panic.
use super::*;
use crate::workload::{DeletionPoint, FileSetId};

const TWO: &str = r##"
name = "two stages"
stream = "100 MiB/s"
[lengths]
chromosomes = [3, 1]
[files.reads]
path = "in/#.fq"
bytes = "400 MiB"
[files.parts]
path = "parts/#"
bytes = "400 MiB"
per = "sort"
freed = "sort"
[[stage]]
name = "map"
jobs = 4
cores = 1
step = [{ name = "bwa", takes = "12 s", files.reads.read = 1.0, files.parts.write = 1.0 }]
[[stage]]
name = "sort"
after = "map"
jobs = "chromosomes"
cores = 2
memory = "1 GiB"
time = "slowest"
step = [{ name = "sort", compute = "9 s", files.parts = { read = 1.0, ops = { open = 6 } } }]
"##;

#[test]
fn jobs_work_on_their_part_of_each_family() {
    let work = Workload::parse(TWO, "w.toml").expect("a workload");
    assert_eq!(work.tasks.len(), 4 + 1 + 2 + 1);
    // Each map job reads and writes 100 MiB, which takes 2 of its 12 seconds.
    assert!((work.tasks[0].steps[0].compute.get() - 10.0).abs() < 1e-9);
    // The first part is three quarters of the row: three jobs write to it, the last one to the
    // second part.
    let sets: Vec<u32> = (0..4).map(|job| work.tasks[job].steps[0].accesses[1].files.0).collect();
    assert_eq!(sets, [1, 1, 1, 2]);
    assert_eq!(work.files[1].bytes.get(), 300 << 20);
    assert_eq!(work.files[1].until, DeletionPoint::Task(TaskId(7)));
    let sorts = [&work.tasks[5], &work.tasks[6]];
    assert_eq!(sorts.map(|task| task.steps[0].compute), [Seconds(9.0), Seconds(3.0)]);
    assert_eq!(sorts[0].steps[0].accesses[0].files, FileSetId(1));
    assert_eq!(sorts[0].steps[0].accesses[0].read.get(), 300 << 20);
    assert_eq!(sorts[0].after, [TaskId(4)], "a barrier");
}

#[test]
fn flaws_have_a_place_and_a_hint() {
    for (from, to, words) in [
        ("after = \"map\"", "after = \"mpa\"", "w.toml:21:9: there is no stage before this one,"),
        ("files.parts.write", "files.prats.write", "did you mean \"parts\""),
        ("jobs = 4", "jobs = 0", "jobs must be from 1 to"),
        ("\"12 s\"", "12", "takes must be a time in quotes"),
        ("freed = \"sort\"", "freed = \"srot\"", "there is no stage \"srot\""),
        ("jobs = \"chromosomes\"", "jobs = \"chromosome\"", "did you mean \"chromosomes\""),
        ("[3, 1]", "[3, -1]", "chromosomes must be from"),
        ("open = 6", "opne = 6", "did you mean \"open\""),
    ] {
        let text = TWO.replace(from, to);
        let flaw = Workload::parse(&text, "w.toml").expect_err(to).to_string();
        assert!(flaw.contains(words), "{flaw}");
    }
}

#[test]
fn no_text_ends_in_a_panic() {
    // Every piece cut off, and many bytes replaced, from numbers that are the same each time.
    for end in (0..TWO.len()).filter(|end| TWO.is_char_boundary(*end)) {
        let _ = Workload::parse(&TWO[..end], "w.toml");
    }
    let mut seed = 7_u64;
    for _ in 0..3000 {
        let mut text = TWO.as_bytes().to_vec();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize % text.len();
            text[at] = b"0123456789-.\"[]{}=\n #eE"[(seed >> 20) as usize % 23];
        }
        if let Ok(text) = String::from_utf8(text) {
            let _ = Workload::parse(&text, "w.toml");
        }
    }
}
