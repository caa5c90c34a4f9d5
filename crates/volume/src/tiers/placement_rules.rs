//! What the rules say of files: of those that are made, and of those that are there, by the task that
//! made them where a rule asks for it. That is known as long as the run lasts.

use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

use forebay_model::tasks::task_from_control_file;
use forebay_model::{FileLocation, Placement};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::{OWN, TieredFile, Tiers};

/// A file on a tier, as it is remembered who made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CreatorKey {
    /// Of the body with this name in this room.
    Body(usize, CString),
    /// Of this packed file.
    Packed(u64),
}

/// Which task made a file.
#[derive(Debug, Default)]
pub(super) struct CreatorTasks {
    files: Mutex<FxHashMap<CreatorKey, Arc<str>>>,
    /// Tasks that their engine named, by their work directories.
    named: Mutex<FxHashMap<Vec<u8>, Arc<str>>>,
}

/// Where a new file is to be made.
pub(crate) struct PlacementDecision<'t> {
    /// The number of the room.
    pub(crate) room: usize,
    pub(crate) rule: &'t Placement,
    /// To be remembered, since a rule asks for it.
    pub(crate) task: Option<Arc<str>>,
}

impl Tiers {
    /// What the rules say of a path below the covered directory, whoever made the file.
    pub(crate) fn rule_for_path(&self, path: &[u8]) -> Option<&Placement> {
        self.rule_for_task(path, None)
    }

    fn rule_for_task(&self, path: &[u8], task: Option<&str>) -> Option<&Placement> {
        self.rules
            .as_ref()
            .filter(|_| !is_own_path(path))
            .map(|rules| rules.placement_for_path(path, task))
    }

    /// How long what is known of a path in place may be believed, where a rule says so.
    pub(crate) fn metadata_cache_timeout(&self, path: &[u8]) -> Option<Duration> {
        self.rules
            .as_ref()
            .filter(|_| !is_own_path(path))?
            .metadata_cache_timeout(path)
            .map(Duration::from)
    }

    /// Whether some packed files go home before the run ends.
    pub(crate) fn writes_back_packed_eagerly(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.writes_back_packed_eagerly())
    }

    /// Whether anything is believed for longer than without rules.
    pub(crate) fn has_metadata_cache(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.has_metadata_cache())
    }

    /// What the rules say of a file that is there.
    pub(crate) fn rule_for_file(
        &self,
        path: &[u8],
        file: impl FnOnce() -> CreatorKey,
    ) -> Option<&Placement> {
        let asks = self.rules.as_ref().is_some_and(|rules| rules.has_task_rules());
        let task = if asks { self.makers.files.lock().get(&file()).cloned() } else { None };
        self.rule_for_task(path, task.as_deref())
    }

    /// Where a new file is to be made; `None` in place. `running` tells what program's task the
    /// caller belongs to, and is asked only if a rule wants to know.
    ///
    /// # Errors
    /// ENOSPC when its tier is full and the rule says so.
    pub(crate) fn choose_placement(
        &self,
        path: &[u8],
        running: impl FnOnce() -> Option<String>,
    ) -> Result<Option<PlacementDecision<'_>>, Errno> {
        let asks = self.rules.as_ref().is_some_and(|rules| rules.depends_on_task(path));
        let task = match asks {
            true => self.engine_task(path).or_else(|| running().map(Arc::from)),
            false => None,
        };
        let Some(rule) = self.rule_for_task(path, task.as_deref()) else { return Ok(None) };
        let FileLocation::Tier(tier) = &rule.home else { return Ok(None) };
        let Some(room) = self.rooms.iter().position(|room| room.tier == *tier && room.writable)
        else {
            return self.spill_or_fail(rule, || format!("tier {tier} is not there"));
        };
        if self.rooms[room].is_full() {
            return self.spill_or_fail(rule, || format!("tier {tier} is full"));
        }
        Ok(Some(PlacementDecision { room, rule, task }))
    }

    /// Remembers which task made a file.
    pub(crate) fn remember_creator(&self, file: CreatorKey, task: Option<Arc<str>>) {
        if let Some(task) = task {
            self.makers.files.lock().insert(file, task);
        }
    }

    pub(super) fn forget_creator(&self, placed: &TieredFile) {
        if self.rules.as_ref().is_some_and(|rules| rules.has_task_rules()) {
            self.makers.files.lock().remove(&placed.creator_key());
        }
    }

    /// A file has another body, and was made by whom it was made.
    pub(super) fn inherit_creator(&self, from: &TieredFile, to: &TieredFile) {
        if self.rules.as_ref().is_some_and(|rules| rules.has_task_rules()) {
            let mut makers = self.makers.files.lock();
            if let Some(task) = makers.get(&from.creator_key()).cloned() {
                makers.insert(to.creator_key(), task);
            }
        }
    }

    /// Takes in what a workflow engine wrote into one of its control files.
    pub(crate) fn note_engine_file(&self, path: &[u8], content: &[u8]) {
        if self.rules.as_ref().is_some_and(|rules| rules.has_task_rules())
            && let Some((places, name)) = task_from_control_file(path, content)
        {
            let name: Arc<str> = name.into();
            let places = places.into_iter().map(|place| (place, Arc::clone(&name)));
            self.makers.named.lock().extend(places);
        }
    }

    /// The task that an engine has named for a path, or for the nearest directory around it.
    fn engine_task(&self, path: &[u8]) -> Option<Arc<str>> {
        let named = self.makers.named.lock();
        let mut part = path;
        while !named.is_empty() {
            if let Some(task) = named.get(part) {
                return Some(Arc::clone(task));
            }
            part = &part[..part.iter().rposition(|byte| *byte == b'/')?];
        }
        None
    }
}

fn is_own_path(path: &[u8]) -> bool {
    let below = path.strip_prefix(OWN.as_bytes());
    below.is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

impl TieredFile {
    /// The file, as it is remembered who made it.
    pub(crate) fn creator_key(&self) -> CreatorKey {
        CreatorKey::Body(self.room, self.key.clone())
    }
}
