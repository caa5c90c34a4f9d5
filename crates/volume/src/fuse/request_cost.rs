//! What a request takes on its way to Forebay and back, beside all that it does there: the price of
//! a record, which a plan takes off again.
//!
//! A program in the covered directory asks for an extended attribute that nobody has, which is
//! answered before anything is looked up, delayed or counted; what that took it tells in the name of
//! another one. Names below `system.` ask for no permission (`xattr_permission` of Linux's
//! `fs/xattr.c`), so the kernel sends these requests and no others.

use std::ffi::CString;

use rustix::io::{Errno, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::abi::{self, InHeader, op};
use super::reply_path::ReplyPath;
use forebay_os::clock::Clock;

const NAME: &str = "system.forebay.request";
/// As many are timed. The quickest counts: what others take depends on who is asleep and on which
/// core, from 8 to 56 us on one machine, and a plan may not take off what was not there. While many
/// requests come, CPUs are kept awake (`fast_wake`), which begins some 1 ms after the first: with 61
/// it was luck whether the quickest was one of these.
const TIMED: u32 = 300;
/// What is answered.
const ANSWER: &[u8] = b"here";

/// Such a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CostProbe {
    /// How long is the way?
    Way,
    /// So many nanoseconds.
    Took(u64),
}

impl CostProbe {
    /// `None`: it is another request.
    pub(super) fn from_request(header: &InHeader, body: &[u8]) -> Option<CostProbe> {
        if header.opcode != op::GETXATTR {
            return None;
        }
        let name = body.get(size_of::<abi::GetxattrIn>()..)?.strip_suffix(b"\0")?;
        let rest = std::str::from_utf8(name.strip_prefix(NAME.as_bytes())?).ok()?;
        match rest.strip_prefix('.') {
            Some(nanos) => nanos.parse().ok().map(CostProbe::Took),
            None => rest.is_empty().then_some(CostProbe::Way),
        }
    }
}

/// Answers such a request as getxattr(2) does: with the length for who asks for no bytes, and ERANGE
/// for who has too little room.
pub(super) fn answer_probe(header: &InHeader, body: &[u8], reply: ReplyPath<'_>) {
    let room = abi::GetxattrIn::ref_from_prefix(body).map_or(0, |(ask, _)| ask.size as usize);
    let length = abi::GetxattrOut { size: ANSWER.len() as u32, padding: 0 };
    match room {
        0 => reply.send_reply(header.unique, &[length.as_bytes()]),
        room if room < ANSWER.len() => reply.send_error(header.unique, Errno::RANGE),
        _ => reply.send_reply(header.unique, &[ANSWER]),
    }
}

/// Times the way from the working directory, and tells the daemon that serves it. Where no daemon
/// does, nobody is told.
///
/// # Errors
/// The working directory is on another file system.
pub(crate) fn measure_request_cost(clock: &impl Clock) -> Result<()> {
    let ask = |name: &str| {
        let name = CString::new(name).expect("a plain name");
        rustix::fs::getxattr(c".", &*name, &mut [0; ANSWER.len()][..]).map(drop)
    };
    let mut least = u64::MAX;
    for _ in 0..TIMED {
        let began = clock.elapsed_nanos();
        ask(NAME)?;
        least = least.min(clock.elapsed_nanos() - began);
    }
    ask(&format!("{NAME}.{least}"))
}

#[cfg(test)]
mod tests {
    //! If these fail, a program's own attributes are answered in its file system's place.
    use super::*;

    fn asked(opcode: u32, name: &[u8]) -> Option<CostProbe> {
        let header = InHeader { opcode, ..InHeader::default() };
        CostProbe::from_request(&header, &[&[0; size_of::<abi::GetxattrIn>()], name].concat())
    }

    #[test]
    fn these_names_and_no_others_are_meant() {
        assert_eq!(asked(op::GETXATTR, b"system.forebay.request\0"), Some(CostProbe::Way));
        assert_eq!(
            asked(op::GETXATTR, b"system.forebay.request.17500\0"),
            Some(CostProbe::Took(17500))
        );
        for other in [
            &b"system.forebay.requests\0"[..],
            b"system.forebay.request.\0",
            b"system.forebay.request.-1\0",
            b"system.forebay.request.99999999999999999999\0",
            b"system.forebay.request",
            b"user.forebay.request\0",
            b"system.posix_acl_access\0",
            b"\0",
            b"",
        ] {
            assert_eq!(asked(op::GETXATTR, other), None, "{other:?}");
        }
        assert_eq!(asked(op::REMOVEXATTR, b"system.forebay.request\0"), None);
        assert_eq!(
            CostProbe::from_request(
                &InHeader { opcode: op::GETXATTR, ..InHeader::default() },
                b"s"
            ),
            None
        );
    }
}
