// If these failed, a column would come back as another, or bytes that somebody made up would
// bring the reader down.
use proptest::prelude::*;

use super::*;
use crate::rans::{InstructionSet, SequenceKind, UnitReads, decode_sequence_by};

/// Lengths of reads, and a column that has as many bytes, of few or many symbols.
fn columns() -> impl Strategy<Value = (Vec<u32>, Vec<u8>)> {
    let lengths = prop_oneof![
        proptest::collection::vec(0_u32..300, 0..60),
        (1_u32..200, 1_usize..120).prop_map(|(len, count)| vec![len; count]),
    ];
    let alphabets = prop_oneof![
        Just(&b"ACGT"[..]),
        Just(&b"F"[..]),
        Just(&b"#F"[..]),
        Just(&b"#,:F"[..]),
        Just(&b"#'/<BF"[..]),
        Just(&b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJ"[..]),
    ];
    (lengths, alphabets, any::<u64>()).prop_map(|(lengths, alphabet, seed)| {
        let count: u32 = lengths.iter().sum();
        let mut state = seed | 1;
        let mut last = 0;
        let column = (0..count).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Often the same as before, as qualities are.
            if state.is_multiple_of(3) {
                last = (state >> 32) as usize % alphabet.len();
            }
            alphabet[last]
        });
        let column = column.collect();
        (lengths, column)
    })
}

fn decode_all(
    way: InstructionSet,
    bytes: &[u8],
    spans: &[u32],
    count: usize,
    widths: Option<&crate::rans::UnitWidths>,
) -> Result<(crate::kept_bytes::KeptBytes, usize)> {
    let reads = UnitReads { spans, count, widths, wanted: None };
    decode_sequence_by(way, bytes, reads).map(|decoded| (decoded.units, decoded.below))
}

/// Some reads of a column, of which no others are wanted.
fn decode_reads(id: u8, bytes: &[u8], shape: &ColumnShape<'_>, reads: ReadRange) -> Vec<u8> {
    let shape = ColumnShape { wanted: Some(reads), ..*shape };
    let mut column = open_column(id, bytes, &shape).expect("what was encoded");
    column.skip_reads(&shape.lengths[..reads.first]).expect("reads");
    let mut found = Vec::new();
    for len in &shape.lengths[reads.first..reads.end] {
        let mut read = vec![0; *len as usize + SLACK];
        column.write_read(&mut read, *len as usize).expect("a read");
        found.extend(&read[..*len as usize]);
    }
    found
}

/// What a second mate is told of the first.
fn packed_of(lengths: &[u32], column: &[u8]) -> Vec<u8> {
    let shape =
        ColumnShape { lengths, raw_len: column.len(), first: None, wanted: None, like: None };
    let bytes = (find_codec(BASES).expect("bases").encode)(column, &shape).expect("any bytes");
    expand_packed_bits(&bytes, column.len(), lengths.len()).expect("what was packed").to_vec()
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        "[A-Z]{1,3}[0-9]{1,4}:[0-9]{1,3}:[0-9]{1,6}:0{0,2}[0-9]{1,12} [12]:N:0:[ACGT]{6}",
        "read\\.[0-9]{1,3}/1",
        "V35L1C00[1-7]R0[0-9]{9}/1",
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12} ch=[0-9]{1,3}",
        "[ -~]{0,40}",
        "([0-9][a-z]){0,40}",
    ];
    let mixed = proptest::collection::vec(name, 0..80).boxed();
    let alike = proptest::collection::vec("V35L1C00[1-7]R0[0-9]{9}/1", 60..150).boxed();
    prop_oneof![3 => mixed, 1 => alike]
        .prop_map(|names| names.into_iter().flat_map(|name| (name + "\n").into_bytes()).collect())
}

/// Names with random digits, from a seed.
fn made_names(of: impl Fn(u64, u64) -> String) -> Vec<u8> {
    let mut state = 5_u64;
    let mut names = Vec::new();
    for number in 0..5000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 32) ^ state.rotate_left(29);
        names.extend((of(number, random) + "\n").into_bytes());
    }
    names
}

#[test]
fn names_of_mgi_and_nanopores_are_smaller_than_by_zstd() {
    let of_mgi = |number, random: u64| {
        let (column, row) = (1 + number % 7, 1 + number % 43);
        format!("V350012345L1C{column:03}R{row:03}{:07}/1", random % 10_000_000)
    };
    let of_a_pore = |_, random: u64| {
        let id = u128::from(random) << 64 | u128::from(random.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let hex = format!("{id:032x}");
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        let (read, channel) = (random % 40_000, random / 7 % 512);
        let minute = random / 11 % 60;
        format!(
            "{a}-{b}-{c}-{d}-{e} runid=0123456789abcdef read={read} ch={channel} t=10:{minute:02}"
        )
    };
    for names in [made_names(of_mgi), made_names(of_a_pore)] {
        let shape = ColumnShape {
            lengths: &[0; 5000],
            raw_len: names.len(),
            first: None,
            wanted: None,
            like: None,
        };
        let (id, bytes) = encode_column(&names, &shape, FOR_NAMES);
        assert_eq!(decode_column(id, &bytes, &shape).expect("names"), names);
        let zstd = zstd::bulk::compress(&names, 19).expect("memory to memory").len();
        assert!(bytes.len() < zstd, "{} bytes by {}, zstd -19 {zstd}", bytes.len(), codec_name(id));
    }
}

proptest! {
    #[test]
    fn columns_come_back_by_every_codec(
        (lengths, column) in columns(),
        (first, turned) in (proptest::collection::vec(any::<u8>(), 0..200), any::<bool>()),
        ends in any::<[proptest::sample::Index; 2]>(),
    ) {
        // The first mate's bases, or some others.
        let first = if turned { packed_of(&lengths, &column) } else { first };
        let shape = ColumnShape { lengths: &lengths, raw_len: column.len(), first: Some(&first), wanted: None, like: None };
        for codec in CODECS.iter().copied().chain([&bases::QUICK, &qualities::QUICK, &quality_strings::QUICK]) {
            // Of other bytes than bases, exceptions take care; names are lines.
            let other = column.iter().any(|byte| !b"ACGT".contains(byte));
            if codec.name.starts_with("bases") && other {
                continue;
            }
            if let Some(bytes) = (codec.encode)(&column, &shape) {
                let again = decode_column(codec.id, &bytes, &shape);
                prop_assert_eq!(again.expect(codec.name), &column[..], "{}", codec.name);
                let mut ends = ends.map(|end| end.index(lengths.len() + 1));
                ends.sort();
                let part: Vec<usize> = ends.iter().map(|end| lengths[..*end].iter().sum::<u32>() as usize).collect();
                let reads = ReadRange { first: ends[0], end: ends[1] };
                let found = decode_reads(codec.id, &bytes, &shape, reads);
                prop_assert_eq!(found, &column[part[0]..part[1]], "{}", codec.name);
            }
        }
    }

    #[test]
    fn names_come_back(names in names()) {
        let lengths = vec![0; names.iter().filter(|byte| **byte == b'\n').count()];
        let shape = ColumnShape { lengths: &lengths, raw_len: names.len(), first: None, wanted: None, like: None };
        let (id, bytes) = encode_column(&names, &shape, FOR_NAMES);
        prop_assert_eq!(decode_column(id, &bytes, &shape).expect("names"), &names[..]);
        let codec = find_codec(5).expect("names");
        let bytes = (codec.encode)(&names, &shape).expect("any names");
        prop_assert_eq!(decode_column(5, &bytes, &shape).expect("names"), names);
    }

    #[test]
    fn vectors_and_plain_arithmetic_agree((lengths, column) in columns(), bytes: bool) {
        let kind = if bytes { SequenceKind::Bytes } else { SequenceKind::Qualities };
        let bytes = crate::rans::encode_sequence(&column, &lengths, 128, kind, None);
        for way in InstructionSet::all_supported() {
            let again = decode_all(way, &bytes, &lengths, column.len(), None);
            prop_assert_eq!(&again.expect("what was encoded").0[..], &column[..], "{:?}", way);
        }
    }

    #[test]
    fn vectors_and_plain_arithmetic_agree_on_strings(
        (lengths, column) in columns(),
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        quick: bool,
    ) {
        let kind = if quick { SequenceKind::Quick } else { SequenceKind::Qualities };
        // Units of one to four places, as they fit into reads.
        let widths: [u8; 256] = std::array::from_fn(|unit| 1 + (unit % 4) as u8);
        let mut units = Vec::new();
        let mut bytes = column.iter().cycle();
        for len in &lengths {
            let mut left = *len;
            while left > 0 {
                let unit = bytes.next().expect("letters") % 128;
                let fits = u32::from(widths[usize::from(unit)]) <= left;
                let unit = if fits { unit } else { unit & !3 };
                units.push(unit);
                left -= u32::from(widths[usize::from(unit)]);
            }
        }
        let mut bytes = crate::rans::encode_strings(&units, &lengths, &widths, 128, kind, None);
        for way in InstructionSet::all_supported() {
            let again = decode_all(way, &bytes, &lengths, units.len(), Some(&widths));
            prop_assert_eq!(&again.expect("what was encoded").0[..], &units[..], "{:?}", way);
        }
        for (at, with) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        let decoded = |way| {
            let again = decode_all(way, &bytes, &lengths, units.len(), Some(&widths));
            again.ok().map(|(units, below)| (units.to_vec(), below))
        };
        for way in InstructionSet::all_supported() {
            prop_assert_eq!(decoded(way), decoded(InstructionSet::Scalar), "{:?}", way);
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_other_bytes(
        (lengths, column) in columns(),
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<proptest::sample::Index>(),
    ) {
        let first = packed_of(&lengths, &column);
        let shape = ColumnShape { lengths: &lengths, raw_len: column.len(), first: Some(&first), wanted: None, like: None };
        for codec in CODECS {
            let Some(mut bytes) = (codec.encode)(&column, &shape) else { continue };
            let whole = bytes.clone();
            for (at, with) in &flips {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= with;
                }
            }
            // Whatever comes of it: no panic, no more bytes than were promised.
            for bytes in [&bytes[..], &whole[..cut.index(whole.len() + 1)]] {
                if let Ok(raw) = decode_column(codec.id, bytes, &shape) {
                    prop_assert_eq!(raw.len(), column.len());
                }
            }
        }
        // Damage is the same to all ways, too.
        let mut bytes = crate::rans::encode_sequence(&column, &lengths, 128, SequenceKind::Qualities, None);
        for (at, with) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        let decoded = |way| {
            let again = decode_all(way, &bytes, &lengths, column.len(), None);
            again.ok().map(|(units, below)| (units.to_vec(), below))
        };
        for way in InstructionSet::all_supported() {
            prop_assert_eq!(decoded(way), decoded(InstructionSet::Scalar), "{:?}", way);
        }
    }

    #[test]
    fn bytes_of_nobody_are_no_danger(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        lengths in proptest::collection::vec(0_u32..50, 0..20),
        raw_len in 0_usize..1000,
    ) {
        for codec in CODECS {
            let first = Some(&bytes[..]).filter(|_| raw_len % 2 == 0);
            let shape = ColumnShape { lengths: &lengths, raw_len, first, wanted: None, like: None };
            let _ = decode_column(codec.id, &bytes, &shape);
            let _ = expand_packed_bits(&bytes, raw_len, lengths.len());
        }
    }
}

#[test]
fn qualities_of_many_levels_are_strings_where_that_pays() {
    let lengths = [100; 20_000];
    let mut state = 3_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    // Mostly as before, else one of two.
    let mut level = 20;
    let runs: Vec<u8> = (0..2_000_000)
        .map(|_| {
            if random(8) == 0 {
                level = 12 + 20 * random(2);
            } else if random(50) == 0 {
                level = random(40);
            }
            b'!' + level as u8
        })
        .collect();
    // Each level has neighbours of its own, so strings of it need many tables.
    let walk: Vec<u8> = (0..2_000_000)
        .map(|_| {
            if random(4) == 0 {
                level = (level + random(7)).saturating_sub(3).min(39);
            }
            b'!' + level as u8
        })
        .collect();
    let strings = find_codec(7).expect("strings");
    let shape = ColumnShape {
        lengths: &lengths,
        raw_len: runs.len(),
        first: None,
        wanted: None,
        like: None,
    };
    for column in [&runs, &walk] {
        let single = (find_codec(4).expect("single").encode)(column, &shape).expect("any");
        if let Some(bytes) = (strings.encode)(column, &shape) {
            assert_eq!(&decode_column(7, &bytes, &shape).expect("strings"), column);
            assert!(bytes.len() * 1000 <= single.len() * 1015, "{} {}", bytes.len(), single.len());
        }
        let bytes = (quality_strings::QUICK.encode)(column, &shape).expect("fewer bits than eight");
        assert_eq!(&decode_column(7, &bytes, &shape).expect("strings"), column);
    }
    assert!((strings.encode)(&walk, &shape).is_none(), "strings that cost more");
    let few = ColumnShape { lengths: &lengths[..4000], raw_len: 400_000, ..shape };
    assert!((strings.encode)(&runs[..400_000], &few).is_none(), "tables of few qualities");
}

#[test]
fn numbers_of_codecs_are_theirs_alone() {
    let ids: Vec<u8> = CODECS.iter().map(|codec| codec.id).collect();
    assert_eq!(ids, (0..CODECS.len() as u8).collect::<Vec<u8>>());
    let shape = ColumnShape { lengths: &[], raw_len: 0, first: None, wanted: None, like: None };
    assert!(decode_column(200, b"", &shape).expect_err("no codec").to_string().contains("200"));
}
