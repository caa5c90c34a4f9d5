//! A run in which every name was chosen to break what shows it.

use forebay_model::{
    AccessPattern, ByteCount, ClassId, DirectoryTree, Fact, FileId, FileRecord, Header, IoCount,
    Micros, Op, OpCount, OpDelta, OpKey, OpenSession, Process, ProcessId, ReportedTask, RunOrigin,
    TreeId,
};

use super::{ended, header};

/// Names that act where they are not shown literally.
pub(crate) const NAMES: &[&[u8]] = &[
    b"<script>document.title='owned'</script>",
    b"</script><script>document.title='owned'</script>",
    b"<img src=x onerror=\"document.title='owned'\">",
    b"<!-- ]]> --> {{data}} {{js}}",
    b"it's \"quoted\" & `ticked` \\ slashed",
    b"two\nlines\r\n\tand a tab",
    b"\xff\xfe no \xc3( UTF-8 \x80",
    b"\x1b[31mred\x1b[0m \x00 \x07",
    "left \u{202e}gpj.exe right \u{2028} \u{200b}".as_bytes(),
    b"=HYPERLINK(\"http://example.org\",\"look\")",
    b"constructor",
    b"__proto__",
];

/// One task and one file for each name.
pub(crate) fn run() -> (Header, Vec<Fact>) {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let mut header = header(RunOrigin::Imported, &[]);
    header.command = NAMES.iter().map(|name| name.to_vec()).collect();
    header.directory = NAMES[6].to_vec();
    header.host = Some(text(NAMES[1]));
    header.more = vec![(text(NAMES[0]), text(NAMES[5]))];
    let tree = |id: u16, tier: Option<String>| {
        let (path, fs_type) = (NAMES[6].to_vec(), text(NAMES[2]));
        Fact::Tree(DirectoryTree {
            id: TreeId(id),
            path,
            fs_type,
            passthrough: false,
            device: None,
            tier,
        })
    };
    let mut facts = vec![tree(0, None), tree(1, Some(text(NAMES[0])))];
    for (name, number) in NAMES.iter().zip(0_u32..) {
        let (id, class, file) = (ProcessId(number + 1), ClassId(number), FileId(number));
        let (from, to) = (second(number), second(number + 3));
        facts.push(Fact::Class { id: class, pattern: text(name) });
        let home = (number % 2 == 1).then_some(TreeId(1));
        let path = [name, &b"/"[..], name].concat();
        facts.push(Fact::File(FileRecord { id: file, tree: TreeId(0), path, class, home }));
        facts.push(Fact::Process(Process {
            id,
            pid: number + 1,
            parent: None,
            started: from,
            argv: vec![b"sh".to_vec(), b"-c".to_vec(), name.to_vec()],
            exe: Some(name.to_vec()),
            cwd: None,
        }));
        facts.push(Fact::Task(ReportedTask {
            process: id,
            name: text(name),
            engine: text(name),
            key: Some(text(name)),
            started: Some(from),
            ended: Some(to),
            exit_status: Some(i64::from(number % 3)),
            cpu_user: Some(Micros(1_000_000)),
            ..ReportedTask::default()
        }));
        let io = Some(IoCount { bytes: ByteCount(1 << number), calls: 1 });
        facts.push(Fact::Open(OpenSession {
            process: id,
            file,
            write: true,
            created: true,
            opened: from,
            closed: Some(to),
            read: io,
            wrote: io,
            size_at_open: None,
            size_at_close: Some(ByteCount(1 << number)),
            hidden: false,
            copy: None,
        }));
        let key = OpKey::with_bytes(Op::Write, 1 << number, AccessPattern::Random);
        let count = OpCount { count: 3, nanos: 900_000_000, bytes: 1 << number, failed: 1 };
        facts.push(Fact::Ops(OpDelta { process: Some(id), class, tree: TreeId(0), key, count }));
    }
    facts.push(ended(second(NAMES.len() as u32 + 4)));
    (header, facts)
}

fn second(number: u32) -> Micros {
    Micros(u64::from(number) * 1_000_000)
}
