//! What there is to tell of a run, gathered once for all chapters.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use forebay_model::run::{OpRow, TaskRow};
use forebay_model::summary::Summary;
use forebay_model::{DirectoryTree, Header, Prices};

use super::file_lifetimes::{self, FileLifetime};
use crate::exit::CommandError;
use crate::name_escaping::escape_name;
use crate::storages::load_prices;

/// So many tasks, storages and files are told of.
const MOST: usize = 5;

/// What is paid for.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Say what it cost: the machine, by its name in the price sheet, such as ec2.m6i.large
    #[arg(long, value_name = "ITEM")]
    instance: Option<String>,
    /// A price sheet instead of Forebay's own (`forebay manual formats price`)
    #[arg(long, value_name = "FILE", requires = "instance")]
    prices: Option<PathBuf>,
}

/// A run, as chapters need it.
#[derive(Debug)]
pub(super) struct ExplainedRun {
    pub(super) summary: Summary,
    pub(super) header: Header,
    pub(super) trees: Vec<DirectoryTree>,
    pub(super) ops: Vec<OpRow>,
    pub(super) tasks: HashMap<u32, TaskRow>,
    /// Those first for which most bytes were moved.
    pub(super) lives: Vec<FileLifetime>,
    /// How many rows of one kind are told.
    pub(super) most: usize,
    /// The machine that is paid, and the sheet that prices it.
    pub(super) paid: Option<(String, Prices)>,
    /// As it is to be named in what to do next.
    pub(super) path: String,
}

impl ExplainedRun {
    pub(super) fn read_run(
        path: &Path,
        samples: &[PathBuf],
        all: bool,
        options: &Options,
    ) -> Result<ExplainedRun, CommandError> {
        let (run, summary) = crate::commands::summary::summarize_run(path, samples)?;
        let paid = options
            .instance
            .as_ref()
            .map(|item| Ok((item.clone(), load_prices(options.prices.as_deref(), 1)?)));
        let gather = || -> forebay_model::Result<_> {
            let tasks = run.tasks()?.into_iter().map(|task| (task.id, task)).collect();
            Ok((
                run.header()?,
                run.trees()?,
                run.operation_rows()?,
                tasks,
                file_lifetimes::collect_lives(&run)?,
            ))
        };
        let (header, trees, ops, tasks, lives) = gather().map_err(unreadable_run)?;
        Ok(ExplainedRun {
            summary,
            header,
            trees,
            ops,
            tasks,
            lives,
            most: if all { usize::MAX } else { MOST },
            paid: paid.transpose()?,
            path: escape_name(path.as_os_str().as_encoded_bytes()),
        })
    }

    /// What a tree is called: its tier, or its path.
    pub(super) fn tree_name(&self, tree: &DirectoryTree) -> String {
        match &tree.tier {
            Some(tier) => format!("tier {}", escape_name(tier.as_bytes())),
            None => escape_name(&tree.path),
        }
    }

    /// Names of tasks, each once.
    pub(super) fn task_names(&self, tasks: impl IntoIterator<Item = u32>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for task in tasks.into_iter().filter_map(|task| self.tasks.get(&task)) {
            let name = escape_name(task.name.as_bytes());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn unreadable_run(error: forebay_model::Error) -> CommandError {
    CommandError::new(1, error.to_string(), "`forebay run -o FILE -- COMMAND` makes a run file")
}
