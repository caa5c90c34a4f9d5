//! `--emulate`: a storage in two words.

use std::time::Duration;

use forebay_model::ByteCount;
use forebay_volume::fuse::Slowness;

/// `5ms,125MiB/s`, or the first of the two alone.
pub(in crate::commands) fn slowness(text: &str) -> Result<Slowness, String> {
    let (latency, bandwidth) = match text.split_once(',') {
        Some((latency, bandwidth)) => (latency, Some(bandwidth)),
        None => (text, None),
    };
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0)];
    let latency = units.iter().find_map(|(unit, factor)| {
        let number: f64 = latency.trim().strip_suffix(unit)?.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * factor).ok()
    });
    let latency = latency.ok_or("a latency is written like 5ms, 300us or 0.1s")?;
    let bandwidth = bandwidth.map(|text| {
        let amount =
            text.trim().strip_suffix("/s").ok_or("a bandwidth is written like 125MiB/s")?;
        amount.parse::<ByteCount>().map_err(|error| error.to_string())
    });
    Ok(Slowness { latency, bandwidth: bandwidth.transpose()? })
}

#[cfg(test)]
mod tests {
    //! A misread unit would emulate another storage.
    use super::*;

    #[test]
    fn amounts_are_understood() {
        let slow = |us, bytes: Option<u64>| Slowness {
            latency: Duration::from_micros(us),
            bandwidth: bytes.map(ByteCount),
        };
        assert_eq!(slowness("5ms,125MiB/s"), Ok(slow(5000, Some(125 << 20))));
        assert_eq!(slowness("300us"), Ok(slow(300, None)));
        assert_eq!(slowness(" 0.1 s , 1 GB/s"), Ok(slow(100_000, Some(1_000_000_000))));
        for wrong in ["5", "-5ms", "5ms,", "5ms,125MiB", "5ms,fast/s", "ms"] {
            assert!(slowness(wrong).is_err(), "{wrong}");
        }
    }
}
