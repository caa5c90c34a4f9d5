//! A compared study as lines for people.

use super::Row;
use forebay_model::Study;

pub(super) fn print(study: &Study, rows: &[Row]) {
    println!("{}\n  {}", study.name, study.source);
    println!("  {} parameters were fitted:", study.parameters());
    for fitted in &study.fitted {
        println!("    {} = {}, to {}", fitted.what, fitted.value, fitted.to);
    }
    println!("  {:<34} {:<24} {:>9} {:>10} {:>8}", "", "", "published", "reproduced", "error");
    for row in rows {
        let number = |number: Option<f64>| number.map_or("-".to_owned(), |n| format!("{n:.2}"));
        let error = row.error.map_or("-".to_owned(), |error| format!("{:+.1} %", error * 100.0));
        let missed = if row.holds == Some(false) { "  MISSED" } else { "" };
        println!(
            "  {:<34} {:<24} {:>9} {:>10} {:>8}  {}{missed}",
            row.setting,
            row.what,
            number(row.published),
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
