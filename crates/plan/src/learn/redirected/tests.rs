//! If these fail, a plan takes files for a shell's that programs made, and tasks that wait for them
//! for tasks that wait for nobody.

use super::super::tests::{secs, task};
use super::*;
use forebay_model::run::{OpKind, OpRow, TaskRow};
use forebay_model::{ByteCount, FileRecord, TreeId};

const SHELL: u32 = 100;

/// A shell that starts a `tr` each second, each for a second, and opens a file for each.
fn shell_with(programs: u32, bytes: Option<u64>) -> LoadedRun {
    let mut rows = LoadedRun::default();
    rows.tasks.push(TaskRow { driver: true, ..task(SHELL, "sh", 0.0, 99.0) });
    let shell = ProcessRow { task: Some(SHELL), ..ProcessRow::default() };
    rows.processes.push(shell);
    for number in 0..programs {
        let (at, id) = (f64::from(number), number + 1);
        rows.tasks.push(task(id, "tr", at, at + 1.0));
        rows.processes.push(ProcessRow {
            id: ProcessId(id),
            parent: Some(ProcessId(0)),
            task: Some(id),
            started: Some(secs(at)),
            ended: Some(secs(at + 0.9)),
            ..ProcessRow::default()
        });
        let path = format!("out/{id}").into_bytes();
        let (file, class) = (FileId(number), ClassId(0));
        rows.files.push(FileRecord { id: file, tree: TreeId(0), path, class, home: None });
        let (at, wrote) = (secs(at + 0.1), bytes);
        let open = LoadedOpen {
            task: Some(SHELL),
            file,
            write: true,
            created: true,
            at,
            wrote,
            ..LoadedOpen::default()
        };
        rows.opens.push(open);
    }
    rows
}

fn wrote(rows: &mut LoadedRun, task: u32) {
    rows.ops.push(OpRow {
        task: Some(task),
        tree: TreeId(0),
        class: ClassId(0),
        kind: OpKind::from_names("write".to_owned(), None, None),
        count: 1,
        failed: 0,
        time: Micros::ZERO,
        bytes: ByteCount::ZERO,
    });
}

fn programs(mut rows: LoadedRun) -> Vec<Option<u32>> {
    find_programs(&mut rows);
    rows.opens.iter().map(|open| open.program).collect()
}

#[test]
fn a_file_is_of_the_program_that_is_seen_to_write_it() {
    let mut rows = shell_with(3, Some(5));
    [1, 3].into_iter().for_each(|task| wrote(&mut rows, task));
    assert_eq!(programs(rows), [Some(1), None, Some(3)]);
}

#[test]
fn what_a_shell_writes_itself_is_its_own() {
    let mut rows = shell_with(2, Some(5));
    wrote(&mut rows, SHELL);
    assert_eq!(programs(rows), [None, None]);
    let mut rows = shell_with(2, Some(0));
    wrote(&mut rows, 1);
    assert_eq!(programs(rows), [None, None], "nobody wrote to them");
}

#[test]
fn bytes_that_nobody_saw_are_of_the_only_child_that_lives_then() {
    let mut rows = shell_with(3, None);
    assert_eq!(programs(rows.clone()), [Some(1), Some(2), Some(3)]);
    // The first goes on in the background.
    rows.processes[1].ended = Some(secs(1.5));
    assert_eq!(programs(rows), [Some(1), None, Some(3)]);
}

#[test]
fn shells_within_shells_open_for_programs_too() {
    let mut rows = shell_with(1, Some(5));
    wrote(&mut rows, 1);
    let inner = ProcessId(7);
    let shell = ProcessRow { id: inner, parent: Some(ProcessId(0)), ..rows.processes[0].clone() };
    rows.processes.push(shell);
    rows.processes[1].parent = Some(inner);
    assert_eq!(programs(rows), [Some(1)]);
}
