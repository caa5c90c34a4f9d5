//! What people should know of a comparison, around its tables.

use forebay_model::ByteCount;
use forebay_plan::compare::ComparisonVerdict;

use super::compared_storages::ComparedStorage;
use super::scale::Scale;
use super::storage_row::{StorageRow, group_by_storage, saturation_size};
use super::{Args, RecordRuns};

/// How it was done.
pub(super) fn print_header(args: &Args, rounds: usize) {
    let served = match args.record {
        RecordRuns::Yes => "served and recorded by Forebay",
        RecordRuns::No => "not recorded",
    };
    super::replayed_run::print_replay_note(args);
    println!(
        "{rounds} rounds, in an order drawn by lot (seed {}); {}; {served}; differences below {} % \
         do not matter\n",
        args.seed,
        args.cache.in_words(),
        args.within * 100.0
    );
}

/// Bytes that met no storage that is compared.
pub(super) fn outside_note(row: &StorageRow<'_>) -> Option<String> {
    let (outside, _) = row.outside.as_ref().filter(|(_, matters)| *matters)?;
    let known = |before: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("{before}{}", names.join(", ")),
    };
    Some(format!(
        "{}: at least {} of a run went outside its directory{}{}, to storage that is not compared",
        row.place.name,
        ByteCount(outside.bytes),
        known(" by ", &outside.programs),
        known(" to ", &outside.directories)
    ))
}

/// From where more at once get no more done.
fn print_saturation(rows: &[StorageRow<'_>]) {
    for group in group_by_storage(rows) {
        let name = group[0].place.storage_name();
        match saturation_size(group) {
            Some(Scale { nodes, jobs, .. }) => println!(
                "{name}: more than {nodes} nodes with {jobs} jobs each get hardly more done"
            ),
            None if group.iter().filter(|row| row.done.is_some()).count() > 1 => {
                println!("{name}: the most at once still got more done than fewer");
            }
            None => {}
        }
    }
}

/// What a storage is.
fn print_storage_setup(place: &ComparedStorage, first: &ComparedStorage) {
    let name = place.storage_name();
    if let Some(how) = &place.emulated {
        println!("{name}: emulated, {how} on top of {}", place.path.display());
        for what in &place.as_local {
            println!("{name}: {what}: in that it runs as local");
        }
    }
    if let Some(change) = &place.vary {
        println!("{name}: {} again, {}", first.storage_name(), change.in_words());
    }
    if place.bare {
        println!("{name}: without Forebay in between, so that what that costs is seen");
    }
}

/// What may be doubted.
pub(super) fn print_caveats(args: &Args, rows: &[StorageRow<'_>]) {
    print_saturation(rows);
    if rows.iter().any(|row| row.middle.is_some_and(|middle| middle.span.range)) {
        println!("fewer than 6 runs: from the least to the greatest, no interval at 95 %");
    }
    for group in group_by_storage(rows) {
        print_storage_setup(group[0].place, rows[0].place);
    }
    for row in rows {
        let name = &row.place.name;
        if let Some(rate) = row.failures.filter(|_| row.failed > 0 || args.r#for.is_some()) {
            let [share, low, high] = [rate.share, rate.low, rate.high].map(|part| part * 100.0);
            println!("{name}: {share:.0} % of runs failed ({low:.0} to {high:.0} % at 95 %)");
        }
        if row.filled_up > 0 {
            println!("{name}: no room was left in {} of the runs that failed", row.filled_up);
        }
        if let Some(trend) = row.trend {
            let way = if trend.rising { "rise" } else { "fall" };
            println!(
                "{name}: times {way} over the rounds (p = {:.3}): a cache that fills, perhaps, or \
                 credits that end",
                trend.p
            );
        }
        for round in &row.outliers {
            println!("{name}: round {round} stands far from the others, and counts");
        }
        let undecided = row
            .ratio
            .is_some_and(|ratio| ratio.verdict(args.within) == ComparisonVerdict::Undecided);
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
