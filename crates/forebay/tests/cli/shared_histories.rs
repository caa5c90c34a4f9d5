//! Programs on three nodes write, move over, remove and read one file at the same time. If this fails,
//! what they saw fits no order of what they did: something was seen late, torn, or not at all.
//! `FOREBAY_ROUNDS` says how many files.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;

use stateright::semantics::register::{Register, RegisterOp, RegisterRet};
use stateright::semantics::{ConsistencyTester, LinearizabilityTester};

use crate::shared::Nodes;

/// What each of the programs did to one file, in the order in which each act began and ended. A file
/// is its number; 0: there is none.
type History = Mutex<LinearizabilityTester<usize, Register<u64>>>;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Lot(u64);

impl Lot {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// One program: it replaces the file, removes it, and reads it.
struct Program<'a> {
    history: &'a History,
    number: usize,
    file: &'a Path,
    new: &'a Path,
}

impl Program<'_> {
    fn begin(&self, act: RegisterOp<u64>) {
        let mut history = self.history.lock().expect("no panic");
        history.on_invoke(self.number, act).map(drop).expect("one act after the other");
    }

    fn end(&self, result: RegisterRet<u64>) {
        let mut history = self.history.lock().expect("no panic");
        history.on_return(self.number, result).map(drop).expect("it has begun");
    }

    fn replace(&self, value: u64) {
        fs::write(self.new, value.to_string()).expect("written");
        self.begin(RegisterOp::Write(value));
        fs::rename(self.new, self.file).expect("moved over");
        self.end(RegisterRet::WriteOk);
    }

    fn remove(&self) {
        self.begin(RegisterOp::Write(0));
        if let Err(error) = fs::remove_file(self.file) {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
        self.end(RegisterRet::WriteOk);
    }

    fn read(&self) {
        self.begin(RegisterOp::Read);
        let value = match fs::read_to_string(self.file) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("torn: {text:?}")),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                0
            }
        };
        self.end(RegisterRet::ReadOk(value));
    }
}

#[test]
fn what_three_nodes_see_of_a_file_fits_one_order() {
    let Some(nodes) = Nodes::with_postgres(3) else { return };
    let rounds = std::env::var("FOREBAY_ROUNDS").ok().and_then(|number| number.parse().ok());
    for round in 0..rounds.unwrap_or(30) {
        let history = History::new(LinearizabilityTester::new(Register(0)));
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (history, point) = (&history, nodes.point(number));
                scope.spawn(move || {
                    let file = point.join(format!("file{round}"));
                    let new = point.join(format!("file{round}.{number}"));
                    let program = Program { history, number, file: &file, new: &new };
                    let mut lot = Lot(round * 3 + number as u64);
                    for turn in 0..6 {
                        match lot.draw(5) {
                            0 | 1 => program.replace(100 * (1 + number as u64) + turn),
                            2 => program.remove(),
                            _ => program.read(),
                        }
                    }
                });
            }
        });
        let history = history.into_inner().expect("no panic");
        assert!(history.is_consistent(), "round {round}: no order fits {history:?}");
    }
}

#[test]
fn a_stale_look_fits_no_order() {
    let mut history = LinearizabilityTester::new(Register(0));
    let told = "one after the other";
    history.on_invret(0, RegisterOp::Write(1), RegisterRet::WriteOk).expect(told);
    history.on_invret(1, RegisterOp::Read, RegisterRet::ReadOk(0)).expect(told);
    assert!(!history.is_consistent());
}
