// A moment of what `make test-long` does for ten minutes each. If this failed, an archive that
// somebody made up would bring its reader down. A failure says which seed it was.
use super::*;

/// Numbers that follow each other without an order.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }

    /// Bytes changed in some places: turned, put in, taken out, or of another seed.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => bytes.truncate(at),
                3 => bytes.insert(at, self.below(256) as u8),
                4 => {
                    let end = (at + self.below(9)).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => {
                    let from = self.below(other.len());
                    let part = &other[from..(from + self.below(40)).min(other.len())];
                    bytes.splice(at..at, part.iter().copied());
                }
            }
        }
    }
}

#[test]
fn bytes_of_nobody_are_no_danger_to_any_target() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        seeds.iter().for_each(|seed| (target.feed)(seed));
        (target.feed)(b"");
        for number in 1..600_u64 {
            let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let mut bytes = seeds[dice.below(seeds.len())].clone();
            let other = &seeds[dice.below(seeds.len())];
            dice.change(&mut bytes, other);
            let fed = std::panic::catch_unwind(|| (target.feed)(&bytes));
            assert!(fed.is_ok(), "{}: number {number}", target.name);
        }
    }
}

#[test]
fn each_target_has_its_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let listed = std::fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest");
    for target in TARGETS {
        let path = folder.join(format!("fuzz_targets/{}.rs", target.name));
        let program = std::fs::read_to_string(path).expect(target.name);
        assert!(program.contains(&format!("feed(\"{}\", ", target.name)), "{}", target.name);
        assert!(listed.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
    }
}
