//! What spans say of a run and of its tasks. Each key stands in docs/formats/otlp.md with its unit.
//! What is not known is not said.

use forebay_model::run::ProcessRow;
use forebay_model::summary::{StorageVerdict, Summary, TaskFigures, TimeSplit};
use forebay_model::{ByteCount, CommandExit, Header, Micros};

use super::message::{AnyValue, KeyValue, Status};

/// The run as its span tells it.
#[derive(Debug)]
pub(super) struct RunFacts<'r> {
    pub(super) header: &'r Header,
    pub(super) summary: &'r Summary,
    pub(super) tasks: u64,
    pub(super) process: Option<&'r ProcessRow>,
}

/// A task as its span tells it.
#[derive(Debug)]
pub(super) struct TaskFacts<'r> {
    pub(super) figures: &'r TaskFigures,
    /// Its topmost process.
    pub(super) process: Option<&'r ProcessRow>,
}

/// An attribute, and how it is told.
#[derive(Debug)]
pub(super) struct Attribute<V> {
    pub(super) key: &'static str,
    value: V,
}

type OfRun = fn(&RunFacts<'_>) -> Option<AnyValue>;
type OfTask = fn(&TaskFacts<'_>) -> Option<AnyValue>;

/// Of the run's span.
pub(super) const OF_RUN: &[Attribute<OfRun>] = &[
    Attribute { key: "process.command_args", value: |run| words(&run.header.command) },
    Attribute {
        key: "process.executable.name",
        value: |run| Some(AnyValue::of_bytes(base_name(run.header.command.first()?))),
    },
    Attribute { key: "process.working_directory", value: |run| bytes(&run.header.directory) },
    Attribute { key: "process.user.name", value: |run| text(run.header.user.as_deref()?) },
    Attribute { key: "process.pid", value: |run| number(u64::from(run.process?.pid?)) },
    Attribute { key: "process.exit.code", value: |run| signed(run_exit_code(run.summary)?) },
    Attribute { key: "error.type", value: |run| error_type(run_exit_code(run.summary)) },
    Attribute { key: "forebay.run.origin", value: |run| word_of(&run.header.origin) },
    Attribute {
        key: "forebay.run.complete",
        value: |run| Some(AnyValue::Bool(run.summary.complete)),
    },
    Attribute { key: "forebay.run.tasks", value: |run| number(run.tasks) },
    Attribute {
        key: "forebay.run.verdict",
        value: |run| {
            word_of(
                &run.summary.verdict.as_ref().map(|verdict: &StorageVerdict| verdict.judgement)?,
            )
        },
    },
    Attribute {
        key: "forebay.run.waited_share",
        value: |run| run.summary.waited_share.map(AnyValue::Double),
    },
    Attribute {
        key: "forebay.run.lost_events",
        value: |run| number(run.summary.lost_events).filter(|_| run.summary.lost_events > 0),
    },
    Attribute {
        key: "forebay.run.jobs_not_recorded",
        value: |run| {
            number(run.summary.jobs_not_recorded).filter(|_| run.summary.jobs_not_recorded > 0)
        },
    },
    Attribute {
        key: "forebay.waited_us",
        value: |run| micros(Some(run.summary.waited_us).filter(|_| !run.summary.times_not_seen)),
    },
    Attribute { key: "forebay.cpu_us", value: |run| micros(run.summary.cpu_us) },
    Attribute { key: "forebay.operations", value: |run| number(run_operations(run.summary)) },
    Attribute {
        key: "forebay.outside.at_least_bytes",
        value: |run| amount(run.summary.outside.bytes),
    },
    Attribute { key: "forebay.time.storage_us", value: |run| micros(run.summary.time.storage_us) },
    Attribute {
        key: "forebay.time.computing_us",
        value: |run| micros(run.summary.time.computing_us),
    },
    Attribute {
        key: "forebay.time.cpu_wait_us",
        value: |run| micros(run.summary.time.cpu_wait_us),
    },
    Attribute { key: "forebay.time.elsewhere_us", value: |run| elsewhere(&run.summary.time) },
    Attribute { key: "forebay.time.unknown_us", value: |run| unknown(&run.summary.time) },
];

/// Of a task's span.
pub(super) const OF_TASK: &[Attribute<OfTask>] = &[
    Attribute { key: "process.command_args", value: |task| words(&task.process?.argv) },
    Attribute {
        key: "process.executable.name",
        value: |task| bytes(base_name(task.process?.exe.as_deref()?)),
    },
    Attribute {
        key: "process.executable.path",
        value: |task| bytes(task.process?.exe.as_deref()?),
    },
    Attribute {
        key: "process.working_directory",
        value: |task| bytes(task.process?.cwd.as_deref()?),
    },
    Attribute { key: "process.pid", value: |task| number(u64::from(task.process?.pid?)) },
    Attribute { key: "process.exit.code", value: |task| signed(task.figures.task.exit_status?) },
    Attribute { key: "error.type", value: |task| error_type(task.figures.task.exit_status) },
    Attribute { key: "forebay.task.number", value: |task| number(task.figures.task.id.into()) },
    Attribute { key: "forebay.task.engine", value: |task| text(&task.figures.task.engine) },
    Attribute {
        key: "forebay.task.kind",
        value: |task| text(if task.figures.task.driver { "driver" } else { "task" }),
    },
    Attribute { key: "forebay.task.key", value: |task| text(task.figures.task.key.as_deref()?) },
    Attribute { key: "forebay.task.processes", value: |task| number(task.figures.task.processes) },
    Attribute { key: "forebay.task.cores", value: |task| number(task.figures.task.cores?.into()) },
    Attribute {
        key: "forebay.task.start_seen",
        value: |task| false_unless(task.figures.task.started.is_some()),
    },
    Attribute {
        key: "forebay.task.end_seen",
        value: |task| false_unless(task.figures.task.ended.is_some()),
    },
    Attribute { key: "forebay.waited_us", value: |task| micros(task.figures.task.waited) },
    Attribute {
        key: "forebay.cpu_us",
        value: |task| {
            let (user, system) = (task.figures.task.cpu_user, task.figures.task.cpu_system);
            micros(user.or(system).map(|_| user.unwrap_or_default() + system.unwrap_or_default()))
        },
    },
    Attribute {
        key: "forebay.memory_peak_bytes",
        value: |task| amount(task.figures.task.memory_peak.or(task.figures.task.memory)?),
    },
    Attribute { key: "forebay.files", value: |task| number(task.figures.files) },
    Attribute { key: "forebay.operations", value: |task| number(task.figures.operations) },
    Attribute {
        key: "forebay.failed_operations",
        value: |task| number(task.figures.failed_operations),
    },
    Attribute { key: "forebay.read.seen_bytes", value: |task| amount(task.figures.read.seen?) },
    Attribute {
        key: "forebay.read.at_least_bytes",
        value: |task| amount(task.figures.read.at_least),
    },
    Attribute {
        key: "forebay.read.at_most_bytes",
        value: |task| amount(task.figures.read.at_most?),
    },
    Attribute {
        key: "forebay.written.seen_bytes",
        value: |task| amount(task.figures.written.seen?),
    },
    Attribute {
        key: "forebay.written.at_least_bytes",
        value: |task| amount(task.figures.written.at_least),
    },
    Attribute {
        key: "forebay.written.at_most_bytes",
        value: |task| amount(task.figures.written.at_most?),
    },
    Attribute { key: "forebay.outside.at_least_bytes", value: |task| amount(task.figures.outside) },
    Attribute {
        key: "forebay.time.storage_us",
        value: |task| micros(task.figures.time.storage_us),
    },
    Attribute {
        key: "forebay.time.computing_us",
        value: |task| micros(task.figures.time.computing_us),
    },
    Attribute {
        key: "forebay.time.cpu_wait_us",
        value: |task| micros(task.figures.time.cpu_wait_us),
    },
    Attribute { key: "forebay.time.elsewhere_us", value: |task| elsewhere(&task.figures.time) },
    Attribute { key: "forebay.time.unknown_us", value: |task| unknown(&task.figures.time) },
];

/// What a span says of each tier, after `forebay.tier.NAME.`.
pub(super) const OF_TIER: [&str; 3] = ["read_bytes", "written_bytes", "operations"];

/// What a table says; `tell` gives each of its rows what it tells of.
pub(super) fn attributes_of<V>(
    table: &[Attribute<V>],
    tell: impl Fn(&V) -> Option<AnyValue>,
) -> Vec<KeyValue> {
    let said = table.iter().filter_map(|attribute| {
        let value = tell(&attribute.value)?;
        Some(KeyValue { key: attribute.key.into(), value })
    });
    said.collect()
}

/// The same of a tier: at least so many bytes read and written, and operations.
pub(super) fn tier_attributes(tier: &str, figures: [u64; 3]) -> impl Iterator<Item = KeyValue> {
    OF_TIER.into_iter().zip(figures).map(move |(what, figure)| KeyValue {
        key: format!("forebay.tier.{tier}.{what}").into(),
        value: AnyValue::of_number(figure),
    })
}

/// That a command failed, as OpenTelemetry has it: by an exit status that is not 0.
pub(super) fn failure(exit_code: Option<i64>) -> Option<Status> {
    let code = exit_code.filter(|code| *code != 0)?;
    Some(Status::error(format!("exit status {code}")))
}

/// As a shell counts it: a signal is 128 and its number.
pub(super) fn run_exit_code(summary: &Summary) -> Option<i64> {
    summary.exit.map(|exit| match exit {
        CommandExit::Code(code) => i64::from(code),
        CommandExit::Signal(signal) => 128 + i64::from(signal),
    })
}

fn run_operations(summary: &Summary) -> u64 {
    // Those of nobody, such as write-back, are the run's.
    summary.tiers.iter().map(|tree| tree.operations).sum()
}

fn error_type(exit_code: Option<i64>) -> Option<AnyValue> {
    exit_code.filter(|code| *code != 0).map(|code| AnyValue::Text(code.to_string()))
}

pub(super) fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn number(number: u64) -> Option<AnyValue> {
    Some(AnyValue::of_number(number))
}

fn signed(number: i64) -> Option<AnyValue> {
    Some(AnyValue::Int(number.to_string()))
}

fn micros(time: Option<Micros>) -> Option<AnyValue> {
    time.map(|time| AnyValue::of_number(time.get()))
}

fn amount(bytes: ByteCount) -> Option<AnyValue> {
    Some(AnyValue::of_number(bytes.get()))
}

/// Rests of a time that was not seen say nothing.
fn elsewhere(time: &TimeSplit) -> Option<AnyValue> {
    micros(Some(time.elsewhere_us).filter(|_| time.tasks_us > Micros::ZERO))
}

fn unknown(time: &TimeSplit) -> Option<AnyValue> {
    micros(Some(time.unknown_us).filter(|_| time.tasks_us > Micros::ZERO))
}

fn text(text: &str) -> Option<AnyValue> {
    Some(AnyValue::Text(text.to_owned()))
}

fn bytes(bytes: &[u8]) -> Option<AnyValue> {
    (!bytes.is_empty()).then(|| AnyValue::of_bytes(bytes))
}

fn words(words: &[Vec<u8>]) -> Option<AnyValue> {
    (!words.is_empty()).then(|| AnyValue::of_words(words.iter().map(Vec::as_slice)))
}

fn false_unless(is_so: bool) -> Option<AnyValue> {
    (!is_so).then_some(AnyValue::Bool(false))
}

/// A word of an enumeration as Forebay's JSON has it.
fn word_of(word: &impl serde::Serialize) -> Option<AnyValue> {
    text(serde_json::to_value(word).ok()?.as_str()?)
}

#[cfg(test)]
mod tests {
    //! If these fail, users read numbers whose unit nobody tells them.
    use super::*;

    #[test]
    fn the_page_tells_each_attribute_and_its_unit() {
        let page = include_str!("../../../../../../docs/formats/otlp.md");
        let keys = OF_RUN.iter().map(|one| one.key).chain(OF_TASK.iter().map(|one| one.key));
        for key in keys {
            assert!(page.contains(&format!("`{key}`")), "{key} is not in docs/formats/otlp.md");
        }
        for what in OF_TIER {
            assert!(page.contains(&format!("`forebay.tier.NAME.{what}`")), "{what}");
        }
        for line in page.lines().filter(|line| line.starts_with("| `")) {
            let key = line.split('`').nth(1).expect("a key");
            let known = OF_RUN.iter().any(|one| one.key == key)
                || OF_TASK.iter().any(|one| one.key == key)
                || key.starts_with("forebay.tier.NAME.")
                || ["service.name", "service.version", "host.name", "forebay.node"].contains(&key);
            assert!(known, "docs/formats/otlp.md tells of {key}");
        }
    }

    #[test]
    fn a_key_stands_once_in_a_span() {
        let mut keys: Vec<&str> = OF_TASK.iter().map(|one| one.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), OF_TASK.len());
        let mut keys: Vec<&str> = OF_RUN.iter().map(|one| one.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), OF_RUN.len());
    }

    #[test]
    fn only_an_exit_status_that_is_not_0_is_a_failure() {
        assert!(failure(None).is_none() && failure(Some(0)).is_none());
        let status = failure(Some(3)).expect("it failed");
        let json = serde_json::to_string(&status).expect("plain data");
        assert_eq!(json, r#"{"message":"exit status 3","code":2}"#);
        assert_eq!(error_type(Some(0)), None);
        assert_eq!(error_type(Some(137)), Some(AnyValue::Text("137".into())));
    }
}
