//! A sequencing pipeline on eight slots: reads are mapped, sorted by way of pieces on a fast tier,
//! indexed, and called.

use forebay_model::{
    AccessPattern, ByteCount, ClassId, CpuSample, DeviceSample, DirectoryTree, Fact, FileId,
    FileRecord, Header, IoCount, MachineSample, MemorySample, Micros, Op, OpCount, OpDelta, OpKey,
    OpenSession, PressureSample, Process, ProcessCounters, ProcessId, ReportedTask, RunOrigin,
    TreeId,
};

use super::{ended, header};

const SLOTS: usize = 8;
/// Bytes of the genome.
const REFERENCE: u64 = 90 << 20;
const CLASSES: [&str; 7] = [
    "reads/#.fastq",
    "ref/genome.fa",
    "work/map/#.sam",
    "work/tmp/#.tmp",
    "work/sort/#.bam",
    "work/sort/#.bam.bai",
    "results/#.vcf",
];
/// What a task is called, how long it takes, and how many ten-thousandths of it it waits.
const KINDS: [(&str, u64, u64); 4] = [
    ("bwa mem", 30_000_000, 1_500),
    ("samtools sort", 20_000_000, 5_500),
    ("samtools index", 3_000_000, 3_000),
    ("bcftools call", 12_000_000, 800),
];

/// One that was measured, with so many tasks.
pub(crate) fn measured(tasks: u32) -> (Header, Vec<Fact>) {
    let mut made = Made::new(RunOrigin::Measured, tasks);
    made.facts.push(process(1, None, Micros::ZERO, "snakemake --cores 8"));
    (0..tasks).for_each(|task| made.task(task));
    let end = Micros(made.ends() + 400_000);
    made.facts.push(Fact::ProcessEnded { id: ProcessId(1), at: end });
    made.samples(end);
    made.facts.push(ended(end));
    (made.header, made.facts)
}

/// The same as a simulation would tell it: a bit faster, with nothing sampled.
pub(crate) fn simulated(tasks: u32) -> (Header, Vec<Fact>) {
    let mut made = Made::new(RunOrigin::Simulated, tasks);
    made.header.started_unix = Micros::ZERO;
    (0..tasks).for_each(|task| made.task(task));
    made.facts.push(ended(Micros(made.ends())));
    (made.header, made.facts)
}

/// What was sampled on a server, from ten seconds before the measured run on, for two minutes.
pub(crate) fn filer() -> (Header, Vec<Fact>) {
    let mut made = Made::new(RunOrigin::Measured, 0);
    made.facts.clear();
    made.header.host = Some("filer".to_owned());
    made.header.started_unix = Micros(made.header.started_unix.0 - 10_000_000);
    made.header.more = vec![("sampled_every_s".to_owned(), "1".to_owned())];
    let end = Micros::from_secs(120);
    made.samples(end);
    made.facts.push(ended(end));
    (made.header, made.facts)
}

struct Made {
    header: Header,
    facts: Vec<Fact>,
    free: [u64; SLOTS],
    dice: u64,
    files: u32,
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn process(id: u32, parent: Option<u32>, started: Micros, command: &str) -> Fact {
    Fact::Process(Process {
        id: ProcessId(id),
        pid: 1_000 + id,
        parent: parent.map(ProcessId),
        started,
        argv: command.split(' ').map(bytes).collect(),
        exe: None,
        cwd: Some(bytes("/data/project")),
    })
}

impl Made {
    fn new(origin: RunOrigin, tasks: u32) -> Self {
        let mut header = header(origin, &["snakemake", "--cores", "8"]);
        header.memory = Some(ByteCount(32 << 30));
        header.more = vec![
            ("tasks".to_owned(), tasks.to_string()),
            ("capacity_bytes.fast".to_owned(), (4_u64 << 30).to_string()),
        ];
        let tree = |id: u16, path: &str, fs: &str, tier: Option<&str>| {
            let (fs_type, tier) = (fs.to_owned(), tier.map(str::to_owned));
            let id = TreeId(id);
            Fact::Tree(DirectoryTree {
                id,
                path: bytes(path),
                fs_type,
                passthrough: false,
                device: None,
                tier,
            })
        };
        let mut facts = vec![
            tree(0, "/data/project", "nfs4", None),
            tree(1, "/nvme/forebay", "ext4", Some("fast")),
        ];
        let classes = CLASSES.iter().zip(0..);
        facts.extend(
            classes.map(|(pattern, id)| Fact::Class {
                id: ClassId(id),
                pattern: (*pattern).to_owned(),
            }),
        );
        let mut made = Self { header, facts, free: [0; SLOTS], dice: 7, files: 0 };
        made.file("ref/genome.fa", 1, None);
        made
    }

    /// From 0 to below `below`: the same row of numbers each time.
    fn dice(&mut self, below: u64) -> u64 {
        let next = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.dice = next;
        (next >> 33) % below
    }

    fn ends(&self) -> u64 {
        self.free.iter().copied().max().unwrap_or(0)
    }

    fn file(&mut self, path: &str, class: u32, home: Option<u16>) -> FileId {
        let id = FileId(self.files);
        self.files += 1;
        let (class, home) = (ClassId(class), home.map(TreeId));
        self.facts.push(Fact::File(FileRecord {
            id,
            tree: TreeId(0),
            path: bytes(path),
            class,
            home,
        }));
        id
    }

    fn task(&mut self, number: u32) {
        let (kind, sample) = (number as usize % KINDS.len(), number / KINDS.len() as u32);
        let (name, typical, waits) = KINDS[kind];
        let slot = (0..SLOTS).min_by_key(|slot| self.free[*slot]).expect("eight of them");
        let predicted = self.header.origin == RunOrigin::Simulated;
        let scatter = if predicted { 90 } else { 75 + self.dice(50) };
        let lasts = typical * scatter / 100;
        let from = self.free[slot] + 20_000 + self.dice(50_000);
        let (from, to) = (Micros(from), Micros(from + lasts));
        self.free[slot] = to.0;
        let id = ProcessId(number + 2);
        let waited = lasts * waits / 10_000;
        if predicted {
            self.facts.push(Fact::Task(ReportedTask {
                process: id,
                name: name.to_owned(),
                engine: "simulated".to_owned(),
                key: Some(format!("sample={sample}")),
                started: Some(from),
                ended: Some(to),
                exit_status: Some(0),
                cpu_user: Some(Micros(lasts - waited)),
                waited: Some(Micros(waited)),
                cores: Some(1),
                ..ReportedTask::default()
            }));
        } else {
            let command = format!("{name} -@ 1 -o work/{sample}.out sample-{sample:05}");
            self.facts.push(process(id.0, Some(1), from, &command));
            self.facts.push(Fact::ProcessCounters(ProcessCounters {
                id,
                at: to,
                user: Micros((lasts - waited) * 9 / 10),
                system: Micros(lasts / 50),
                children_user: Micros::ZERO,
                children_system: Micros::ZERO,
                io: None,
            }));
            self.facts.push(Fact::ProcessEnded { id, at: to });
        }
        self.files_of(kind, sample, id, (from, to), waited);
    }

    fn files_of(
        &mut self,
        kind: usize,
        sample: u32,
        id: ProcessId,
        at: (Micros, Micros),
        waited: u64,
    ) {
        let mib = |n: u64| n << 20;
        match kind {
            0 => {
                let reads = self.file(&format!("reads/{sample:05}.fastq"), 0, None);
                let size = mib(40 + self.dice(30));
                self.read(id, reads, at, size, waited / 4);
                self.read(id, FileId(0), at, REFERENCE, waited / 4);
                let sam = self.file(&format!("work/map/{sample:05}.sam"), 2, None);
                let size = mib(60 + self.dice(40));
                self.write(id, sam, 2, at, size, waited / 2);
            }
            1 => {
                let half = (at.0, Micros(at.0.0.midpoint(at.1.0)));
                for piece in 0..3 {
                    let path = format!("work/tmp/{sample:05}.{piece:04}.tmp");
                    let tmp = self.file(&path, 3, Some(1));
                    let large = if piece == 0 { mib(200) } else { 0 };
                    let size = large + 800 + self.dice(90_000);
                    self.write(id, tmp, 3, half, size, waited / 6);
                    self.facts.push(Fact::Gone { id: tmp, at: at.1 });
                }
                let bam = self.file(&format!("work/sort/{sample:05}.bam"), 4, None);
                let size = mib(15 + self.dice(10));
                self.write(id, bam, 4, at, size, waited / 2);
            }
            2 => {
                let bai = self.file(&format!("work/sort/{sample:05}.bam.bai"), 5, None);
                let size = 20_000 + self.dice(30_000);
                self.write(id, bai, 5, at, size, waited);
            }
            _ => {
                self.read(id, FileId(0), at, mib(5), waited / 2);
                let vcf = self.file(&format!("results/{sample:05}.vcf"), 6, None);
                let size = mib(1) + self.dice(mib(1));
                self.write(id, vcf, 6, at, size, waited / 2);
            }
        }
    }

    fn read(&mut self, id: ProcessId, file: FileId, at: (Micros, Micros), size: u64, waited: u64) {
        let class = ClassId(u32::from(file == FileId(0)));
        let read = Some(IoCount { bytes: ByteCount(size), calls: size.div_ceil(128 << 10) });
        let whole = if file == FileId(0) { REFERENCE } else { size };
        self.open(OpenSession { read, ..open(id, file, at, Some(whole)) });
        let key = OpKey::with_bytes(Op::Read, 128 << 10, AccessPattern::Sequential);
        self.ops(id, class, 0, key, size.div_ceil(128 << 10), waited, size);
        self.ops(id, class, 0, OpKey::without_bytes(Op::Open), 1, 300, 0);
    }

    fn write(
        &mut self,
        id: ProcessId,
        file: FileId,
        class: u32,
        at: (Micros, Micros),
        size: u64,
        waited: u64,
    ) {
        let tree = u16::from(class == 3);
        let wrote = Some(IoCount { bytes: ByteCount(size), calls: size.div_ceil(64 << 10) });
        let read = Some(IoCount::default());
        self.open(OpenSession {
            read,
            wrote,
            write: true,
            created: true,
            ..open(id, file, at, Some(size))
        });
        let key = OpKey::with_bytes(Op::Write, size.min(64 << 10), AccessPattern::Sequential);
        let class = ClassId(class);
        self.ops(id, class, tree, key, size.div_ceil(64 << 10), waited * 8 / 10, size);
        self.ops(id, class, tree, OpKey::without_bytes(Op::Create), 1, waited / 10, 0);
        self.ops(id, class, tree, OpKey::without_bytes(Op::LookupFailed), 4, waited / 10, 0);
    }

    fn open(&mut self, open: OpenSession) {
        let mut open = open;
        if self.header.origin == RunOrigin::Simulated {
            (open.size_at_open, open.size_at_close) = (None, None);
        }
        self.facts.push(Fact::Open(open));
    }

    #[allow(clippy::too_many_arguments)] // One row of numbers.
    fn ops(
        &mut self,
        id: ProcessId,
        class: ClassId,
        tree: u16,
        key: OpKey,
        count: u64,
        us: u64,
        bytes: u64,
    ) {
        // A simulation tells how long tasks wait, and not for which operations.
        if self.header.origin == RunOrigin::Measured {
            let count = OpCount { count, nanos: us * 1_000, bytes, failed: 0 };
            let (process, tree) = (Some(id), TreeId(tree));
            self.facts.push(Fact::Ops(OpDelta { process, class, tree, key, count }));
        }
    }

    /// At most 5,000 looks at the machine.
    fn samples(&mut self, end: Micros) {
        let every = (end.0 / 5_000).max(1_000_000);
        for nth in 1..=end.0 / every {
            let all = every * SLOTS as u64;
            let part = |share: u64| Micros(all * share / 100);
            let (user, iowait) = (55 + self.dice(20), 10 + self.dice(12));
            let rate = 30 << 20;
            let disk = DeviceSample {
                name: "nvme0n1".to_owned(),
                read: ByteCount(self.dice(rate) * every / 1_000_000),
                written: ByteCount(self.dice(rate) * every / 1_000_000),
                reads: self.dice(900),
                writes: self.dice(900),
                busy: Micros(every * self.dice(90) / 100),
            };
            let memory = MemorySample {
                total: ByteCount(32 << 30),
                available: ByteCount((20 << 30) + self.dice(4 << 30)),
                dirty: ByteCount(self.dice(1 << 29)),
                writeback: ByteCount(self.dice(1 << 25)),
                cached: ByteCount(9 << 30),
            };
            self.facts.push(Fact::Sample(MachineSample {
                at: Micros(nth * every),
                cpu: CpuSample {
                    user: part(user),
                    system: part(5),
                    iowait: part(iowait),
                    idle: part(95 - user - iowait),
                    steal: Micros::ZERO,
                },
                memory,
                devices: vec![disk],
                networks: Vec::new(),
                pressure: Some(PressureSample {
                    some: Micros(every * iowait / 40),
                    full: Micros(every * iowait / 90),
                }),
            }));
        }
    }
}

fn open(process: ProcessId, file: FileId, at: (Micros, Micros), size: Option<u64>) -> OpenSession {
    OpenSession {
        process,
        file,
        write: false,
        created: false,
        opened: at.0,
        closed: Some(at.1),
        read: None,
        wrote: None,
        size_at_open: None,
        size_at_close: size.map(ByteCount),
        hidden: false,
        copy: None,
    }
}
