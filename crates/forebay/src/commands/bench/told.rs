//! The comparison, for people and as data.

use forebay_plan::compare::{
    Failures, Middle, Ratio, Span, Trend, detectable, failures, middle, outliers, ratio, trend,
};
use serde_json::{Value, json};

use super::Args;
use super::keep::{Header, Run, times};
use super::places::Place;
use super::table::table;

/// What is known of one storage.
pub(super) struct Row<'p> {
    pub(super) place: &'p Place,
    /// Runs that succeeded.
    pub(super) good: usize,
    pub(super) failed: usize,
    /// Of their seconds.
    pub(super) middle: Option<Middle>,
    failures: Option<Failures>,
    /// Beside the first; `None` for the first itself.
    pub(super) ratio: Option<Ratio>,
    trend: Option<Trend>,
    /// Rounds whose time stands far from the others.
    outliers: Vec<usize>,
    /// The smallest difference that so many runs show, as a share.
    detectable: Option<f64>,
}

pub(super) fn tell(args: &Args, header: &Header, places: &[Place], runs: &[Run]) {
    let base = times(runs, &places[0].name);
    let row = |(at, place)| row(args, place, (at > 0).then_some(&base[..]), runs);
    let rows: Vec<Row> = places.iter().enumerate().map(row).collect();
    match (args.json, args.csv, args.markdown) {
        (true, _, _) => println!("{:#}", data(args, header, &rows, runs)),
        (_, true, _) => csv(runs, &rows),
        (_, _, true) => table(args, &rows, ["| ", " | ", " |"]),
        _ => text(args, &rows, base.len()),
    }
}

fn row<'p>(args: &Args, place: &'p Place, base: Option<&[Option<f64>]>, runs: &[Run]) -> Row<'p> {
    let by_round = times(runs, &place.name);
    let rounds = by_round.iter().enumerate().filter_map(|(at, time)| Some((at, (*time)?)));
    let (rounds, seconds): (Vec<usize>, Vec<f64>) = rounds.unzip();
    let tried = runs.iter().filter(|run| run.on == place.name).count();
    let failed = tried - seconds.len();
    let far = outliers(&seconds);
    Row {
        place,
        good: seconds.len(),
        failed,
        middle: middle(&seconds),
        failures: failures(failed as u64, tried as u64),
        ratio: base.and_then(|base| ratio(&by_round, base, args.seed)),
        trend: trend(&seconds),
        outliers: rounds.into_iter().zip(far).filter_map(|(at, far)| far.then_some(at)).collect(),
        detectable: scatter(&seconds).and_then(|cv| detectable(cv, seconds.len())),
    }
}

/// Deviation over mean.
fn scatter(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt() / mean)
}

fn text(args: &Args, rows: &[Row], rounds: usize) {
    let within = args.within * 100.0;
    super::replay::tell(args);
    println!(
        "{rounds} rounds, in an order drawn by lot (seed {}); {}; differences below {within} % do \
         not matter\n",
        args.seed,
        args.cache.told()
    );
    table(args, rows, ["", "  ", ""]);
    println!();
    if rows.iter().any(|row| row.middle.is_some_and(|middle| middle.span.range)) {
        println!("fewer than 6 runs: from the least to the greatest, no interval at 95 %");
    }
    for row in rows {
        let name = &row.place.name;
        if let Some(how) = &row.place.emulated {
            println!("{name}: emulated, {how} on top of {}", row.place.path.display());
        }
        if let (1.., Some(rate)) = (row.failed, row.failures) {
            let [share, low, high] = [rate.share, rate.low, rate.high].map(|part| part * 100.0);
            println!("{name}: {share:.0} % of runs failed ({low:.0} to {high:.0} % at 95 %)");
        }
        if let Some(trend) = row.trend {
            let way = if trend.rising { "rise" } else { "fall" };
            println!(
                "{name}: times {way} over the rounds (p = {:.3}): a cache that fills, perhaps, or credits that end",
                trend.p
            );
        }
        for round in &row.outliers {
            println!("{name}: round {round} stands far from the others, and counts");
        }
        let undecided =
            row.ratio.is_some_and(|ratio| ratio.verdict(args.within).name() == "undecided");
        if let (true, Some(least)) = (undecided, row.detectable) {
            println!(
                "{name}: {} runs that scatter so show differences of {:.1} % and more; --up-to N \
                 goes on until it is decided",
                row.good,
                least * 100.0
            );
        }
    }
}

fn data(args: &Args, header: &Header, rows: &[Row], runs: &[Run]) -> Value {
    let span = |span: Span| json!({ "low": span.low, "high": span.high, "range": span.range });
    let row = |row: &Row| {
        json!({
            "on": row.place.name,
            "emulated": row.place.emulated,
            "runs": row.good,
            "failed": row.failed,
            "median_s": row.middle.map(|middle| middle.median),
            "median_span_s": row.middle.map(|middle| span(middle.span)),
            "failure_rate": row.failures.map(|f| json!({ "share": f.share, "low": f.low, "high": f.high })),
            "ratio": row.ratio.map(|ratio| ratio.ratio),
            "ratio_span": row.ratio.map(|ratio| span(ratio.span)),
            "verdict": row.ratio.map(|ratio| ratio.verdict(args.within).name()),
            "trend": row.trend.map(|trend| json!({ "rising": trend.rising, "p": trend.p })),
            "outlier_rounds": row.outliers,
            "detectable": row.detectable,
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({ "compared": header, "within": args.within, "on": rows, "runs": runs })
}

fn csv(runs: &[Run], rows: &[Row]) {
    println!("round,on,emulated,seconds,user_seconds,system_seconds,exit,signal,timed_out");
    let number = |number: Option<i32>| number.map_or(String::new(), |number| number.to_string());
    for run in runs {
        let place = rows.iter().find(|row| row.place.name == run.on);
        println!(
            "{},{},{},{},{},{},{},{},{}",
            run.round,
            run.on,
            place.is_some_and(|row| row.place.emulated.is_some()),
            run.seconds,
            run.user_seconds,
            run.system_seconds,
            number(run.exit),
            number(run.signal),
            run.timed_out
        );
    }
}
