//! If these fail, programs wait for another storage than the one that was asked for.
use super::*;
use crate::fuse::abi::{OutHeader, WriteIn, op};
use forebay_model::{Op, Rate, Seconds};
use forebay_os::clock::ManualClock;
use zerocopy::IntoBytes;

fn slow() -> StorageProfile {
    let mut profile = StorageProfile::zero_cost("a test");
    profile.set_latencies(Op::Lookup, Seconds(5e-3));
    profile.write.total = Some(Rate(1e6));
    profile.keeps_written = false;
    profile
}

fn header(opcode: u32) -> InHeader {
    InHeader { opcode, nodeid: 1, ..InHeader::default() }
}

#[test]
fn replies_go_in_the_order_of_their_time() {
    let late = ReplyDelayer::new(&slow(), Arc::new(ManualClock::default()), None);
    let (mut reader, writer) = std::io::pipe().expect("pipe");
    let file = Arc::new(File::from(std::os::fd::OwnedFd::from(writer)));
    let (head, write) = (OutHeader::default(), WriteIn { size: 1_000_000, ..WriteIn::default() });
    let keep = |opcode: u32, body: &[u8], text: &str| {
        let asked = late.begin_request(&header(opcode), body);
        let parts = [head.as_bytes(), text.as_bytes()].map(std::io::IoSlice::new);
        asked.and_then(|asked| late.delay_reply(&asked, &file, &parts)).is_some()
    };
    assert!(keep(op::WRITE, write.as_bytes(), "after its bytes"));
    assert!(keep(op::LOOKUP, &[], "after 5 ms"));
    for opcode in [op::RELEASE, op::IOCTL, op::OPEN] {
        assert!(!keep(opcode, &[0; 64], "costs nothing"), "{opcode}");
    }
    drop(file);
    let (queue, clock) = (Arc::clone(&late.queue), ManualClock::default());
    clock.advance(2_000_000_000);
    drop(late);
    send_when_due(&queue, &clock);
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut text).expect("read");
    let told = String::from_utf8_lossy(&text).replace('\0', "");
    assert_eq!(told, "after 5 msafter its bytes");
}

#[test]
fn what_is_believed_is_bounded_by_the_profile() {
    let mut profile = slow();
    let late = |profile: &StorageProfile, collects| {
        let mut late = ReplyDelayer::new(profile, Arc::new(ManualClock::default()), None);
        late.collects = collects;
        late
    };
    let second = Duration::from_secs(1);
    let (alone, one_of_many) = (late(&profile, true), late(&profile, false));
    assert!(!alone.closes);
    assert_eq!(
        [alone.client_timeout(second), one_of_many.client_timeout(second)],
        [TRUST_WATCHED, second]
    );
    profile.attributes_for = Some(Seconds(3.0));
    profile.set_latencies(Op::Flush, Seconds(1e-3));
    let (alone, one_of_many) = (late(&profile, true), late(&profile, false));
    assert!(alone.closes);
    assert_eq!(
        [alone.client_timeout(second), one_of_many.client_timeout(second)],
        [3 * second, second]
    );
    assert_eq!(one_of_many.client_timeout(9 * second), 3 * second);
    assert_eq!(alone.client_timeout(Duration::ZERO), Duration::ZERO, "what must not be believed");
}
