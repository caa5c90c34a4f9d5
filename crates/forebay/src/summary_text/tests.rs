//! If these fail, the first thing that everybody reads of Forebay is crooked, wrong or harmful.

use super::*;
use forebay_model::ByteCount;
use forebay_model::summary::*;

fn exact(bytes: u64) -> ByteBounds {
    let bytes = ByteCount(bytes);
    ByteBounds { seen: Some(bytes), at_least: bytes, at_most: None }
}

fn hidden(at_least: u64, at_most: Option<u64>) -> ByteBounds {
    ByteBounds { seen: None, at_least: ByteCount(at_least), at_most: at_most.map(ByteCount) }
}

fn task(name: &str, count: u64, wall_s: f64, read: ByteBounds, written: ByteBounds) -> TaskSummary {
    TaskSummary {
        name: name.into(),
        engine: "processes".into(),
        count,
        wall_us: Some(Micros((wall_s * 1e6) as u64)),
        cpu_us: Some(Micros((wall_s * 0.9e6) as u64)),
        waited_us: Some(Micros((wall_s * 0.1e6) as u64)),
        read,
        written,
        files: 12,
        operations: 48_211,
        ..TaskSummary::default()
    }
}

fn summary() -> Summary {
    let mut drivers = vec![
        task("snakemake", 1, 0.0, exact(14 << 20), exact(52_000)),
        task("bash", 28, 0.0, exact(0), exact(0)),
    ];
    drivers.iter_mut().for_each(|d| d.driver = true);
    let mut tasks = vec![
        task("map", 6, 725.0, exact(13_500_000), hidden(300 << 20, Some(310 << 20))),
        task("markdup", 2, 61.2, hidden(0, Some(3 << 30)), exact(20 << 20)),
        task("call", 6, 0.35, hidden(0, None), exact(1023)),
    ];
    tasks[2].cpu_us = None;
    tasks.extend(drivers);
    Summary {
        command: "snakemake --cores 8".split(' ').map(String::from).collect(),
        wall_us: Micros::from_secs(402),
        exit: Some(CommandExit::Code(0)),
        complete: true,
        tasks,
        tiers: vec![TierSummary {
            path: "/data/project".into(),
            fs_type: "ext4".into(),
            read: hidden(14 << 20, None),
            written: exact(320 << 20),
            files: 171,
            operations: 58_904,
            time_us: Micros(78_600_000),
            ..TierSummary::default()
        }],
        waited_us: Micros(78_600_000),
        waited_share: Some(0.1),
        verdict: Some(StorageVerdict {
            judgement: StorageJudgement::Part,
            sentence: "Storage takes its part of this run: its 14 tasks waited for it in 10 % of \
                       their time."
                .into(),
        }),
        hidden: true,
        classes: vec![ClassSummary {
            pattern: "map/#.sam".into(),
            files: 6,
            operations: 3302,
            time_us: Micros(40_000_000),
            mostly: "write".into(),
        }],
        files: vec![FileSummary {
            path: "reference/chromosomes/some/where/deep/down/in/the/tree/reference.fa".into(),
            opens: 12,
            tasks: 6,
            size: Some(ByteCount(3 << 30)),
            read: exact(18 << 30),
            written: exact(0),
        }],
        costliest: Some(OpSummary {
            op: "write".into(),
            size_class: Some("4K".into()),
            pattern: Some("sequential".into()),
            group: None,
            count: 3302,
            time_us: Micros(40_000_000),
            share: 0.51,
        }),
        advice: Some(Advice {
            rule: "small_writes".into(),
            saves_us: None,
            sentence: "`map/#.sam` is written in 3,302 pieces of at most 4 KiB (12.9 MiB in \
                16.0 s): a larger output buffer, or a pipe through `dd obs=1M`, saves about 7.5 s."
                .into(),
        }),
        ..Summary::default()
    }
}

#[test]
fn eighty_columns() {
    let expected = "\
snakemake --cores 8                                    6 min 42 s, exit status 0

task                         count    wall     cpu  waited       read    written
map                              6  12m05s  10m53s   1m13s   12.9 MiB   ≥300 MiB
markdup                          2   1m01s   55.1s    6.1s   ≤3.0 GiB   20.0 MiB
call                             6   350ms       -    35ms          -     1023 B
(snakemake, bash)               29               0       0   14.0 MiB   50.8 KiB

storage                           files        ops    time       read    written
/data/project (ext4)                171     58,904   1m19s  ≥14.0 MiB    320 MiB

most time                                       files        ops    time  mostly
map/#.sam                                           6      3,302   40.0s   write

most bytes                         opens   tasks      size       read    written
…/down/in/the/tree/reference.fa       12       6   3.0 GiB   18.0 GiB          0
- not seen   ≥ at least   ≤ at most, pipes included

Storage takes its part of this run: its 14 tasks waited for it in 10 % of their
time. Of the time in operations 51 % was 3,302 sequential writes of up to 4 KiB.
Next: `map/#.sam` is written in 3,302 pieces of at most 4 KiB (12.9 MiB in
      16.0 s): a larger output buffer, or a pipe through `dd obs=1M`, saves
      about 7.5 s.
";
    let text = render_summary(&summary(), 80, false);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_hundred_columns_have_room_for_files_and_operations() {
    let text = render_summary(&summary(), 200, false);
    let rows: Vec<&str> = text.lines().skip(2).take(2).collect();
    assert_eq!(
        rows,
        [
            "task                         count    wall     cpu  waited       read    written    \
             files        ops",
            "map                              6  12m05s  10m53s   1m13s   12.9 MiB   ≥300 MiB       \
             12     48,211",
        ]
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut s = summary();
    s.command = vec!["python".into(), "x".repeat(300)];
    s.tasks[0].name = "a very long name of a task ".repeat(9);
    for width in [60, 72, 80, 91, 92, 100] {
        let text = render_summary(&s, width, false);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        // The narrowest keep a little of every name.
        assert!(widest <= width.max(68), "{widest} > {width}\n{text}");
    }
}

#[test]
fn colours_change_no_letter() {
    let (plain, mut bright) =
        (render_summary(&summary(), 80, false), render_summary(&summary(), 80, true));
    assert!(!plain.contains('\x1b'));
    for code in ["0", "1", "2", "31", "33", "36"] {
        bright = bright.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(bright, plain);
}

#[test]
fn names_cannot_command_the_terminal() {
    let mut s = summary();
    s.files[0].path = "a\x1b[2J\r\nb".into();
    s.command = vec!["\x07x".into()];
    s.tasks[0].name = "\x1b]0;t\x07".into();
    let text = render_summary(&s, 80, false);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

#[test]
fn trouble_is_told_before_advice() {
    let mut s = summary();
    (s.exit, s.complete) = (Some(CommandExit::Signal(9)), false);
    s.not_seen = vec![UnseenProgram { program: "sbatch".into(), count: 28 }];
    s.outside = OutsideSummary {
        bytes: ByteCount(3 << 30),
        share: Some(0.6),
        directories: vec![OutsideDirectory { path: "/data/ref/hg38".into(), ..Default::default() }],
        moves: Some(2),
        moves_all: Some(9),
        at: Some("/data/ref".into()),
    };
    (s.cpu_us, s.cpu_unattributed_us) = (Some(Micros::from_secs(100)), Some(Micros::from_secs(20)));
    s.advice = None;
    let text = render_summary(&s, 80, false);
    assert!(text.starts_with("snakemake --cores 8"), "{text}");
    assert!(text.contains("ended by signal 9\nThis run is not complete"), "{text}");
    let end = text.split("writes of up to 4 KiB.\n").nth(1).expect("the end");
    assert_eq!(
        end,
        "20 % of the 1 min 40 s of CPU time belongs to no task that was seen.\n\
         Not seen: 60 % of the bytes (at least 3.0 GiB) moved outside, in /data/ref/hg38;\n          \
         add `--at /data/ref`; 2 of 9 mv, ln and cp crossed the edge.\n\
         Not seen: what was handed over by sbatch (28).\n"
    );
}

#[test]
fn many_kinds_of_tasks_are_cut_and_an_empty_run_is_short() {
    let mut s = summary();
    s.tasks = (0..40).map(|i| task(&format!("t{i}"), 1, 1.0, exact(1), exact(1))).collect();
    let text = render_summary(&s, 80, false);
    assert!(text.contains("\n(29 more kinds) "), "{text}");
    assert_eq!(
        render_summary(&Summary::default(), 80, false),
        "run                                                            0 s, end not seen\n\
         This run is not complete: what happened after the last record is missing.\n\n"
    );
}

#[test]
fn times_fit_six_columns() {
    for us in [0, 1, 999, 1_000, 9_949, 999_499, 59_949_999, 3_599_499_999, 86_400_000_000] {
        assert!(cells::short_time(Micros(us)).chars().count() <= 6, "{us}");
    }
    assert_eq!(cells::short_time(Micros(3_599_600_000)), "1h00m");
    assert_eq!(cells::short_time(Micros(400 * 3_600_000_000)), "400h");
}
