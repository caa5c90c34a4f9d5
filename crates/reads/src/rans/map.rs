//! Which table each context has, as bytes: contexts in the order of [`ContextModel::in_map_order`],
//! for each 0 (as the one before), 1 (as the one `bins` before: the same place at the next lower
//! level), or the table's number and 2.

use super::ContextModel;
use crate::error::{Error, Result};
use crate::wire::WireReader;

/// What a number in the map costs more than 0 or 1, in bits, more or less; measured.
pub(super) const NEW: f32 = 7.0;

pub(super) fn encode_map(map: &[u8], contexts: ContextModel) -> Vec<u8> {
    let walked: Vec<u8> = contexts.in_map_order().map(|context| map[context]).collect();
    let said = |at: usize| {
        let [left, below] = neighbour_tables(&walked, at, contexts.bins);
        match walked[at] {
            table if table == left => 0,
            table if table == below => 1,
            table => table + 2,
        }
    };
    (0..walked.len()).map(said).collect()
}

pub(super) fn decode_map(raw: &[u8], contexts: ContextModel, tables: usize) -> Result<Vec<u8>> {
    let (mut map, mut walked) = (vec![0; contexts.context_count()], Vec::with_capacity(raw.len()));
    let mut wire = WireReader::new(raw);
    for (at, context) in contexts.in_map_order().enumerate() {
        let [left, below] = neighbour_tables(&walked, at, contexts.bins);
        let table = match wire.read_byte()? {
            0 => left,
            1 => below,
            number => number - 2,
        };
        if usize::from(table) >= tables {
            return Err(Error::damaged("a table that is not there"));
        }
        walked.push(table);
        map[context] = table;
    }
    wire.expect_end()?;
    Ok(map)
}

/// Tables of the contexts that are near; 0 where there are none.
pub(super) fn neighbour_tables(walked: &[u8], at: usize, bins: usize) -> [u8; 2] {
    [1, bins].map(|back| at.checked_sub(back).map_or(0, |at| walked[at]))
}
