//! Rounds over all that is measured of a bucket, as over that of a directory.

use std::collections::BTreeMap;

use bytes::Bytes;
use forebay_model::ByteCount;
use forebay_plan::compare;

use super::{ProbeClient, ProbedBucket, chains};
use crate::commands::probe::bounds::{ProbeBudget, ProbeStop};
use crate::commands::probe::chains::FigureSums;
use crate::commands::probe::measured_figures::{Figure, FigureSeconds, PIECE, RoundSizes, THREADS};
use crate::commands::probe::memory::AlignedBuffer;
use crate::commands::probe::rounds::{
    PART, ProbeFindings, ROUNDS_MAX, is_known_precisely, note_early_end,
};

/// A large object takes about so long, in seconds.
const TASTE: f64 = 0.3;
/// Pieces of the largest object.
const PIECES_MAX: u64 = 64;
/// Ranged reads of each client in a round.
const RANDOM: u64 = 4;
/// Small objects in a round.
const SMALL_COUNT: u32 = 2;

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BucketPart {
    Small,
    Names(u32),
    Data(u32),
}

impl BucketPart {
    /// The figures that say whether it is known, and by how many clients they are.
    fn deciding_figures(self) -> (u32, &'static [Figure]) {
        match self {
            BucketPart::Small => (1, &[Figure::ObjectAbsent, Figure::ObjectPut, Figure::ObjectGet]),
            BucketPart::Names(clients) => (clients, &[Figure::ObjectNames]),
            BucketPart::Data(clients) => (clients, &[Figure::Upload, Figure::Download]),
        }
    }
}

pub(super) fn measure_bucket(
    bounds: &ProbeBudget,
    bucket: &ProbedBucket,
    bytes_max: ByteCount,
    told: &dyn Fn(u32),
) -> Result<ProbeFindings, ProbeStop> {
    let most = THREADS[THREADS.len() - 1] as usize;
    let client = |number| ProbeClient { bounds, bucket, bytes: AlignedBuffer::new(PIECE, number) };
    let mut clients: Vec<ProbeClient<'_>> = (1..=most as u64).map(client).collect();
    let pieces = estimate_object_size(&mut clients[0], bytes_max.get() / PART / PIECE as u64)?;
    let sizes = RoundSizes { pieces, random: RANDOM, asks_again: false, random_synced: false };
    let mut found = ProbeFindings::new(sizes);
    let enough = |clients: &u32| u64::from(*clients) <= 4 * pieces;
    let mut parts = vec![BucketPart::Small];
    parts.extend(THREADS.map(BucketPart::Names));
    parts.extend(THREADS.into_iter().filter(enough).map(BucketPart::Data));
    let mut over: BTreeMap<BucketPart, &'static str> = BTreeMap::new();
    for round in 0..ROUNDS_MAX {
        told(round);
        for at in compare::round_order(parts.len(), round, 1) {
            let part = parts[at];
            if over.contains_key(&part) {
                continue;
            }
            match measure_part(&mut clients, part, &sizes, &mut found.measured) {
                Ok(()) if is_known_precisely(&found.measured, part.deciding_figures()) => {
                    over.insert(part, "known");
                }
                Ok(()) => {}
                Err(ProbeStop::Over(why)) => {
                    over.insert(part, why);
                }
                Err(halt) => return Err(halt),
            }
        }
        found.rounds = round + 1;
        if over.len() == parts.len() {
            break;
        }
    }
    note_early_end(&mut found, over.values().copied());
    Ok(found)
}

/// One part of one round. What was not measured to its end does not count.
fn measure_part(
    clients: &mut [ProbeClient<'_>],
    part: BucketPart,
    sizes: &RoundSizes,
    measured: &mut FigureSeconds,
) -> Result<(), ProbeStop> {
    let mut keep = |figure, seconds| {
        measured.entry((figure, part.deciding_figures().0)).or_default().push(seconds);
    };
    match part {
        BucketPart::Small => {
            let mut sums = FigureSums::new();
            (0..SMALL_COUNT)
                .try_for_each(|_| chains::measure_small_object(&mut clients[0], &mut sums))?;
            sums.into_iter()
                .for_each(|(figure, (sum, count))| keep(figure, sum / f64::from(count)));
        }
        BucketPart::Names(count) => {
            keep(
                Figure::ObjectNames,
                chains::measure_object_names(&mut clients[..count as usize])?,
            );
        }
        BucketPart::Data(count) => {
            let clients = &mut clients[..count as usize];
            // Nothing is begun that the bounds would cut short.
            let bytes = u64::from(count) * 2 * sizes.pieces_per_thread(count) * PIECE as u64;
            clients[0].bounds.check_allowance(1, bytes)?;
            for (figure, seconds) in chains::measure_large_objects(clients, sizes)? {
                keep(figure, seconds);
            }
        }
    }
    Ok(())
}

/// Writes an object twice, the first time with all that only a first time takes, to see how large
/// others can be.
fn estimate_object_size(client: &mut ProbeClient<'_>, most: u64) -> Result<u64, ProbeStop> {
    let name = client.unused_name();
    let mut seconds = 0.0;
    for _ in 0..2 {
        let body = Bytes::copy_from_slice(client.bytes.fresh_bytes(PIECE));
        seconds = client.timed_call("PUT", PIECE, |objects| objects.put(&name, body))?.1;
    }
    client.timed_call("DELETE", 0, |objects| objects.delete(&name))?;
    Ok(((TASTE / seconds.max(1e-6)) as u64).clamp(1, most.clamp(1, PIECES_MAX)))
}
