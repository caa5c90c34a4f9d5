//! Figures for Prometheus of a real mount. If these fail, a dashboard is empty, or somebody's file is
//! lost.

use crate::daemon_log::{mount, unmount};
use crate::place::{Place, done};

/// The value of the one line that begins so.
fn value(text: &str, begin: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(begin));
    let line = lines.next()?;
    assert_eq!(lines.next(), None, "{begin} twice in:\n{text}");
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn a_mount_is_told_in_a_file_that_is_replaced_as_a_whole() {
    let Some(place) = Place::with_fuse() else { return };
    let point = mount(&place, &["--emulate", "0ms"], "point");
    std::fs::write(point.join("x"), vec![7; 100_000]).expect("written");
    let file = place.all.join("forebay.prom");
    for _ in 0..2 {
        done(place.forebay(&["metrics", "-o"]).arg(&file).arg(&point)).code(0);
    }
    let text = std::fs::read_to_string(&file).expect("written");
    assert_eq!(value(&text, "forebay_mounts "), Some(1.0), "{text}");
    let label = format!("{{mount=\"{}\",", point.display());
    for figure in ["forebay_up", "forebay_well"] {
        assert_eq!(value(&text, &format!("{figure}{label}")), Some(1.0), "{figure} in:\n{text}");
    }
    let written = value(&text, &format!("forebay_written_bytes_total{label}"));
    assert_eq!(written, Some(100_000.0), "{text}");
    assert!(value(&text, &format!("forebay_filesystem_free_bytes{label}")) > Some(0.0), "{text}");
    std::fs::write(&file, "mine").expect("written");
    let refused = done(place.forebay(&["metrics", "-o"]).arg(&file));
    refused.code(1).says("no figures of Forebay's");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "mine");
    unmount(&place, &point).code(0);
    let text = done(place.forebay(&["metrics"]).arg(&point)).code(0).text();
    assert_eq!(value(&text, "forebay_mounts "), Some(0.0), "{text}");
}
