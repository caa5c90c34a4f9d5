//! A compared study as lines for people.

use super::StudyRow;
use forebay_model::Study;

pub(super) fn print_study(study: &Study, rows: &[StudyRow]) {
    println!("{}\n  {}", study.name, study.source);
    match study.parameter_count() {
        1 => println!("  1 parameter was fitted:"),
        number => println!("  {number} parameters were fitted:"),
    }
    for fitted in &study.fitted {
        println!("    {} = {}, to {}", fitted.what, fitted.value, fitted.to);
    }
    // Settings that are divided by another one are long.
    let wide = rows.iter().map(|row| row.setting.len()).fold(34, usize::max);
    println!("  {:<wide$} {:<24} {:>9} {:>10} {:>8}", "", "", "published", "reproduced", "error");
    for row in rows {
        let number = |number: Option<f64>| number.map_or("-".to_owned(), |n| format!("{n:.2}"));
        let error = row.error.map_or("-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        let missed = if row.holds == Some(false) { "  MISSED" } else { "" };
        let ours = if row.ours.is_some() { ", counted by us" } else { "" };
        println!(
            "  {:<wide$} {:<24} {:>9} {:>10} {:>8}  {}{ours}{missed}",
            row.setting,
            row.what,
            row.should.clone().unwrap_or_else(|| number(row.published.or(row.ours))),
            number(row.reproduced),
            error,
            row.role
        );
        if let Some(note) = &row.note {
            println!("    {note}");
        }
    }
    for odd in &study.odd {
        println!("  the source contradicts itself: {odd}");
    }
    for left in &study.not_reproduced {
        println!("  not reproduced: {left}");
    }
    println!();
}
