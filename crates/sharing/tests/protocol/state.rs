//! What the model knows: the book, nodes, and what is under way between them.

/// Nodes at most.
pub(crate) const NODES: usize = 3;
/// Folders.
pub(crate) const FOLDERS: usize = 2;

/// Where the bytes of the long file in folder 0 are, as a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// It has none yet.
    Nowhere,
    OnNode(u8),
    Bucket,
}

/// What there is to see in a folder: a file whose versions count upwards, and whether the name that
/// moves between the folders is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Content {
    pub(crate) version: u8,
    pub(crate) place: Place,
    pub(crate) has_name: bool,
    /// Nodes that may have the lock on the file, a bit each.
    pub(crate) lockers: u8,
}

/// A folder in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BookFolder {
    pub(crate) holder: Option<u8>,
    pub(crate) epoch: u8,
    /// Nobody holds it; each change is a transaction.
    pub(crate) is_common: bool,
    pub(crate) content: Content,
}

/// A folder as the node that holds it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) epoch: u8,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) lives: bool,
    /// It does not reach the book.
    pub(crate) is_cut_off: bool,
    /// By its own clock its lease may be over.
    pub(crate) has_stopped: bool,
    pub(crate) held: [Option<Held>; FOLDERS],
    /// Versions of the long file on its disk, a bit each.
    pub(crate) disk: u8,
    /// The version that it is bringing to the bucket.
    pub(crate) uploads: Option<u8>,
    /// A program there has the lock on the file in folder 0, as far as the node knows.
    pub(crate) has_lock: bool,
}

/// How far a look at one folder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// It is to find out whom to ask.
    Begin,
    /// It asks this node, which holds the folder under this epoch.
    Ask(u8, u8),
    /// The answer is on its way; whether another node or the book gave it.
    Told(Content, bool),
    /// The record is known; bytes are to be read by it.
    Read(Content),
}

/// A program looks at both folders, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Look {
    pub(crate) node: u8,
    pub(crate) first: u8,
    /// The folder that it looks at now.
    pub(crate) folder: u8,
    pub(crate) step: Step,
    /// What was closed, and what others had seen, when it began.
    pub(crate) closed: [u8; FOLDERS],
    pub(crate) seen: [u8; FOLDERS],
    /// Renames until then.
    pub(crate) moves: u8,
    /// Whether the first folder had the name.
    pub(crate) had_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Change {
    Write(u8),
    /// Moves the name to this folder.
    Move(u8),
    /// Gets the lock on the file in folder 0.
    Lock,
}

/// A program wants to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Want {
    pub(crate) node: u8,
    pub(crate) change: Change,
    /// Folders that it keeps from being given up.
    pub(crate) pinned: [bool; FOLDERS],
    /// Who is asked to give up the next folder, and its epoch there. For a common folder: nobody.
    pub(crate) asks: Option<(Option<u8>, u8)>,
    /// Nodes that have said that they do not have the lock, or whose lease is over, a bit each.
    pub(crate) asked: u8,
}

/// What must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flaw {
    Stale,
    SeenIsLost,
    HalfARename,
    WrongBytes,
}

/// What may still happen, so that the model has an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Left {
    pub(crate) writes: u8,
    pub(crate) moves: u8,
    pub(crate) looks: u8,
    pub(crate) deaths: u8,
    pub(crate) cuts: u8,
    /// A folder becomes common, or quiet again.
    pub(crate) switches: u8,
    pub(crate) uploads: u8,
    pub(crate) locks: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) book: [BookFolder; FOLDERS],
    /// By the book's clock.
    pub(crate) has_lease: [bool; NODES],
    pub(crate) nodes: [Node; NODES],
    pub(crate) looks: Vec<Look>,
    pub(crate) wants: Vec<Want>,
    /// Versions of the long file in the bucket, a bit each.
    pub(crate) bucket: u8,
    pub(crate) left: Left,
    /// The newest version that a program wrote, that one closed and nobody was told to be lost, and
    /// that another node has seen.
    pub(crate) written: [u8; FOLDERS],
    pub(crate) closed: [u8; FOLDERS],
    pub(crate) seen: [u8; FOLDERS],
    /// Renames, and losses of them that were told.
    pub(crate) moves: u8,
    pub(crate) flaw: Option<Flaw>,
}

impl State {
    pub(crate) fn first(left: Left) -> State {
        let content =
            |has_name| Content { version: 0, place: Place::Nowhere, has_name, lockers: 0 };
        let folder = |has_name| BookFolder {
            holder: None,
            epoch: 0,
            is_common: false,
            content: content(has_name),
        };
        let node = Node {
            lives: true,
            is_cut_off: false,
            has_stopped: false,
            held: [None; FOLDERS],
            disk: 0,
            uploads: None,
            has_lock: false,
        };
        State {
            book: [folder(true), folder(false)],
            has_lease: [true; NODES],
            nodes: [node; NODES],
            looks: Vec::new(),
            wants: Vec::new(),
            bucket: 0,
            left,
            written: [0; FOLDERS],
            closed: [0; FOLDERS],
            seen: [0; FOLDERS],
            moves: 0,
            flaw: None,
        }
    }

    pub(crate) fn node(&self, node: u8) -> &Node {
        &self.nodes[usize::from(node)]
    }

    pub(crate) fn node_mut(&mut self, node: u8) -> &mut Node {
        &mut self.nodes[usize::from(node)]
    }

    pub(crate) fn held(&self, node: u8, folder: u8) -> Option<Held> {
        self.node(node).held[usize::from(folder)]
    }

    pub(crate) fn folder(&self, folder: u8) -> &BookFolder {
        &self.book[usize::from(folder)]
    }

    /// In which order things are under way says nothing.
    pub(crate) fn settled(mut self) -> State {
        self.looks.sort_unstable();
        self.wants.sort_unstable();
        self
    }
}
