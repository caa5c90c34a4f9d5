//! Each file of a run from its making to its end: who wrote it, who read it, and where it should
//! have lived.

use std::collections::{BTreeSet, HashMap};

use forebay_model::{ByteCount, ClassId, FileId, Result, Run, TreeId};

use super::phrases::count_with_noun;

/// Upper ends of size classes, in bytes, and their names.
pub(in crate::commands) const SIZES: [(u64, &str); 5] = [
    (4 << 10, "up to 4 KiB"),
    (64 << 10, "up to 64 KiB"),
    (1 << 20, "up to 1 MiB"),
    (64 << 20, "up to 64 MiB"),
    (u64::MAX, "more"),
];

/// Of each size class, how many files the run made, and their bytes.
pub(in crate::commands) fn count_by_size(lives: &[FileLifetime]) -> [(u64, u64); SIZES.len()] {
    let mut sizes = [(0, 0); SIZES.len()];
    for life in lives.iter().filter(|life| life.made && life.size_known) {
        let size = life.size.get();
        let at = SIZES.iter().position(|(end, _)| size <= *end).unwrap_or(SIZES.len() - 1);
        sizes[at] = (sizes[at].0 + 1, sizes[at].1 + size);
    }
    sizes
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(in crate::commands) struct FileLifetime {
    pub(in crate::commands) id: FileId,
    pub(in crate::commands) path: Vec<u8>,
    pub(in crate::commands) class: ClassId,
    /// Where its bytes were.
    pub(in crate::commands) tree: TreeId,
    pub(in crate::commands) size: ByteCount,
    /// Bytes that were read and written, as far as they were seen.
    pub(in crate::commands) read: ByteCount,
    pub(in crate::commands) written: ByteCount,
    /// Some were not.
    pub(in crate::commands) read_unseen: bool,
    /// At its size for each time: only to rank files by.
    maybe_read: ByteCount,
    /// Somebody saw its size, or all that was written to it.
    pub(in crate::commands) size_known: bool,
    pub(in crate::commands) opens: u64,
    /// The run made it.
    pub(in crate::commands) made: bool,
    /// The run removed it.
    pub(in crate::commands) gone: bool,
    /// Numbers of tasks.
    pub(in crate::commands) writers: BTreeSet<u32>,
    pub(in crate::commands) readers: BTreeSet<u32>,
}

/// Where a file belongs by the way it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum SuggestedPlacement {
    /// On a tier of the node, and never home.
    Scratch,
    /// On a fast tier, and home at the end.
    Near,
    /// In place, with a copy near those who read it.
    Copied,
    /// In place.
    Place,
}

impl SuggestedPlacement {
    /// The rule that would send it there.
    pub(in crate::commands) const fn rule(self) -> &'static str {
        match self {
            Self::Scratch => "home = a tier of the node, after = \"discard\"",
            Self::Near => "home = a fast tier, written back when the run ends",
            Self::Copied => "home = \"in-place\", cache = a tier of the node",
            Self::Place => "home = \"in-place\"",
        }
    }
}

impl FileLifetime {
    /// Where it belongs. What `forebay plan` says weighs room, waits and dollars, too.
    pub(in crate::commands) fn best_location(&self) -> SuggestedPlacement {
        match (self.made, self.gone) {
            (true, true) => SuggestedPlacement::Scratch,
            (true, false) if self.readers.difference(&self.writers).next().is_some() => {
                SuggestedPlacement::Near
            }
            // A copy of what the run changes would be old.
            (false, _) if !self.writers.is_empty() => SuggestedPlacement::Place,
            (false, _) if self.readers.len() > 1 || self.times_read() > 1 => {
                SuggestedPlacement::Copied
            }
            _ => SuggestedPlacement::Place,
        }
    }

    /// How often its size was read.
    fn times_read(&self) -> u64 {
        self.read.get().checked_div(self.size.get()).unwrap_or(0)
    }

    /// Why it belongs there, in words that go on after a colon.
    pub(in crate::commands) fn location_reason(&self) -> String {
        let readers = count_with_noun(self.readers.len() as u64, "task");
        match self.best_location() {
            SuggestedPlacement::Scratch => {
                "made and removed within the run: it needs no place".to_owned()
            }
            SuggestedPlacement::Near => {
                format!("made in the run and read again by {readers}: a fast tier near them")
            }
            SuggestedPlacement::Copied if self.readers.len() as u64 >= self.times_read() => {
                format!("an input that {readers} read: a copy near them")
            }
            SuggestedPlacement::Copied => {
                format!("an input that was read {} times over: a copy near", self.times_read())
            }
            SuggestedPlacement::Place => {
                match (self.made, self.readers.is_empty(), self.writers.is_empty()) {
                    (true, true, _) => "a result: nobody in the run read it".to_owned(),
                    (true, false, _) => "made and read by the same task: where it is".to_owned(),
                    (false, _, false) => {
                        "it was there before, and was changed: where it is".to_owned()
                    }
                    (false, false, true) => "an input that one task read: where it is".to_owned(),
                    (false, true, true) => "it was opened, and not read".to_owned(),
                }
            }
        }
    }

    pub(in crate::commands) fn bytes_moved(&self) -> ByteCount {
        self.read + self.written + self.maybe_read
    }
}

/// All files of a run that were opened, those first for which most bytes were moved.
pub(in crate::commands) fn collect_lives(run: &Run) -> Result<Vec<FileLifetime>> {
    let mut lives: HashMap<FileId, FileLifetime> = HashMap::new();
    run.for_each_open(|row| {
        let open = &row.open;
        let life = lives.entry(open.file).or_default();
        life.id = open.file;
        life.opens += 1;
        life.made |= open.created;
        let (before, after) = (open.size_at_open, open.size_at_close);
        life.size_known |= before.or(after).is_some();
        life.size = after.or(before).unwrap_or(life.size);
        life.read += open.read.map_or(ByteCount::ZERO, |io| io.bytes);
        life.read_unseen |= open.read.is_none();
        if open.read.is_none() && open.has_read() {
            life.maybe_read += before.or(after).unwrap_or_default();
        }
        // What went past Forebay is known by sizes alone.
        let grown = after.unwrap_or_default() - before.unwrap_or_default();
        let written = open.wrote.map_or(grown, |io| io.bytes);
        life.written += if open.write { written } else { ByteCount::ZERO };
        if open.has_written() {
            life.writers.extend(row.task);
        }
        if open.has_read() {
            life.readers.extend(row.task);
        }
    })?;
    // Of simulated files only what was written to them is known.
    for life in lives.values_mut().filter(|life| !life.size_known && life.made) {
        (life.size, life.size_known) = (life.written, true);
    }
    for file in run.files()? {
        if let Some(life) = lives.get_mut(&file.id) {
            (life.path, life.class) = (file.path, file.class);
            life.tree = file.home.unwrap_or(file.tree);
        }
    }
    for (file, _) in run.removal_times()? {
        if let Some(life) = lives.get_mut(&file) {
            life.gone = true;
        }
    }
    let mut all: Vec<FileLifetime> = lives.into_values().collect();
    all.sort_by(|a, b| b.bytes_moved().cmp(&a.bytes_moved()).then_with(|| a.path.cmp(&b.path)));
    Ok(all)
}

#[cfg(test)]
mod tests {
    //! If this fails, people are told to keep a result on a disk that is wiped.
    use super::*;

    #[test]
    fn a_file_belongs_where_its_use_says() {
        let tasks = |numbers: &[u32]| numbers.iter().copied().collect::<BTreeSet<u32>>();
        let life = |made, gone, writers: &[u32], readers: &[u32]| FileLifetime {
            made,
            gone,
            writers: tasks(writers),
            readers: tasks(readers),
            ..FileLifetime::default()
        };
        for (life, belongs) in [
            (life(true, true, &[1], &[2]), SuggestedPlacement::Scratch),
            (life(true, false, &[1], &[1, 2]), SuggestedPlacement::Near),
            (life(true, false, &[1], &[1]), SuggestedPlacement::Place),
            (life(false, false, &[], &[1, 2]), SuggestedPlacement::Copied),
            (life(false, true, &[], &[1]), SuggestedPlacement::Place),
        ] {
            assert_eq!(life.best_location(), belongs, "{life:?}");
        }
    }
}
