//! If these fail, Prometheus refuses the figures, or a dashboard shows nothing.

use std::collections::BTreeSet;

use forebay_volume::ipc::{BucketStatus, PeerStatus, SharedStatus};
use forebay_volume::live::{LiveStatus, TierStatus};

use super::families::FamilyKind;
use super::*;
use crate::commands::status::daemon_health::{DaemonStatus, Health};

fn answering() -> LiveStatus {
    LiveStatus {
        at_us: 1_500_000,
        volume: "s3://lab/x".into(),
        written: 7,
        errors: [("EIO".to_owned(), 3)].into(),
        tiers: vec![TierStatus { used: Some(5), free: Some(9), ..TierStatus::default() }],
        bucket: Some(BucketStatus { lag_us: Some(250_000), ..BucketStatus::default() }),
        peers: Some(PeerStatus { away: vec!["n2".into()], ..PeerStatus::default() }),
        shared: Some(SharedStatus { lost: 2, ..SharedStatus::default() }),
        cache: Some(Default::default()),
        ..LiveStatus::default()
    }
}

fn row(point: &str, live: Option<LiveStatus>) -> DaemonStatus {
    DaemonStatus {
        points: vec![point.into()],
        pid: Some(42),
        health: if live.is_some() { Health::Well } else { Health::Lost },
        live: live.map(Box::new),
        log: None,
        why: Vec::new(),
    }
}

fn report(rows: Vec<DaemonStatus>) -> StatusReport {
    StatusReport { rows, newer: Vec::new() }
}

#[test]
fn figures_are_told_with_what_they_are_of() {
    let text = render_metrics(&report(vec![
        row("/a \"b\"\\\n\u{1b}c", Some(answering())),
        row("/gone", None),
    ]));
    let mount = "mount=\"/a \\\"b\\\"\\\\\\n\u{fffd}c\",pid=\"42\"";
    for line in [
        "forebay_mounts 2".to_owned(),
        format!("forebay_up{{{mount}}} 1"),
        "forebay_up{mount=\"/gone\",pid=\"42\"} 0".to_owned(),
        "forebay_well{mount=\"/gone\",pid=\"42\"} 0".to_owned(),
        format!("forebay_uptime_seconds{{{mount}}} 1.5"),
        format!("forebay_errors_total{{{mount},error=\"EIO\"}} 3"),
        format!("forebay_operations_total{{{mount},group=\"syncs\"}} 0"),
        format!("forebay_bucket_lag_seconds{{{mount}}} 0.25"),
        format!("forebay_peers_away{{{mount}}} 1"),
        format!("forebay_shared_lost_changes_total{{{mount}}} 2"),
        "# TYPE forebay_written_bytes_total counter".to_owned(),
    ] {
        assert!(text.lines().any(|there| there == line), "{line}\n{text}");
    }
    // Of one that does not answer nothing else is known.
    assert_eq!(text.matches("/gone").count(), 2, "{text}");
}

#[test]
fn all_is_as_prometheus_reads_it() {
    for report in [report(Vec::new()), report(vec![row("/a", Some(answering()))])] {
        let text = render_metrics(&report);
        assert!(text.starts_with(crate::output::METRICS_BEGIN), "{text}");
        let mut declared = BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert!(declared.insert(rest.split(' ').next().expect("a name")), "twice: {line}");
            } else if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').expect("a value");
                let name = name.split('{').next().expect("a name");
                assert!(declared.contains(name) && value.parse::<f64>().is_ok(), "{line}");
            }
        }
    }
    assert_eq!(render_metrics(&report(Vec::new())).lines().count(), 3, "that nothing is there");
}

#[test]
fn names_say_their_unit_and_the_page_and_the_dashboard_have_them() {
    let page = include_str!("../../../../../docs/administration/metrics.md");
    let dashboard = include_str!("../../../../../packaging/grafana/forebay.json");
    let mut names = BTreeSet::new();
    for family in FAMILIES {
        assert!(names.insert(family.name), "{} is there twice", family.name);
        let is_total = family.name.ends_with("_total");
        assert_eq!(is_total, family.kind == FamilyKind::Counter, "{}", family.name);
        assert!(page.contains(&format!("`{}`", family.name)), "the page lacks {}", family.name);
        assert!(!family.help.contains('\n') && family.help.ends_with('.'));
    }
    let shown: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    assert!(shown["panels"].as_array().is_some_and(|panels| panels.len() > 5));
    for text in [page, dashboard] {
        let plain = |c: char| !(c.is_ascii_lowercase() || c == '_');
        for word in text.split(plain).filter(|word| word.starts_with("forebay_")) {
            assert!(names.contains(word), "there is no figure {word}");
        }
    }
}
