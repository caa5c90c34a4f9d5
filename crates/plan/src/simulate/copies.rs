//! Copies of files nearer to those who read them: on cache tiers as the choice says, and in the
//! memory of a node, where what was read or written stays for as long as there is room.
//!
//! Who must make room is known better than any cache knows it: the workload says who will read
//! what, so copies that nobody needs any more go first, then those that are needed last.

use super::{Running, Sim, Watch};
use crate::scene::LANES;
use crate::share::Flows;
use crate::simulate::Seen;
use forebay_model::workload::{Access, FileSetId};
use forebay_model::{Ahead, ByteCount, Reach, Seconds};
use std::collections::BTreeMap;

/// Where an access finds its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Near {
    Home,
    /// A copy on this tier.
    Copy(usize),
    /// The memory of the node.
    Memory,
}

/// The row of copies in memory.
const MEMORY: usize = usize::MAX;

/// A copy: where, and of which files (as a place among those that are held).
type Key = (usize, u32, u32);

/// All copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Bytes of each.
    all: BTreeMap<Key, u64>,
    /// Bytes in the memory of each node.
    memory: BTreeMap<u32, u64>,
    /// Those that are there when the step of a flow is done.
    coming: BTreeMap<u32, Vec<(usize, u32)>>,
}

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
    /// Where a step finds these files; what is read from home may leave a copy.
    pub(super) fn near(&mut self, flow: u32, running: Running, set: u32, access: &Access) -> Near {
        let (pipeline, _) = self.of(running.run);
        let made = self.scene.made[set as usize];
        let held = self.held(if made { pipeline } else { 0 }, set) as u32;
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        let only_reads = access.written.get() == 0 && access.read.get() > 0;
        if self.scene.nodes.memory.is_some() {
            if only_reads && self.copies.all.contains_key(&(MEMORY, running.node, held)) {
                return Near::Memory;
            }
            self.copies.coming.entry(flow).or_default().push((MEMORY, set));
        }
        let Some((row, _)) = home.cache.filter(|_| only_reads) else { return Near::Home };
        if self.copies.all.contains_key(&(row, self.place(row, running.node), held)) {
            return Near::Copy(row);
        }
        self.copies.coming.entry(flow).or_default().push((row, set));
        Near::Home
    }

    /// How much of what a task reads is on this node, in memory or in a cache of its own.
    pub(super) fn has_near(&self, run: u32, node: u32) -> u64 {
        let (pipeline, task) = self.of(run);
        let steps = &self.scene.workload.tasks[task as usize].steps;
        let reads = steps.iter().flat_map(|step| &step.accesses);
        let reads = reads.filter(|access| access.written.get() == 0 && access.read.get() > 0);
        let here = reads.map(|access| {
            let set = access.files.index();
            let pipeline = if self.scene.made[set] { pipeline } else { 0 };
            let held = self.held(pipeline, set as u32) as u32;
            let home = self.homes.of_class[self.scene.workload.files[set].class.index()];
            let cache = home.cache.map(|(row, _)| row);
            let own = cache.filter(|row| self.scene.tiers[*row].reach == Reach::Node);
            let rows = [Some(MEMORY), own];
            let copied = rows.into_iter().flatten();
            let has = copied.map(|row| self.copies.all.contains_key(&(row, node, held)));
            if has.fold(false, |any, here| any | here) { access.read.get() } else { 0 }
        });
        here.fold(0, u64::saturating_add)
    }

    /// Copies on a shared tier are everybody's.
    fn place(&self, row: usize, node: u32) -> u32 {
        if row == MEMORY || self.scene.tiers[row].reach == Reach::Node { node } else { 0 }
    }

    /// The step of a flow is done: what it read is there for those who come.
    pub(super) fn copies_made(&mut self, flow: u32, node: u32) {
        let Some(coming) = self.copies.coming.remove(&flow) else { return };
        let (pipeline, _) = self.of(self.running[flow as usize].run);
        for (row, set) in coming {
            let pipeline = if self.scene.made[set as usize] { pipeline } else { 0 };
            let bytes = self.scene.workload.files[set as usize].bytes.get();
            self.copy((row, self.place(row, node), self.held(pipeline, set) as u32), node, bytes);
        }
    }

    /// A flow ends before it is done, and leaves no copies.
    pub(super) fn forget_coming(&mut self, flow: u32) {
        self.copies.coming.remove(&flow);
    }

    /// Makes a copy if there is room for it, or for something that is needed later.
    fn copy(&mut self, key: Key, node: u32, bytes: u64) {
        let (row, place, held) = key;
        let needed = self.next_use(held);
        if self.copies.all.contains_key(&key) || needed == u32::MAX || bytes == 0 {
            return;
        }
        while !self.has_place(row, node, bytes) {
            let others = self.copies.all.range((row, place, 0)..=(row, place, u32::MAX));
            let last = others.map(|(key, _)| (self.next_use(key.2), *key)).max();
            match last {
                Some((use_, key)) if use_ > needed => self.drop_copy(key),
                _ => return,
            }
        }
        self.copies.all.insert(key, bytes);
        if row == MEMORY {
            *self.copies.memory.entry(place).or_default() += bytes;
            return;
        }
        self.used[row].take(node, bytes);
        self.filled(self.scene.tiers[row].storage);
        let files = FileSetId(held % self.scene.workload.files.len() as u32);
        let tier = &self.scene.tiers[row].id;
        let seen = Seen::Cached { files, tier, node, bytes: ByteCount(bytes) };
        self.watch.see(Seconds(self.now), &seen);
    }

    fn has_place(&self, row: usize, node: u32, bytes: u64) -> bool {
        if row != MEMORY {
            return self.used[row].fits(node, bytes, false);
        }
        let has = self.copies.memory.get(&node).copied().unwrap_or(0);
        has.saturating_add(bytes) <= self.room.memory(node)
    }

    /// The place in the workload of the first task that still needs files; `MAX`: none does.
    fn next_use(&self, held: u32) -> u32 {
        let (sets, tasks) =
            (self.scene.workload.files.len() as u32, self.scene.workload.tasks.len() as u32);
        let (pipeline, set) = (held / sets, held % sets);
        let of_all = 0..self.choice.pipelines;
        let pipelines = if self.scene.made[set as usize] { pipeline..pipeline + 1 } else { of_all };
        let users = self.scene.users.get(set as usize);
        let next = pipelines.filter_map(|pipeline| {
            users.iter().copied().find(|task| !self.done[(pipeline * tasks + task) as usize])
        });
        next.min().unwrap_or(u32::MAX)
    }

    fn drop_copy(&mut self, key: Key) {
        let Some(bytes) = self.copies.all.remove(&key) else { return };
        let (row, place, held) = key;
        if row == MEMORY {
            *self.copies.memory.entry(place).or_default() -= bytes;
            return;
        }
        self.used[row].give(place, bytes);
        self.filled(self.scene.tiers[row].storage);
        let files = FileSetId(held % self.scene.workload.files.len() as u32);
        let tier = &self.scene.tiers[row].id;
        self.watch.see(Seconds(self.now), &Seen::Evicted { files, tier, bytes: ByteCount(bytes) });
    }

    /// Files are gone, and their copies with them.
    pub(super) fn drop_copies(&mut self, held: u32) {
        let of: Vec<Key> = self.copies.all.keys().filter(|key| key.2 == held).copied().collect();
        for key in of {
            self.drop_copy(key);
        }
    }

    /// Makes the copies of inputs that should be there when the command starts.
    pub(super) fn copy_ahead(&mut self) {
        let scene = self.scene;
        for (set, files) in scene.workload.files.iter().enumerate() {
            let home = self.homes.of_class[files.class.index()];
            let Some((row, Ahead::AtStart)) = home.cache.filter(|_| !scene.made[set]) else {
                continue;
            };
            let storage = &scene.storages[scene.tiers[row].storage];
            // A copy on every node, or on every server of a shared tier.
            let shared = scene.tiers[row].reach != Reach::Node;
            let servers = storage.profile.map_or(1, |profile| profile.stripes.servers);
            let (places, each) =
                if shared { (1, u64::from(servers)) } else { (self.choice.nodes, 1) };
            let bytes = files.bytes.get();
            for node in 0..places {
                self.copy((row, node, set as u32), node, bytes.saturating_mul(each));
            }
            let from = scene.tiers[self.homes.project].storage;
            let all = bytes as f64 * f64::from(places);
            let total = scene.storages[from].limits()[0].total;
            let alone = self.lanes.copy(from * LANES, scene.tiers[row].storage * LANES);
            self.begin += (bytes as f64 * alone).max(all / total);
        }
    }
}
