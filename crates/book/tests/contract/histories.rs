//! Random histories of three nodes over both books: each answer has to be the same. A failure prints
//! the seed that replays it (`FOREBAY_SEED`).

use forebay_book::{
    After, Claim, Epoch, ErrorKind, FileBytes, FileKind, FileRecord, FolderChange, FolderId,
    Membership, NameChange, NodeId, Publication, PublicationNumber, Taken,
};

use super::worlds::{World, name, small};

const STEPS: usize = 300;

/// xorshift64: the same on all machines.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What a step asked, and what was answered, without words and times.
fn step(world: &World, dice: &mut Dice, state: &mut State) -> String {
    let volume = world.volume();
    let at = dice.below(3) as usize;
    let member = state.members[at];
    let folder = FolderId(1 + dice.below(6) as i64);
    let kind = |error: forebay_book::Error| error.kind;
    match dice.below(10) {
        0 => {
            let key = at as u8 + 1;
            let answer = world.try_node(key, key).map_err(kind);
            if let Ok(registration) = &answer {
                state.members[at] = registration.member;
                state.numbers[at] = registration.published;
            }
            format!("register {at}: {answer:?}")
        }
        1 => format!("renew {at}: {:?}", world.book.renew(&member).map_err(kind)),
        2 => {
            // Far from the length of a lease, however slow the machine is.
            let seconds = 10 * dice.below(2);
            world.pass(seconds);
            format!("{seconds} s pass")
        }
        3 | 4 => {
            let more = FolderId(1 + dice.below(6) as i64);
            let answer = world.book.take(&member, &[folder, more]).map_err(kind);
            if let Ok(Taken::All(taken)) = &answer {
                for (folder, epoch) in taken {
                    state.epochs.insert((at, *folder), *epoch);
                }
            }
            format!("take {at} {folder} {more}: {answer:?}")
        }
        5..=7 => {
            let publication = publication(dice, state, at, folder);
            let answer = world.book.publish(&member, &publication).map_err(kind);
            if answer.is_ok() {
                state.numbers[at] = publication.number;
            }
            format!("publish {at} {publication:?}: {answer:?}")
        }
        8 => format!("list {folder}: {:?}", world.book.list(volume, folder).map_err(kind)),
        _ => match dice.below(6) {
            0 => format!("leave {at}: {:?}", world.book.leave(&member).map_err(kind)),
            1 => {
                format!("want {at} {folder}: {:?}", world.book.want(&member, folder).map_err(kind))
            }
            _ => {
                let look = world.book.look_up(volume, folder, &name("b")).map_err(kind);
                format!("look {folder}: {look:?}")
            }
        },
    }
}

struct State {
    members: [Membership; 3],
    numbers: [PublicationNumber; 3],
    epochs: std::collections::BTreeMap<(usize, FolderId), Epoch>,
}

fn publication(dice: &mut Dice, state: &State, at: usize, folder: FolderId) -> Publication {
    let inode = forebay_book::InodeNumber(2 + dice.below(12) as i64);
    let names = match dice.below(4) {
        0 => vec![],
        1 => vec![NameChange::Remove(name(["a", "b", "c"][dice.below(3) as usize]))],
        _ => vec![NameChange::Set(name(["a", "b", "c"][dice.below(3) as usize]), inode)],
    };
    let after = [After::Keep, After::Keep, After::GiveUp, After::Remove][dice.below(4) as usize];
    let claim = match state.epochs.get(&(at, folder)) {
        Some(epoch) if dice.below(8) > 0 => Claim::Held(*epoch),
        _ if dice.below(2) == 0 => Claim::Made,
        _ => Claim::Held(Epoch(dice.below(5) as i64)),
    };
    let record = match dice.below(4) {
        0 => FileRecord { kind: FileKind::Folder, bytes: FileBytes::None, ..small(inode, "") },
        1 => FileRecord { bytes: FileBytes::OnNode(NodeId(1)), size: 9, ..small(inode, "") },
        _ => small(inode, ["", "1", "22"][dice.below(3) as usize]),
    };
    let files = if dice.below(4) == 0 { vec![] } else { vec![record] };
    let number = match dice.below(10) {
        0 => state.numbers[at],
        _ => state.numbers[at].next(),
    };
    Publication { number, folders: vec![FolderChange { folder, claim, names, after }], files }
}

fn begin(world: &World) -> State {
    let registered = [1, 2, 3].map(|key| world.try_node(key, key).expect("registered"));
    let members = registered.map(|registration| registration.member);
    world.book.lend_inodes(&members[0], 12).expect("lent");
    State { members, numbers: [PublicationNumber(0); 3], epochs: Default::default() }
}

#[test]
fn both_books_answer_alike() {
    let seed = std::env::var("FOREBAY_SEED").ok().and_then(|text| text.parse().ok());
    let seeds: Vec<u64> = seed.map_or_else(|| (1..=6).collect(), |seed| vec![seed]);
    let mut met = std::collections::BTreeSet::new();
    for seed in seeds {
        let (memory, Some(postgres)) = (World::memory().expect("memory"), World::postgres()) else {
            return;
        };
        let mut sides = [(memory, Dice(seed * 7919)), (postgres, Dice(seed * 7919))]
            .map(|(world, dice)| (begin(&world), world, dice));
        for number in 0..STEPS {
            let [one, two] = &mut sides;
            let first = step(&one.1, &mut one.2, &mut one.0);
            let second = step(&two.1, &mut two.2, &mut two.0);
            assert_eq!(first, second, "step {number}: FOREBAY_SEED={seed}");
            for kind in [ErrorKind::Fenced, ErrorKind::LeaseExpired, ErrorKind::Inconsistent] {
                if first.contains(&format!("{kind:?}")) {
                    met.insert(format!("{kind:?}"));
                }
            }
        }
    }
    assert!(seed.is_some() || met.len() == 3, "these histories never met {met:?}");
}
