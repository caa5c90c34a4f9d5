//! What this machine can't emulate: a storage that is faster than the one below it.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use forebay_model::{ByteCount, Op, OpKey, Rate, Seconds, StorageProfile};

use super::blocked_signals::BlockedSignals;
use super::compared_storages::ComparedStorage;
use super::run_directory::RunDirectory;
use crate::commands::mount::emulate;
use crate::console;
use crate::exit::CommandError;

/// Emulated figures are within half of this of what is asked for, on a machine that is quiet.
const WITHIN: f64 = 0.1;
/// Enough for a middle, and quick on a storage that takes 30 ms for each.
const LOOKS: usize = 21;
const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 64;

/// Notes and says of each emulated storage where it will be slower than asked for, since this
/// machine is.
pub(super) fn note_local_limits(
    places: &mut [ComparedStorage],
    held: &BlockedSignals,
) -> Result<(), CommandError> {
    for same in places.chunk_by_mut(|one, other| one.storage_name() == other.storage_name()) {
        // What one client sees.
        let place = &ComparedStorage {
            name: same[0].storage_name().to_owned(),
            scale: None,
            ..same[0].clone()
        };
        let Some(profile) =
            place.emulated.as_deref().and_then(|how| emulate::parse_profile(how).ok())
        else {
            continue;
        };
        let mut fresh = RunDirectory::create_on_storage(place, 0, held)?;
        fresh.serve_all_points(place, None)?;
        let slower = find_local_limits(&fresh, &profile);
        fresh.unmount_all()?;
        fresh.remove()?;
        if !slower.is_empty() {
            console::note(&format!(
                "{}: {}: in that it is as slow as this machine",
                place.name,
                slower.join(", ")
            ));
        }
        same.iter_mut().for_each(|place| place.as_local.clone_from(&slower));
    }
    Ok(())
}

fn find_local_limits(fresh: &RunDirectory<'_>, profile: &StorageProfile) -> Vec<String> {
    let mut slower = Vec::new();
    let asked = profile.operation_latency(OpKey::without_bytes(Op::LookupFailed));
    if let Some(took) =
        time_absent_lookup(fresh).filter(|took| took.get() > asked.get() * (1.0 + WITHIN))
    {
        slower.push(format!("a name takes {took} instead of {asked}"));
    }
    let lane = profile.write;
    let burst = lane.burst.map(|burst| burst.per_second);
    let whole = burst.or(lane.total.or(lane.node).map(Rate::get));
    let rates =
        [lane.stream.map(Rate::get), lane.node.map(Rate::get).filter(|_| burst.is_none()), whole];
    let asked = rates.into_iter().flatten().fold(f64::INFINITY, f64::min);
    if let Some(rate) = measure_write_rate(fresh, asked) {
        slower.push(format!("one file is written at {rate} instead of {}", Rate(asked)));
    }
    slower
}

/// Seconds of a look at a name that is absent.
fn time_absent_lookup(fresh: &RunDirectory<'_>) -> Option<Seconds> {
    let mut took: Vec<f64> = (0..LOOKS)
        .map(|number| {
            let began = Instant::now();
            let _ = fresh.path.join(format!("absent-{number}")).symlink_metadata();
            began.elapsed().as_secs_f64()
        })
        .collect();
    took.sort_by(f64::total_cmp);
    took.get(LOOKS / 2).copied().map(Seconds)
}

/// Bytes a second of one stream, if they are fewer than asked for; `None` also if it can't be
/// written to, as the first run will say.
fn measure_write_rate(fresh: &RunDirectory<'_>, asked: f64) -> Option<Rate> {
    let block = vec![0; BLOCK];
    let mut file = File::create(fresh.path.join("stream")).ok()?;
    let began = Instant::now();
    for _ in 0..BLOCKS {
        file.write_all(&block).ok()?;
    }
    let bytes = ByteCount((BLOCK * BLOCKS) as u64).get() as f64;
    let rate = Rate(bytes / began.elapsed().as_secs_f64());
    Some(rate).filter(|rate| asked.is_finite() && rate.get() * (1.0 + WITHIN) < asked)
}
