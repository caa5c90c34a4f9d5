//! Network interfaces: counters since boot. What goes past the kernel (RDMA) is not in them.

use super::{parse_number, split_lines, split_words};

/// A network interface since it came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Kernel name.
    pub name: String,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Bytes that went.
    pub sent_bytes: u64,
}

/// Parses `/proc/net/dev`: two lines of titles, then `name: received ... sent ...`.
pub fn parse_networks(text: &[u8]) -> Option<Vec<Network>> {
    let rows = split_lines(text).skip(2).filter(|line| !line.is_empty());
    rows.map(|line| {
        // The name may touch its first number, and an alias has a colon in it.
        let colon = line.iter().rposition(|byte| *byte == b':')?;
        let (name, rest) = (split_words(&line[..colon]).next()?, &line[colon + 1..]);
        let words: Vec<&[u8]> = split_words(rest).collect();
        Some(Network {
            name: String::from_utf8_lossy(name).into_owned(),
            received_bytes: parse_number(words.first()?)?,
            sent_bytes: parse_number(words.get(8)?)?,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    //! If this fails, a server's network looks idle while it is the bottleneck.
    use super::*;

    #[test]
    fn interfaces_are_read_as_the_kernel_writes_them() {
        let text = b"Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo: 1228950  16184    0    0    0     0          0         0  1228950   16184    0    0
eth0:1:9223372 75 0 0 0 0 0 0 42 1 0 0
";
        let found = parse_networks(text).expect("parsed");
        let row = |at: usize| {
            let network: &Network = &found[at];
            (network.name.as_str(), network.received_bytes, network.sent_bytes)
        };
        assert_eq!((found.len(), row(0)), (2, ("lo", 1_228_950, 1_228_950)));
        assert_eq!(row(1), ("eth0:1", 9_223_372, 42));
        assert_eq!(parse_networks(b"a\nb\neth0: 5\n"), None, "cut short");
    }
}
