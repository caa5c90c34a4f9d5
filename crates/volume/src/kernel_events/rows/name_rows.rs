//! Rows of what is done to names: what a program asks about them, and makes, moves and removes.

use forebay_model::{Op, OpCount, OpKey};

use super::super::calls::NO_OPERATION;
use super::super::names::{Base, Place, Whereabouts};
use super::super::wire::{Event, Kind, Told};
use super::{Rows, is_quiet_failure, operation};

const RENAME_EXCHANGE: u32 = 2;

impl Rows {
    /// Where a name leads.
    fn place(&mut self, told: &Told<'_>, kernel: &mut impl Whereabouts) -> Option<Place> {
        let name = told.text.strip_suffix(b"\0").unwrap_or(told.text);
        if let (Some(tree), false) = (Self::tree(told), name.starts_with(b"/")) {
            return self.names.place_of(Base::Tree(tree, told.path()), name, kernel);
        }
        let namespace = told.head.inode;
        self.names.note_namespace(namespace, told.head.process);
        if name.starts_with(b"/") {
            return self.names.place_of(Base::Root(namespace), name, kernel);
        }
        // From a directory elsewhere, of which the path is told.
        let whole = [b"/", &told.path()[..], b"/", name].concat();
        self.names.place_of(Base::Root(namespace), &whole, kernel)
    }

    pub(super) fn named(&mut self, told: &Told<'_>, kernel: &mut impl Whereabouts) {
        if told.head.op == u32::from(NO_OPERATION) {
            return self.names.forget_all();
        }
        let place = self.place(told, kernel);
        let head = &told.head;
        if told.kind == Kind::NamedFirst {
            self.first_names.insert(head.thread, place);
            return;
        }
        let first = self.first_names.remove(&head.thread);
        self.note_name(head, first, place);
    }

    /// Something was done to a name, or to two: where they lead.
    pub(crate) fn note_name(
        &mut self,
        head: &Event,
        first: Option<Option<Place>>,
        place: Option<Place>,
    ) {
        let Some(mut op) = operation(head.op) else { return };
        if op == Op::Unlink && head.flags & libc::AT_REMOVEDIR as u32 != 0 {
            op = Op::Rmdir;
        }
        let process = self.living.get(&head.process).copied();
        if head.result < 0 {
            let error = (-head.result) as i32;
            // The one that is not there is more likely the one that was to be moved.
            let about = match (error, first) {
                (libc::ENOENT, Some(Some(first))) => Some(first),
                _ => place,
            };
            let Some(about) = about else { return };
            let class = self.class(&about);
            let (op, failed) = match error {
                libc::ENOENT | libc::ENOTDIR => (Op::LookupFailed, 0),
                // The kernel finds it by looking the name up, and asks no more.
                libc::EEXIST => (Op::Lookup, 0),
                error => (op, u64::from(!is_quiet_failure(op, -i64::from(error)))),
            };
            let count = OpCount { count: 1, nanos: head.nanos, bytes: 0, failed };
            self.recorder.count_operation(process, about.0, class, OpKey::without_bytes(op), count);
            return;
        }
        if let Some(place) = &place {
            if op == Op::Getattr && !self.attributes.needs_request(place, head.at) {
                return;
            }
            let class = self.class(place);
            self.count(process, place.0, class, op, head.nanos);
        }
        if matches!(op, Op::Mkdir | Op::Mknod | Op::Symlink | Op::Link) {
            // Who makes something is told what it is like.
            place.iter().for_each(|place| self.attributes.note_told(place, head.at));
        }
        match op {
            Op::Unlink => {
                let at = self.time(head.at);
                place.iter().for_each(|place| {
                    self.attributes.forget(place);
                    self.files.unlink(place, at);
                });
            }
            Op::Rmdir | Op::Symlink => self.names.forget_all(),
            Op::Rename => {
                let exchange = head.flags & RENAME_EXCHANGE != 0;
                // A directory may have been moved, or a link that leads to one.
                self.names.forget_all();
                for place in [first.as_ref().and_then(Option::as_ref), place.as_ref()] {
                    place.into_iter().for_each(|place| self.attributes.forget(place));
                }
                self.files.rename(first.flatten(), place, exchange, self.time(head.at));
            }
            Op::Link => {
                if let (Some(first), Some(place)) = (first.flatten(), place) {
                    self.files.add_name(&first, place);
                }
            }
            _ => {}
        }
    }
}
