//! What a writer learns late, and runs that are written where they stay.

use super::RunWriter;
use super::header::{self, Header, key};
use super::sql::sqlite_error;
use crate::Result;
use std::path::Path;

impl RunWriter {
    /// Adds to [`Header::more`] what was not known at the start.
    ///
    /// # Errors
    /// As [`write_facts`](RunWriter::write_facts).
    pub fn add_notes(&mut self, notes: &[(String, String)]) -> Result<()> {
        header::store_notes(&self.conn, notes).map_err(|e| sqlite_error(&self.path, "write to", e))
    }

    /// Makes a run file that stays where it is: nobody copies it out at the end. Each batch of facts
    /// is in the file itself as soon as it is written, so that a kill leaves one file to read.
    ///
    /// # Errors
    /// As [`create`](RunWriter::create).
    pub fn create_in_place(path: &Path, header: Header) -> Result<Self> {
        let writer = Self::create(path, header)?;
        let set = writer.conn.pragma_update(None, "wal_autocheckpoint", 1);
        set.map_err(|e| sqlite_error(path, "create", e))?;
        Ok(writer)
    }

    /// Ends such a file: one file, without a log beside it, that can be read from anywhere.
    ///
    /// # Errors
    /// As [`write_facts`](RunWriter::write_facts); what was written is in the file and its log.
    pub fn close_in_place(mut self) -> Result<()> {
        self.finish_run()?;
        let close = || {
            header::set_value(&self.conn, key::SEALED, 1)?;
            self.conn.pragma_update(None, "journal_mode", "DELETE")
        };
        close().map_err(|e| sqlite_error(&self.path, "finish", e))
    }
}
