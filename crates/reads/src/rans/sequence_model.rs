//! Contexts and tables of a sequence that was encoded before, for one that is like it: they need not
//! be found again.

use super::ContextModel;
use super::tables::read_frequencies;
use crate::error::Result;
use crate::wire::WireReader;

/// What an encoded sequence says of itself.
#[derive(Debug)]
pub(crate) struct SequenceModel {
    pub(super) contexts: ContextModel,
    /// Frequencies of the units in each table.
    pub(super) tables: Vec<Vec<u32>>,
}

impl SequenceModel {
    /// Of a sequence with tables.
    ///
    /// # Errors
    /// It has none: it is short, or damaged.
    pub(crate) fn of_encoded(bytes: &[u8]) -> Result<SequenceModel> {
        let mut wire = WireReader::new(bytes);
        let contexts = ContextModel::read_from(&mut wire)?;
        let (_, tables) = read_frequencies(&mut wire, contexts)?;
        Ok(SequenceModel { contexts, tables })
    }
}
