//! What the kernel believes of files that move, where a rule lets it believe them for long. If these
//! fail, it believes an answer of before for longer than was promised, or asks again without need.

use std::ffi::CStr;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::*;
use crate::fuse::Device;
use crate::native::TRUST;

const TRUSTED: &str = "[[metadata_cache]]\nmatch = '**'\ntimeout = '1 min'\n";
const MINUTE: Duration = Duration::from_secs(60);

/// What a kernel would hear of nodes and names.
struct Heard(UnixDatagram);

impl Heard {
    fn of(ground: &Ground) -> Heard {
        let (ours, kernels) = UnixDatagram::pair().expect("made");
        kernels.set_nonblocking(true).expect("set");
        ground.native.connect_kernel(
            Arc::new(Device::new(ours.into()).with_expiry(true)),
            false,
            true,
        );
        Heard(kernels)
    }

    /// All since it was asked last: what it is about (2: a node, 3: a name), and the number of the
    /// node, or of the name's directory.
    fn since(&self) -> Vec<(i32, u64)> {
        let mut note = [0; 512];
        let mut all = Vec::new();
        while self.0.recv(&mut note).is_ok() {
            let code = i32::from_ne_bytes(note[4..8].try_into().expect("four"));
            all.push((code, u64::from_ne_bytes(note[16..24].try_into().expect("eight"))));
        }
        all
    }
}

fn trusted() -> (Ground, Heard) {
    let ground = Ground::with("", &format!("{RULES}{TRUSTED}"));
    let heard = Heard::of(&ground);
    (ground, heard)
}

fn trust(ground: &Ground, name: &CStr) -> (Duration, Duration) {
    let (entry, _) = ground.native.lookup(ROOT, name).expect("there");
    (entry.name_trust, entry.attr_trust)
}

#[test]
fn who_has_left_its_place_is_believed_no_longer() {
    let (ground, heard) = trusted();
    let id = ground.write("a.txt", "words");
    ground.rename("a.txt", "a.sam");
    assert_eq!(trust(&ground, c"a.sam"), (MINUTE, MINUTE));
    heard.since();
    ground.native.migrate_due_files(EVER);
    assert!(ground.is_link("a.sam"));
    assert_eq!(heard.since(), [(2, id), (3, ROOT)]);
    assert_eq!(trust(&ground, c"a.sam"), (TRUST, TRUST));
    assert_eq!(ground.read(id), "words");
    assert!(heard.since().is_empty(), "once is enough");
    // Had the kernel been told anything later, who opens the file would not believe it.
    ground.native.node(id).expect("known").told.store(1, Relaxed);
    assert_eq!((ground.read(id), heard.since()), ("words".to_owned(), vec![(2, id)]));
    assert_eq!((ground.read(id), heard.since()), ("words".to_owned(), vec![]));
    ground.go_home();
}

#[test]
fn who_has_come_home_is_believed_again() {
    let (ground, heard) = trusted();
    let id = ground.write("a.bam", "words");
    ground.native.migrate_due_files(EVER);
    assert!(!ground.is_link("a.bam"));
    assert_eq!(trust(&ground, c"a.bam"), (MINUTE, MINUTE));
    heard.since();
    assert_eq!(ground.read(id), "words");
    ground.native.getattr(id, None).expect("there");
    assert_eq!(ground.read(id), "words");
    assert!(heard.since().is_empty(), "it is as it was told");
    fs::write(ground.home.join("a.bam"), "others").expect("written");
    assert_eq!((ground.read(id), heard.since()), ("others".to_owned(), vec![(2, id)]));
    ground.go_home();
}
