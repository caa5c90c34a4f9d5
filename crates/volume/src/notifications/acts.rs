//! What is to be put into the record once the call goes on, so that programs do not wait for it.

use forebay_model::Op;

use crate::kernel_events::{Amount, Event, Kind, OpenedFile, Place, Rows, Told, Usage};

#[derive(Debug)]
pub(super) enum Act {
    Opened(OpenedFile),
    /// Something was done through an open file.
    OnOpen(Kind, Event),
    /// What was moved through an open file without being counted call by call.
    Amount(u64, Amount),
    /// Something was done to a name; `Some(first)`: it is the second of two.
    Named {
        head: Event,
        first: Option<Option<Place>>,
        place: Option<Place>,
    },
    Started {
        process: u32,
        parent: u32,
        started_ns: u64,
    },
    Ran {
        process: u32,
        comm: Vec<u8>,
        words: Vec<Vec<u8>>,
    },
    ProgramFile(OpenedFile),
    Ended {
        process: u32,
        at: u64,
        usage: Option<Usage>,
    },
}

impl Act {
    pub(super) fn put_into(self, rows: &mut Rows) {
        match self {
            Act::Opened(file) => rows.note_open(file),
            Act::OnOpen(kind, head) => rows.on_open(&Told::without_names(kind, head)),
            Act::Amount(number, amount) => rows.note_amount(number, amount),
            Act::Named { head, first, place } => rows.note_name(&head, first, place),
            Act::Started { process, parent, started_ns } => {
                rows.note_start(process, parent, started_ns);
            }
            Act::Ran { process, comm, words } => rows.note_program(process, comm, words),
            Act::ProgramFile(file) => rows.note_program_file(file),
            Act::Ended { process, at, usage } => rows.note_end(process, at, usage),
        }
    }
}

/// An event of a process at a time.
pub(super) fn event(process: u32, thread: u32, at: u64) -> Event {
    Event { process, thread, at, tree: -1, ..Event::default() }
}

/// The same, of an operation with a result.
pub(super) fn operation(process: u32, thread: u32, at: u64, op: Op, result: i64) -> Event {
    let op = Op::ALL.iter().position(|other| *other == op).unwrap_or(0) as u32;
    Event { op, result, ..event(process, thread, at) }
}
