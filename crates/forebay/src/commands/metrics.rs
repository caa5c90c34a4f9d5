//! `forebay metrics`: figures of all runs and mounts of this user, as Prometheus reads them.

mod families;

use std::path::PathBuf;

use crate::commands::status::daemon_health::{StatusReport, find_daemons};
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::{console, daemon_logs};
use families::FAMILIES;

/// Options of `forebay metrics`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay metrics                   all runs and mounts of yours\n  \
    forebay metrics /mnt/project      one of them\n  \
    forebay metrics -o /var/lib/node_exporter/forebay.prom\n\n\
    With -o the file is replaced as a whole, and may be read at any time: node_exporter's textfile \
    collector takes it, and a timer of systemd writes it anew (docs/administration/metrics.md). \
    Nothing listens on the network.\n\n\
    Exit codes: 0, also if nothing is mounted; 1 the file can't be written, or daemons can't be \
    looked for.")]
pub(crate) struct Args {
    /// A directory that is managed or mounted; without it, all of yours
    #[arg(value_name = "MOUNT")]
    mount: Option<PathBuf>,
    /// Write them into this file, instead of printing them
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let place = args.output.as_deref();
    let place =
        place.map(|path| OutputTarget::claim(path, OutputKind::Metrics, args.force)).transpose()?;
    let at = args.mount.as_deref().map(daemon_logs::absolute_place);
    let found = find_daemons(at.as_deref()).map_err(|error| {
        let what = format!("looking for daemons: {error}");
        CommandError::new(1, what, "is /proc mounted? `forebay doctor` says")
    })?;
    let text = render_metrics(&found);
    match place {
        Some(place) => place.write(text.as_bytes())?,
        None => console::print(&text),
    }
    Ok(0)
}

/// All figures, in the text format of Prometheus.
fn render_metrics(found: &StatusReport) -> String {
    let mut text = String::new();
    for family in FAMILIES {
        let samples: Vec<String> = (family.samples)(found)
            .into_iter()
            .map(|sample| {
                let labels: Vec<String> = sample
                    .labels
                    .iter()
                    .map(|(name, value)| format!("{name}=\"{}\"", escaped_label(value)))
                    .collect();
                let labels = match labels.is_empty() {
                    true => String::new(),
                    false => format!("{{{}}}", labels.join(",")),
                };
                format!("{}{labels} {}\n", family.name, sample.value)
            })
            .collect();
        if !samples.is_empty() {
            let (name, kind, help) = (family.name, family.kind.word(), family.help);
            text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
            text.extend(samples);
        }
    }
    text
}

/// A label's value between quotes.
fn escaped_label(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            // Nobody's terminal is to act on a name.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
