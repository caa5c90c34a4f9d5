//! A run as spans: one for its command, and below it one for each task.

use std::collections::{BTreeMap, HashMap};

use forebay_model::run::{NodeRow, ProcessRow, RunIdentity};
use forebay_model::summary::{Summary, TaskFigures};
use forebay_model::{Header, Micros, Result, Run};

use super::attributes::{self, OF_RUN, OF_TASK, RunFacts, TaskFacts};
use super::message::{AnyValue, KIND_INTERNAL, KeyValue, Resource, Span, hex};
use super::parents;
use super::request_lines::RequestLines;

/// What viewers list traces by.
const SERVICE: &str = "forebay";

/// All that spans say of a run.
#[derive(Debug)]
pub(super) struct RunTrace {
    identity: RunIdentity,
    header: Header,
    summary: Summary,
    tasks: Vec<TaskFigures>,
    processes: Vec<ProcessRow>,
    nodes: Vec<NodeRow>,
}

impl RunTrace {
    /// Reads it.
    ///
    /// # Errors
    /// Those of the run file.
    pub(super) fn read(run: &Run) -> Result<Self> {
        Ok(Self {
            identity: run.identity()?,
            header: run.header()?,
            summary: Summary::from_run(run)?,
            tasks: TaskFigures::of_run(run)?,
            processes: run.processes()?,
            nodes: run.nodes()?,
        })
    }

    /// Adds its spans, machine by machine, that of the command first.
    pub(super) fn write_spans(&self, lines: &mut RequestLines) {
        let first = parents::first_processes(&self.processes);
        let parents = parents::parent_tasks(&self.processes);
        let machines: Vec<usize> = self.tasks.iter().map(|one| self.machine_of(one)).collect();
        for (place, resource) in self.resources().iter().enumerate() {
            if place == 0 {
                lines.push(resource, &self.run_span());
            }
            let here = self.tasks.iter().zip(&machines).filter(|(_, machine)| **machine == place);
            for (figures, _) in here {
                let facts = TaskFacts { figures, process: first.get(&figures.task.id).copied() };
                lines.push(resource, &self.task_span(&facts, &parents));
            }
        }
    }

    /// The machines; the first is that of the command.
    fn resources(&self) -> Vec<Resource> {
        if self.nodes.is_empty() {
            return vec![self.resource(self.header.host.as_deref(), None)];
        }
        let resource = |node: &NodeRow| self.resource(node.host.as_deref(), Some(&node.name));
        self.nodes.iter().map(resource).collect()
    }

    fn resource(&self, host: Option<&str>, node: Option<&str>) -> Resource {
        let said = [
            ("service.name", Some(SERVICE)),
            ("service.version", Some(&*self.header.forebay)),
            ("host.name", host),
            ("forebay.node", node),
        ];
        let attributes = said.into_iter().filter_map(|(key, value)| {
            let value = AnyValue::Text(value?.to_owned());
            Some(KeyValue { key: key.into(), value })
        });
        Resource { attributes: attributes.collect() }
    }

    /// The place of a task's machine among the resources.
    fn machine_of(&self, figures: &TaskFigures) -> usize {
        let node = figures.task.node.as_deref();
        self.nodes.iter().position(|one| Some(&*one.name) == node).unwrap_or(0)
    }

    fn run_span(&self) -> Span {
        let command = self.processes.iter().find(|one| one.parent.is_none() && !one.stranger);
        let facts = RunFacts {
            header: &self.header,
            summary: &self.summary,
            tasks: self.tasks.iter().filter(|one| !one.task.driver).count() as u64,
            process: command,
        };
        let mut said = attributes::attributes_of(OF_RUN, |tell| tell(&facts));
        // Several directories of a tier are one.
        let mut tiers: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
        for tier in &self.summary.tiers {
            if let Some(name) = &tier.tier {
                let [read, written, operations] = tiers.entry(name).or_default();
                *read += tier.read.at_least.0;
                *written += tier.written.at_least.0;
                *operations += tier.operations;
            }
        }
        for (tier, figures) in tiers {
            said.extend(attributes::tier_attributes(tier, figures));
        }
        let program = self.header.command.first().map(|word| attributes::base_name(word));
        let name = match program {
            Some(program) if !program.is_empty() => String::from_utf8_lossy(program).into_owned(),
            _ => "run".to_owned(),
        };
        Span {
            trace_id: hex(&self.identity.bytes()),
            span_id: self.run_span_id(),
            parent_span_id: None,
            name,
            kind: KIND_INTERNAL,
            start_time_unix_nano: self.unix_nanos(Micros::ZERO),
            end_time_unix_nano: self.unix_nanos(self.summary.wall_us),
            attributes: said,
            status: attributes::failure(attributes::run_exit_code(&self.summary)),
        }
    }

    fn task_span(&self, facts: &TaskFacts<'_>, parents: &HashMap<u32, u32>) -> Span {
        let task = &facts.figures.task;
        let mut said = attributes::attributes_of(OF_TASK, |tell| tell(facts));
        for (tier, used) in &facts.figures.tiers {
            let figures = [used.read.0, used.written.0, used.operations];
            said.extend(attributes::tier_attributes(tier, figures));
        }
        // A span must have both; which of them was not seen is said beside it.
        let from = task.started.or(task.ended).unwrap_or_default();
        let to = task.ended.unwrap_or(self.summary.wall_us).max(from);
        let parent = parents.get(&task.id);
        Span {
            trace_id: hex(&self.identity.bytes()),
            span_id: self.task_span_id(task.id),
            parent_span_id: Some(
                parent.map_or_else(|| self.run_span_id(), |parent| self.task_span_id(*parent)),
            ),
            name: if task.name.is_empty() { "task".to_owned() } else { task.name.clone() },
            kind: KIND_INTERNAL,
            start_time_unix_nano: self.unix_nanos(from),
            end_time_unix_nano: self.unix_nanos(to),
            attributes: said,
            status: attributes::failure(task.exit_status),
        }
    }

    fn run_span_id(&self) -> String {
        hex(&self.identity.part("run", 0))
    }

    fn task_span_id(&self, task: u32) -> String {
        hex(&self.identity.part("task", u64::from(task)))
    }

    fn unix_nanos(&self, time: Micros) -> String {
        (self.header.started_unix + time).0.saturating_mul(1000).to_string()
    }
}
