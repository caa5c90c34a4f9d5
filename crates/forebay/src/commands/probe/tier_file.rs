//! The tier file: a profile as a site file has it, with the interval of each number behind it.

use forebay_model::{AccessPattern, Op, OpGroup, Reach, StorageProfile};
use forebay_plan::calibrate::{Calibration, LimitKind, ProfileParameter};
use forebay_plan::compare::UncertaintyInterval;

use super::probe_report::{self, ProbeReport};
use crate::output::{UNSEALED, seal_text};

/// The text.
pub(super) fn tier_file_text(probe: &ProbeReport, fitted: &Calibration) -> String {
    let ProbeReport { dir, fs_type, date, .. } = probe;
    let about = format!("probe of {} ({fs_type}) on {date}", dir.display());
    let mut lines = vec![format!("# Made by `forebay probe`; {UNSEALED}")];
    lines.extend([format!("about = {}", toml_string(&about)), reach_line(probe), String::new()]);
    lines.push(
        "# Behind each number is its interval at 95 %; a range is of fewer than 6 rounds.".into(),
    );
    for why in probe_report::list_missing_numbers(probe, fitted) {
        lines.push(format!("# {why}."));
    }
    lines.push("[profile]".into());
    lines.push(format!("source = {}", toml_string(&fitted.profile.source)));
    lines.extend(rates_line("read", fitted, (Op::Read, LimitKind::Read)));
    lines.extend(rates_line("write", fitted, (Op::Write, LimitKind::Write)));
    if let Some(rate) = probe.unsynced_rate() {
        lines.push(format!("# writes without fsync, into memory: {}", format_rate(rate)));
    }
    let profile = &fitted.profile;
    for (key, value, limited) in [
        ("names_per_second", profile.names_per_second, LimitKind::Names),
        ("data_per_second", profile.data_per_second, LimitKind::Data),
    ] {
        let span = fitted.spans.get(&ProfileParameter::Limit(limited));
        lines.extend(value.map(|value| {
            format!("{key} = {}{}", three_digits(value), interval_comment(span, three_digits))
        }));
    }
    if probe.reach == Reach::World {
        lines.push("keeps_written = false".to_owned());
    }
    lines.extend(fitted.at_once.map(|threads| format!("at_once = {threads}")));
    lines.push(String::new());
    lines.push("[profile.latency]".into());
    lines.extend(latency_lines(profile, fitted));
    lines.push(format!("# Not measured, and free here: {}.", unmeasured_operations(fitted)));
    seal_text(lines.join("\n") + "\n")
}

fn reach_line(probe: &ProbeReport) -> String {
    match (probe.reach, probe.fs_type.as_str()) {
        (Reach::Node, _) => "reach = \"node\"".to_owned(),
        (Reach::World, _) => "reach = \"world\"  # limits as one machine sees them".to_owned(),
        (_, "fuse") => "reach = \"shared\"  # \"node\" if no other machine sees it".to_owned(),
        _ => "reach = \"shared\"  # limits as one machine sees them".to_owned(),
    }
}

fn rates_line(key: &str, fitted: &Calibration, (op, limited): (Op, LimitKind)) -> Option<String> {
    let lane = if op == Op::Read { fitted.profile.read } else { fitted.profile.write };
    let (stream, limit) = (ProfileParameter::Stream(op), ProfileParameter::Limit(limited));
    let rates =
        [("stream", lane.stream, stream), ("node", lane.node, limit), ("total", lane.total, limit)];
    let (mut values, mut spans) = (Vec::new(), Vec::new());
    for (name, rate, number) in rates {
        let Some(rate) = rate else { continue };
        values.push(format!("{name} = \"{}\"", format_rate(rate.get())));
        if let Some(span) = fitted.spans.get(&number) {
            spans.push(format!("{name} {}", format_interval(span, format_rate)));
        }
    }
    let text = format!("{key} = {{ {} }}  # {}", values.join(", "), spans.join("; "));
    (!values.is_empty()).then_some(text)
}

fn latency_lines(profile: &StorageProfile, fitted: &Calibration) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, span) in &fitted.spans {
        let ProfileParameter::Price(op, pattern) = *number else { continue };
        let random = if pattern == AccessPattern::Random { "_random" } else { "" };
        let price =
            profile.operation_latency(forebay_model::OpKey::with_bytes(op, 0, pattern)).get();
        let key = format!("{}{random}", op.name());
        lines.push(format!(
            "{key} = \"{}\"{}",
            format_time(price),
            interval_comment(Some(span), format_time)
        ));
    }
    lines
}

/// Kinds of operation that no figure is about, as a list.
fn unmeasured_operations(fitted: &Calibration) -> String {
    let has = |op: Op| {
        let both = [AccessPattern::Sequential, AccessPattern::Random];
        both.into_iter()
            .any(|pattern| fitted.spans.contains_key(&ProfileParameter::Price(op, pattern)))
    };
    // Who closes a file does not wait for its release.
    let asked = |op: &&Op| **op != Op::Close && !has(**op);
    let names = |group| Op::ALL.iter().filter(asked).filter(move |op| op.group() == group);
    let all = names(OpGroup::Data).chain(names(OpGroup::Sync)).chain(names(OpGroup::Metadata));
    all.map(|op| op.name()).collect::<Vec<_>>().join(", ")
}

fn interval_comment(span: Option<&UncertaintyInterval>, shown: impl Fn(f64) -> String) -> String {
    span.map(|span| format!("  # {}", format_interval(span, shown))).unwrap_or_default()
}

fn format_interval(span: &UncertaintyInterval, shown: impl Fn(f64) -> String) -> String {
    let word = if span.range { "range " } else { "" };
    let high = if span.high.is_finite() { shown(span.high) } else { "any".to_owned() };
    format!("{word}{} to {high}", shown(span.low))
}

/// Three digits: more was not measured.
pub(super) fn three_digits(value: f64) -> String {
    let size = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    let step = 10_f64.powi(size - 2);
    let rounded = (value / step).round() * step;
    let text = format!("{rounded:.*}", (2 - size).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A time that a profile reads.
fn format_time(seconds: f64) -> String {
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
    if seconds < 1e-9 {
        return "0 s".to_owned();
    }
    let (unit, factor) = units.into_iter().find(|(_, f)| seconds >= *f).unwrap_or(("ns", 1e-9));
    format!("{} {unit}", three_digits(seconds / factor))
}

/// A rate that a profile reads.
fn format_rate(rate: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let large = units.into_iter().find(|(_, power)| rate >= f64::from(1 << power));
    match large {
        Some((unit, power)) => format!("{} {unit}/s", three_digits(rate / f64::from(1 << power))),
        None => format!("{} B/s", rate.round().max(1.0)),
    }
}

/// A text as TOML has it.
fn toml_string(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests;
