//! Columns by name and number, and which lie together.

/// What a chunk holds; the number stands in archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Letters of each read.
    Lengths = 0,
    /// Bases.
    Bases = 1,
    /// Where bases are no A, C, G or T.
    Exceptions = 2,
    /// Text that has no columns.
    Text = 3,
    /// Names.
    Names = 4,
    /// Qualities.
    Qualities = 5,
}

/// All columns.
pub const COLUMNS: [Column; 6] = [
    Column::Lengths,
    Column::Bases,
    Column::Exceptions,
    Column::Text,
    Column::Names,
    Column::Qualities,
];

impl Column {
    /// What lies together in a stripe: bases with what they need, names, qualities.
    #[must_use]
    pub fn family(self) -> usize {
        match self {
            Column::Names => 1,
            Column::Qualities => 2,
            _ => 0,
        }
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Column::Lengths => "lengths",
            Column::Bases => "bases",
            Column::Exceptions => "exceptions of bases",
            Column::Text => "text",
            Column::Names => "names",
            Column::Qualities => "qualities",
        }
    }
}
