//! How the data of an open file flows: one way for each file at a time, changed only while nobody
//! has it open. It is a table of rules over counts and knows no descriptor.
//!
//! Why: the kernel refuses (EIO) to open an inode cached while it is open in passthrough, and two
//! ways at once would show two truths (Linux `fs/fuse/iomode.c`).

/// The ways data can flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoState {
    /// The kernel reads and writes the backing file itself; we see opens and closes only.
    Passthrough,
    /// Reads come through us into the kernel's page cache; writes go through at once, or come
    /// collected.
    Cached,
    /// Each read and write comes to us.
    #[default]
    Direct,
}

/// What is known about a file at the moment it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenConditions {
    /// The kernel can pass I/O through to this file's file system.
    pub(crate) passthrough: bool,
    /// Every read is to be seen.
    pub(crate) every_read: bool,
    /// This open may write.
    pub(crate) write: bool,
    /// The kernel collects what it writes.
    pub(crate) collects: bool,
    /// Somebody outside is known to write the file.
    pub(crate) foreign: bool,
}

impl OpenConditions {
    /// The state for a file that nobody has open.
    pub(crate) fn initial_state(self) -> IoState {
        if self.every_read {
            IoState::Direct
        } else if self.passthrough {
            IoState::Passthrough
        } else if self.write && !self.collects || self.foreign {
            // A page cache over a file that several write would show stale bytes.
            IoState::Direct
        } else {
            IoState::Cached
        }
    }
}

/// The count of opens of one inode and the state that they share.
#[derive(Debug, Default)]
pub(crate) struct SharedIoState {
    opens: u32,
    state: IoState,
}

impl SharedIoState {
    /// One more open: it gets the state of the others, or its own wish when it is the first.
    pub(crate) fn add_open(&mut self, wish: IoState) -> IoState {
        if self.opens == 0 {
            self.state = wish;
        }
        self.opens += 1;
        self.state
    }

    /// The first open found its wish not granted (no passthrough after all).
    pub(crate) fn fall_back_to(&mut self, state: IoState) -> bool {
        let alone = self.opens == 1;
        if alone {
            self.state = state;
        }
        alone
    }

    /// One open less. Returns whether it was the last.
    pub(crate) fn remove_open(&mut self) -> bool {
        debug_assert!(self.opens > 0, "each close follows an open");
        self.opens = self.opens.saturating_sub(1);
        self.opens == 0
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opens > 0
    }
}

/// Size and times by which a later open tells whether cached pages are still right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheValidator {
    pub(crate) size: u64,
    pub(crate) changed_ns: i128,
    pub(crate) modified_ns: i128,
}

#[cfg(test)]
mod tests {
    //! If two opens of one inode ever disagreed, programs would get EIO or stale data.
    use super::*;

    /// Walks every sequence of opens and closes up to a depth against a list of what is open.
    #[test]
    fn one_state_while_open() {
        let wishes = [IoState::Passthrough, IoState::Cached, IoState::Direct];
        fn walk(trail: &mut Vec<Option<IoState>>, depth: usize, wishes: &[IoState; 3]) {
            let mut shared = SharedIoState::default();
            let mut model: Vec<IoState> = Vec::new();
            for step in trail.iter() {
                match step {
                    Some(wish) => {
                        let got = shared.add_open(*wish);
                        match model.first() {
                            None => assert_eq!(got, *wish, "the first open gets its wish"),
                            Some(first) => assert_eq!(got, *first, "later opens share: {trail:?}"),
                        }
                        model.push(got);
                    }
                    None => {
                        model.pop();
                        assert_eq!(shared.remove_open(), model.is_empty());
                    }
                }
                assert_eq!(shared.is_open(), !model.is_empty());
            }
            if depth == 0 {
                return;
            }
            for wish in wishes {
                trail.push(Some(*wish));
                walk(trail, depth - 1, wishes);
                trail.pop();
            }
            if !model.is_empty() {
                trail.push(None);
                walk(trail, depth - 1, wishes);
                trail.pop();
            }
        }
        walk(&mut Vec::new(), 7, &wishes);
    }

    #[test]
    fn falls_back_only_when_alone() {
        let mut shared = SharedIoState::default();
        shared.add_open(IoState::Passthrough);
        assert!(shared.fall_back_to(IoState::Direct));
        assert_eq!(shared.add_open(IoState::Passthrough), IoState::Direct);
        assert!(!shared.fall_back_to(IoState::Cached), "somebody else relies on the state");
        assert_eq!(shared.add_open(IoState::Cached), IoState::Direct);
    }

    #[test]
    fn writers_without_passthrough_are_direct() {
        let wish = OpenConditions {
            passthrough: false,
            every_read: false,
            write: true,
            collects: false,
            foreign: false,
        };
        assert_eq!(wish.initial_state(), IoState::Direct);
        assert_eq!(OpenConditions { collects: true, ..wish }.initial_state(), IoState::Cached);
        assert_eq!(
            OpenConditions { collects: true, foreign: true, ..wish }.initial_state(),
            IoState::Direct
        );
        assert_eq!(OpenConditions { write: false, ..wish }.initial_state(), IoState::Cached);
        assert_eq!(
            OpenConditions { write: false, foreign: true, ..wish }.initial_state(),
            IoState::Direct
        );
        assert_eq!(
            OpenConditions { passthrough: true, ..wish }.initial_state(),
            IoState::Passthrough
        );
        assert_eq!(
            OpenConditions { passthrough: true, every_read: true, ..wish }.initial_state(),
            IoState::Direct
        );
    }
}
