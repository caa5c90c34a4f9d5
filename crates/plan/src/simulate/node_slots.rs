//! Slots, cores and memory of the nodes: which node takes a task.

use forebay_model::Nodes;
use forebay_model::workload::TaskKind;

#[derive(Clone, Copy, Debug)]
struct NodeState {
    slots: u32,
    cores: u32,
    memory: u64,
    /// Its place among those with as many free slots; none while it is away.
    place: Option<u32>,
}

/// What is free.
#[derive(Clone, Debug)]
pub(super) struct NodeSlots {
    nodes: Vec<NodeState>,
    /// Nodes by how many slots are free.
    by_slots: Vec<Vec<u32>>,
    /// Slots of all nodes that are not away.
    pub(super) free: u32,
}

impl NodeSlots {
    pub(super) fn new(nodes: &Nodes, count: u32, slots: u32) -> Self {
        let memory = nodes.memory.map_or(u64::MAX, |bytes| bytes.get());
        let mut room =
            Self { nodes: Vec::new(), by_slots: vec![Vec::new(); slots as usize + 1], free: 0 };
        let mut reserved = nodes.reserved;
        for number in 0..count {
            let taken = reserved.min(slots);
            reserved -= taken;
            let slots = slots - taken;
            room.nodes.push(NodeState { slots, cores: nodes.cores, memory, place: None });
            room.index_node(number);
        }
        room
    }

    /// The node with most free slots that can take a task of this kind.
    pub(super) fn emptiest_node_for(&self, kind: &TaskKind) -> Option<u32> {
        self.nodes_with_room_for(kind).next()
    }

    /// The nodes that can take a task of this kind, those with most free slots first.
    pub(super) fn nodes_with_room_for(&self, kind: &TaskKind) -> impl Iterator<Item = u32> {
        let (cores, memory) = (kind.cores, kind.memory.map_or(0, |bytes| bytes.get()));
        let shelves = if self.free == 0 { &[] } else { &self.by_slots[1..] };
        shelves.iter().rev().flatten().copied().filter(move |node| {
            let node = &self.nodes[*node as usize];
            node.cores >= cores && node.memory >= memory
        })
    }

    /// Memory of a node that no task takes.
    pub(super) fn free_memory(&self, node: u32) -> u64 {
        self.nodes[node as usize].memory
    }

    pub(super) fn allocate_slot(&mut self, node: u32, kind: &TaskKind) {
        self.update_node(node, |node| {
            node.slots -= 1;
            node.cores -= kind.cores;
            node.memory -= kind.memory.map_or(0, |bytes| bytes.get());
        });
    }

    pub(super) fn release_slot(&mut self, node: u32, kind: &TaskKind) {
        self.update_node(node, |node| {
            node.slots += 1;
            node.cores += kind.cores;
            node.memory += kind.memory.map_or(0, |bytes| bytes.get());
        });
    }

    /// The node is taken away, or back.
    pub(super) fn set_node_away(&mut self, node: u32, away: bool) {
        let is_away = self.nodes[node as usize].place.is_none();
        if away && !is_away {
            self.unindex_node(node);
        } else if !away && is_away {
            self.index_node(node);
        }
    }

    fn update_node(&mut self, number: u32, change: impl FnOnce(&mut NodeState)) {
        let here = self.nodes[number as usize].place.is_some();
        if here {
            self.unindex_node(number);
        }
        change(&mut self.nodes[number as usize]);
        if here {
            self.index_node(number);
        }
    }

    fn index_node(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        let shelf = &mut self.by_slots[node.slots as usize];
        node.place = Some(shelf.len() as u32);
        shelf.push(number);
        self.free += node.slots;
    }

    fn unindex_node(&mut self, number: u32) {
        let node = &mut self.nodes[number as usize];
        let Some(place) = node.place.take() else { return };
        self.free -= node.slots;
        let shelf = &mut self.by_slots[node.slots as usize];
        shelf.swap_remove(place as usize);
        if let Some(moved) = shelf.get(place as usize) {
            self.nodes[*moved as usize].place = Some(place);
        }
    }
}
