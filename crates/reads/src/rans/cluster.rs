//! Contexts that are alike share a table. The contexts that occur most are the first tables; each
//! context goes to the table by which it takes the fewest bits, tables are counted anew, and again;
//! then tables are put together as long as that saves more than it costs.

use std::sync::LazyLock;

use super::ContextModel;
use super::map::{NEW, neighbour_tables};

/// Rounds of moving contexts to better tables, and how many contexts, those that occur most, move
/// before the last one.
const ROUNDS: usize = 5;
const MOVING: usize = 1536;
/// Tables to begin with where only the unit before counts: bytes of names, of which many are short.
const FEW: usize = 16;
/// What stands for a unit that a table does not have.
const UNSEEN: f32 = 0.02;

/// What an entry of a table takes in an archive, more or less; measured on real qualities.
const ENTRY_BITS: f64 = 5.0;

/// Tables, and who uses them.
#[derive(Debug)]
pub(super) struct ContextClusters {
    pub(super) contexts: ContextModel,
    /// The table of each context.
    pub(super) map: Vec<u8>,
    /// For each table, how often each unit occurs in it.
    pub(super) counts: Vec<u32>,
    /// All units, tables and the map, more or less.
    pub(super) bits: f64,
}

/// `counts` has a row of units for each context; of tables there are `tables_max` at most.
pub(super) fn cluster_contexts(
    counts: &[u32],
    contexts: ContextModel,
    tables_max: usize,
) -> ContextClusters {
    let units = contexts.units;
    let rows: Vec<&[u32]> = counts.chunks(units).collect();
    let weights: Vec<u32> = rows.iter().map(|row| row.iter().sum()).collect();
    let mut used: Vec<usize> = (0..rows.len()).filter(|row| weights[*row] > 0).collect();
    used.sort_by_key(|row| std::cmp::Reverse(weights[*row]));
    let most = if rows.len() == contexts.row_width() { FEW } else { tables_max };
    let mut tables: Vec<Vec<u32>> = used.iter().take(most).map(|row| rows[*row].to_vec()).collect();
    let mut paid = vec![0.0; tables.len()];
    for _ in 0..if used.len() > tables.len() { ROUNDS } else { 0 } {
        let prices = unit_prices(&tables, units);
        let mut next = vec![vec![0; units]; tables.len()];
        for row in used.iter().take(MOVING) {
            price_context(rows[*row], &prices, &mut paid);
            add_counts(&mut next[cheapest_table(&paid)], rows[*row]);
        }
        tables = next;
    }
    merge_tables(&mut tables);
    assign_tables(&rows, &weights, contexts, &tables)
}

/// The same by tables of a sequence that is like this one.
pub(super) fn assign_contexts(
    counts: &[u32],
    contexts: ContextModel,
    tables: &[Vec<u32>],
) -> ContextClusters {
    let rows: Vec<&[u32]> = counts.chunks(contexts.units).collect();
    let weights: Vec<u32> = rows.iter().map(|row| row.iter().sum()).collect();
    assign_tables(&rows, &weights, contexts, tables)
}

/// Says for each context, in the order of the map, which table it has: the cheapest, but for what
/// the map costs.
fn assign_tables(
    rows: &[&[u32]],
    weights: &[u32],
    contexts: ContextModel,
    tables: &[Vec<u32>],
) -> ContextClusters {
    let prices = unit_prices(tables, contexts.units);
    let mut walked: Vec<u8> = Vec::with_capacity(rows.len());
    let mut counts = vec![vec![0; contexts.units]; tables.len()];
    let (mut news, mut paid) = (0.0, vec![0.0; tables.len()]);
    for (at, row) in contexts.in_map_order().enumerate() {
        let near = neighbour_tables(&walked, at, contexts.bins);
        let mut chosen = near[0];
        if weights[row] > 0 {
            price_context(rows[row], &prices, &mut paid);
            paid[usize::from(near[1])] -= NEW - 2.0;
            if near[0] != near[1] {
                paid[usize::from(near[0])] -= NEW - 1.0;
            }
            chosen = cheapest_table(&paid) as u8;
            add_counts(&mut counts[usize::from(chosen)], rows[row]);
        }
        news += if near.contains(&chosen) { 1.0 } else { f64::from(NEW) };
        walked.push(chosen);
    }
    let mut map = vec![0; rows.len()];
    contexts.in_map_order().zip(&walked).for_each(|(context, table)| map[context] = *table);
    let bits = counts.iter().map(|row| table_bits(row.iter().copied())).sum::<f64>() + news;
    ContextClusters { contexts, map, counts: counts.concat(), bits }
}

fn add_counts(to: &mut [u32], row: &[u32]) {
    to.iter_mut().zip(row).for_each(|(to, count)| *to += count);
}

/// For each unit what it costs by each table.
fn unit_prices(tables: &[Vec<u32>], units: usize) -> Vec<f32> {
    let mut prices = vec![0.0; units * tables.len()];
    for (nth, table) in tables.iter().enumerate() {
        let total = table.iter().sum::<u32>() as f32 + UNSEEN * units as f32;
        for (unit, count) in table.iter().enumerate() {
            let share = (*count as f32 + UNSEEN) / total;
            prices[unit * tables.len() + nth] = -share.log2();
        }
    }
    prices
}

/// What a context takes by each table.
fn price_context(row: &[u32], prices: &[f32], paid: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: this machine has it.
        return unsafe { price_context_avx2(row, prices, paid) };
    }
    add_prices(row, prices, paid);
}

/// The same products and sums, eight at a time: what comes of them is the same on all machines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn price_context_avx2(row: &[u32], prices: &[f32], paid: &mut [f32]) {
    add_prices(row, prices, paid);
}

#[inline(always)]
fn add_prices(row: &[u32], prices: &[f32], paid: &mut [f32]) {
    paid.fill(0.0);
    let prices = prices.chunks_exact(paid.len());
    for (count, prices) in row.iter().zip(prices).filter(|(count, _)| **count > 0) {
        let count = *count as f32;
        paid.iter_mut().zip(prices).for_each(|(paid, price)| *paid += count * price);
    }
}

fn cheapest_table(bits: &[f32]) -> usize {
    let least = bits.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    least.map_or(0, |(nth, _)| nth)
}

/// Logarithms of 1 to 2, in steps of 1 / 2048.
static LOGARITHMS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=2048).map(|step| (1.0 + f64::from(step) / 2048.0).log2()).collect());

/// The logarithm of a number above 0, to seven digits: clusters ask for millions.
#[inline]
fn log2(count: u32) -> f64 {
    let zeros = count.leading_zeros();
    let digits = count << zeros;
    let (step, rest) = ((digits >> 20 & 2047) as usize, f64::from(digits & 0xf_ffff));
    let (low, high) = (LOGARITHMS[step], LOGARITHMS[step + 1]);
    f64::from(31 - zeros) + low + (high - low) * (rest / f64::from(1 << 20))
}

/// Bits of the units of a table, and of the table.
fn table_bits(row: impl Iterator<Item = u32>) -> f64 {
    let (mut bits, mut total) = (0.0, 0);
    for count in row.filter(|count| *count > 0) {
        bits += ENTRY_BITS - f64::from(count) * log2(count);
        total += count;
    }
    bits + f64::from(total) * log2(total.max(1))
}

/// Puts tables together, those first that lose least, as long as it pays.
fn merge_tables(tables: &mut Vec<Vec<u32>>) {
    tables.retain(|table| table.iter().any(|count| *count > 0));
    let mut costs: Vec<f64> =
        tables.iter().map(|table| table_bits(table.iter().copied())).collect();
    // What is saved by each pair (first below second).
    let saved = |tables: &[Vec<u32>], costs: &[f64], a: usize, b: usize| {
        costs[a] + costs[b] - table_bits(tables[a].iter().zip(&tables[b]).map(|(a, b)| a + b))
    };
    let row = |tables: &[Vec<u32>], costs: &[f64], a: usize| -> Vec<f64> {
        (0..a).map(|b| saved(tables, costs, a, b)).collect()
    };
    let mut savings: Vec<Vec<f64>> = (0..tables.len()).map(|a| row(tables, &costs, a)).collect();
    loop {
        let pairs = savings.iter().enumerate();
        let pairs = pairs.flat_map(|(a, row)| row.iter().enumerate().map(move |(b, s)| (*s, a, b)));
        let best = pairs.max_by(|one, other| one.0.total_cmp(&other.0));
        let Some((_, a, b)) = best.filter(|best| best.0 > 0.0) else { return };
        // The last one takes the place of `a`, which is the later one of the two.
        let gone = tables.swap_remove(a);
        add_counts(&mut tables[b], &gone);
        costs[b] = table_bits(tables[b].iter().copied());
        costs.swap_remove(a);
        savings.pop();
        for changed in [a, b].into_iter().filter(|changed| *changed < tables.len()) {
            savings[changed] = row(tables, &costs, changed);
            for (later, row) in savings.iter_mut().enumerate().skip(changed + 1) {
                row[changed] = saved(tables, &costs, later, changed);
            }
        }
    }
}
