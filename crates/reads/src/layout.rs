//! Layouts: which objects the parts of stripes lie in. One line each in [`LAYOUTS`]. Readers find
//! every part by the manifest, whatever the layout.

use std::fmt;

/// Which parts of an archive share objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLayout {
    /// What people ask for.
    pub name: &'static str,
    /// Qualities lie in objects of their own.
    pub(crate) apart: bool,
    /// An object is full when it has so many bytes.
    pub(crate) full: u64,
}

const GIB: u64 = 1 << 30;

/// All there are; the first one where nobody asks.
pub const LAYOUTS: &[ArchiveLayout] = &[
    ArchiveLayout { name: "together", apart: false, full: GIB },
    ArchiveLayout { name: "apart", apart: true, full: GIB },
    ArchiveLayout { name: "each", apart: true, full: 0 },
];

/// What names of data objects begin with: [bases and names, qualities of their own].
pub(crate) const PREFIXES: [&str; 2] = ["data", "qualities"];

impl ArchiveLayout {
    /// The one of that name.
    #[must_use]
    pub fn find_by_name(name: &str) -> Option<ArchiveLayout> {
        LAYOUTS.iter().find(|layout| layout.name == name).copied()
    }

    /// Which of [`PREFIXES`] a family's objects have.
    pub(crate) fn prefix_index(self, family: usize) -> usize {
        usize::from(self.apart && family == 2)
    }
}

impl Default for ArchiveLayout {
    fn default() -> ArchiveLayout {
        LAYOUTS[0]
    }
}

impl fmt::Debug for ArchiveLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout({})", self.name)
    }
}

/// `data-00000.fbr`: nobody else's file is taken for ours.
pub(crate) fn is_data_object(name: &str) -> bool {
    let number = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)?.strip_prefix('-'));
    let number = number.and_then(|rest| rest.strip_suffix(".fbr"));
    number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|byte| byte.is_ascii_digit()))
}
