//! Open files: opened, read and written piece by piece, closed.

use super::run_lookup::{Owner, RunLookup};
use super::timed_act::{Actor, TimedAction};
use super::{OpenMode, ReplayAction, Transfer};
use forebay_model::run::OpenRow;
use forebay_model::{ByteCount, IoCount, Op};

/// Of what was open for long, the bytes come in so many pieces, so long apart at least.
const PIECES_MAX: u64 = 16;
const APART_SECS: f64 = 0.1;
/// What a call moves that nobody saw.
const UNSEEN_BYTES: u64 = 128 << 10;

pub(super) fn add_sessions(told: &RunLookup<'_>, acts: &mut Vec<TimedAction>) {
    let parts = unseen_read_shares(told);
    for (session, open) in told.opens.iter().enumerate() {
        let Some(file) = told.file_of_open(open) else { continue };
        let owner = told.owner_of_open(open);
        let lane = match owner {
            Some(turn) => Actor::Process(turn, open.open.process),
            None => Actor::Driver,
        };
        let name = &told.names[file];
        let (at, end) = (open.open.opened.as_secs(), told.close_time(open));
        let (how, read, written, size) = derive_transfers(told, open, owner, file, &parts);
        let placed = |time, act| TimedAction { since: at, ..TimedAction::new(time, lane, act) };
        let path = name.path_at(at).to_vec();
        let act = ReplayAction::Open(session, path, how);
        let changes = how.create || how.truncate;
        acts.push(placed(at, act).with_name(name.number, changes));
        let calls = read.calls.max(written.calls);
        let pieces = (((end - at) / APART_SECS) as u64).min(calls).clamp(1, PIECES_MAX);
        for piece in 0..pieces {
            let time = at + (end - at) * piece as f64 / pieces as f64;
            for (whole, act) in [
                (read, ReplayAction::Read as fn(usize, Transfer) -> ReplayAction),
                (written, ReplayAction::Write as fn(usize, Transfer) -> ReplayAction),
            ] {
                let part = part_of_transfer(whole, piece, pieces);
                if part.calls > 0 {
                    acts.push(placed(time, act(session, part)));
                }
            }
        }
        let close = ReplayAction::Close(session, size);
        acts.push(placed(end, close).with_name(name.number, how.write));
    }
}

/// The part of reads that nobody saw which can have been, for each task: no more than `/proc` says.
fn unseen_read_shares(told: &RunLookup<'_>) -> Vec<f64> {
    let mut sums = vec![(0u64, 0u64); told.turns.all.len()];
    for open in told.opens {
        let Some(turn) = told.owner_of_open(open) else { continue };
        let (seen, guessed) = &mut sums[turn];
        match open.open.read {
            Some(io) => *seen = seen.saturating_add(io.bytes.get()),
            None => *guessed = guessed.saturating_add(unseen_read_bytes(open)),
        }
    }
    let most = |task: u32| told.rows.tasks.iter().find(|row| row.id == task)?.rchar_upper;
    let part = |(turn, &(seen, guessed)): (usize, &(u64, u64))| {
        let Some(most) = most(told.turns.all[turn].task) else { return 1.0 };
        let room = most.get().saturating_sub(seen) as f64;
        if room < guessed as f64 { room / guessed as f64 } else { 1.0 }
    };
    sums.iter().enumerate().map(part).collect()
}

/// Who opens a file to read it reads it.
fn unseen_read_bytes(open: &OpenRow) -> u64 {
    let size = open.open.size_at_open.filter(|_| !open.open.write);
    size.map_or(0, ByteCount::get)
}

/// How it is opened, what is read and written, and the size that has to be set in the end.
fn derive_transfers(
    told: &RunLookup<'_>,
    row: &OpenRow,
    owner: Owner,
    file: usize,
    parts: &[f64],
) -> (OpenMode, Transfer, Transfer, Option<ByteCount>) {
    let open = &row.open;
    let before = open.size_at_open.map_or(0, ByteCount::get);
    let after = open.size_at_close.map(ByteCount::get);
    let anywhere = |op: Op| {
        let counts = told.random.get(&(owner, told.class_of_file(file), op));
        counts.is_some_and(|(random, all)| random * 2 > *all)
    };
    let part = owner.map_or(1.0, |turn| parts[turn]);
    let (bytes, calls) =
        counted_or_guessed(open.read, || (unseen_read_bytes(row) as f64 * part) as u64);
    let random = anywhere(Op::Read);
    let end = Some(before.max(after.unwrap_or(0))).filter(|end| *end > 0);
    let read = Transfer { bytes, calls, from: 0, end, random };
    let (write, create) = (open.write, open.created);
    let mut how = OpenMode { read: !write || calls > 0, write, create, truncate: false };
    if !open.write {
        return (how, read, Transfer::default(), None);
    }
    let shrank = after.is_some_and(|after| after < before);
    // All of it is new: it was emptied first.
    let whole = open.wrote.is_some_and(|io| Some(io.bytes.get()) == after);
    how.truncate = !open.created && before > 0 && (shrank || whole);
    let kept = if how.truncate || how.create { 0 } else { before };
    let grown = || after.unwrap_or(0).saturating_sub(kept);
    let (bytes, calls) = counted_or_guessed(open.wrote, grown);
    let after = after.unwrap_or(kept.max(bytes));
    let from = if kept == 0 { 0 } else { after.saturating_sub(bytes) };
    let end = Some(after).filter(|end| *end > 0);
    let random = anywhere(Op::Write) && kept > 0;
    let length = kept.max((from + bytes).min(end.unwrap_or(u64::MAX)));
    let size = (length != after).then_some(ByteCount(after));
    (how, read, Transfer { bytes, calls, from, end, random }, size)
}

fn counted_or_guessed(io: Option<IoCount>, guess: impl FnOnce() -> u64) -> (u64, u64) {
    match io {
        Some(io) if io.bytes.get() > 0 => (io.bytes.get(), io.calls.max(1)),
        Some(io) => (0, io.calls),
        None => {
            let bytes = guess();
            (bytes, bytes.div_ceil(UNSEEN_BYTES))
        }
    }
}

/// Whole calls, with their bytes.
fn part_of_transfer(whole: Transfer, piece: u64, pieces: u64) -> Transfer {
    let cut = |all: u64, at: u64, of: u64| {
        (u128::from(all) * u128::from(at) / u128::from(of.max(1))) as u64
    };
    let (first, next) = (cut(whole.calls, piece, pieces), cut(whole.calls, piece + 1, pieces));
    let [from, to] = [first, next].map(|call| cut(whole.bytes, call, whole.calls));
    let start = whole.from.saturating_add(from);
    Transfer { bytes: to - from, calls: next - first, from: start, ..whole }
}
