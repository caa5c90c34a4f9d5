//! If these failed, somebody's reads would come back with other bytes than went in.

use std::sync::Arc;

use forebay_reads::{
    ArchiveLayout, Kind, LAYOUTS, PROFILES, PackProfile, ReadSelection, TextFormat,
};
use proptest::prelude::*;

use crate::common::{cat, part, try_pack, try_pack_as};

/// How a file is written.
#[derive(Clone, Copy, Debug)]
struct Style {
    crlf: bool,
    twice: bool,
    open: bool,
}

fn style() -> impl Strategy<Value = Style> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(crlf, twice, open)| Style {
        crlf,
        twice,
        open,
    })
}

/// A line or two for each record.
fn lines(records: &[Record], line: impl Fn(&str, &str) -> String) -> Vec<u8> {
    records.iter().map(|(name, bases, _)| line(name, bases)).collect::<String>().into_bytes()
}

/// A text whose qualities are all `!`, with `?` in their place.
fn with_qualities(mut text: Vec<u8>, records: &[Record], style: Style) -> Vec<u8> {
    let end = if style.crlf { 2 } else { 1 };
    let mut at = 0;
    for (name, bases, _) in records {
        let behind = if style.twice { name.len() + 2 } else { 0 };
        at += 1 + name.len() + 2 + end + bases.len() + end + 1 + behind + end;
        text[at..at + bases.len()].fill(b'?');
        at += bases.len() + end;
    }
    text
}

type Record = (String, String, u8);

fn records() -> impl Strategy<Value = Vec<Record>> {
    let name = prop_oneof!["M[0-9]{3}:1:[0-9]{4}:[0-9]{1,5}", "[!-~]{0,20}", "r\\.[0-9]{1,3} x"];
    let bases = prop_oneof!["[ACGT]{0,60}", "[ACGTN]{20}", "[ACGTNacgtnRYKM.-]{0,30}"];
    proptest::collection::vec((name, bases, any::<u8>()), 0..40)
}

fn text(records: &[Record], mate: char, style: Style) -> Vec<u8> {
    let end = if style.crlf { "\r\n" } else { "\n" };
    let mut text = String::new();
    for (name, bases, seed) in records {
        let name = format!("{name}/{mate}");
        let behind = if style.twice { &name[..] } else { "" };
        let quality = |nth: usize| char::from(b'!' + ((nth * usize::from(*seed)) % 41) as u8);
        let qualities: String = (0..bases.len()).map(quality).collect();
        text += &format!("@{name}{end}{bases}{end}+{behind}{end}{qualities}{end}");
    }
    if style.open && !records.is_empty() {
        text.truncate(text.len() - end.len());
    }
    text.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_file_comes_back(records in records(), style in style(), from in 0_u64..3000, len in 0_usize..3000) {
        let whole = text(&records, '1', style);
        let packed = try_pack(&[&whole], false).expect("packed");
        let archive = Arc::new(packed.open());
        prop_assert_eq!(&cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("whole"), &whole);
        let part = part(&archive, from, len);
        let start = whole.len().min(from as usize);
        prop_assert_eq!(part, &whole[start..whole.len().min(start + len)]);
        prop_assert_eq!(archive.verify(1, |_| ()).expect("looked").problems, Vec::<String>::new());
        if !records.is_empty() {
            prop_assert_eq!(packed.manifest.spot_count(), records.len() as u64);
        }
    }

    #[test]
    fn pairs_come_back(records in records(), style in style(), other in style()) {
        let (first, second) = (text(&records, '1', style), text(&records, '2', other));
        let packed = try_pack(&[&first, &second], false).expect("packed");
        let archive = packed.open();
        prop_assert_eq!(&cat(&archive, ReadSelection::Mate(0), TextFormat::Fastq).expect("first"), &first);
        prop_assert_eq!(&cat(&archive, ReadSelection::Mate(1), TextFormat::Fastq).expect("second"), &second);
        prop_assert_eq!(&cat(&archive, ReadSelection::File(1), TextFormat::Fastq).expect("second"), &second);
        prop_assert_eq!(archive.verify(2, |_| ()).expect("looked").problems, Vec::<String>::new());
        let both = cat(&archive, ReadSelection::Both, TextFormat::Fastq).expect("both");
        let ends = usize::from(first.last().is_some_and(|last| *last != b'\n'))
            + usize::from(second.last().is_some_and(|last| *last != b'\n'));
        prop_assert_eq!(both.len(), first.len() + second.len() + ends);
        if packed.manifest.as_text_bytes == 0 {
            for (mate, text) in [&first, &second].into_iter().enumerate() {
                let bases = cat(&archive, ReadSelection::Mate(mate), TextFormat::Bases).expect("bases");
                prop_assert_eq!(bases, lines(&records, |_, bases| format!("{bases}\n")));
                let fasta = cat(&archive, ReadSelection::Mate(mate), TextFormat::Fasta).expect("fasta");
                let style = if mate == 0 { style } else { other };
                let end = if style.crlf { "\r\n" } else { "\n" };
                let both = |name: &str, bases: &str| format!(">{name}/{}{end}{bases}{end}", mate + 1);
                prop_assert_eq!(fasta, lines(&records, both));
                let alike = records.iter().map(|(name, bases, _)| (name.clone(), bases.clone(), 0));
                let alike = self::text(&alike.collect::<Vec<_>>(), ['1', '2'][mate], style);
                let lite = cat(&packed.open().into_lite(), ReadSelection::Mate(mate), TextFormat::Fastq).expect("lite");
                prop_assert_eq!(lite.len(), text.len());
                prop_assert_eq!(lite, with_qualities(alike, &records, style));
            }
        }
    }

    #[test]
    fn mates_in_turns_come_back(records in records(), style in style()) {
        let whole = Style { open: false, ..style };
        let mut turns = Vec::new();
        for record in &records {
            turns.extend(text(std::slice::from_ref(record), '1', whole));
            turns.extend(text(std::slice::from_ref(record), '2', whole));
        }
        let packed = try_pack(&[&turns], true).expect("packed");
        let archive = packed.open();
        prop_assert_eq!(&cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("whole"), &turns);
        prop_assert_eq!(&cat(&archive, ReadSelection::Both, TextFormat::Fastq).expect("both"), &turns);
        prop_assert_eq!(cat(&archive, ReadSelection::Mate(1), TextFormat::Fastq).expect("second"), text(&records, '2', whole));
        prop_assert_eq!(archive.verify(1, |_| ()).expect("looked").problems, Vec::<String>::new());
    }

    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let packed = try_pack(&[&bytes], false).expect("packed");
        let archive = packed.open();
        prop_assert_eq!(&cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("whole"), &bytes);
        prop_assert_eq!(archive.verify(1, |_| ()).expect("looked").problems, Vec::<String>::new());
    }
}

#[test]
fn many_groups_and_stripes_come_back_from_any_offset() {
    // 90 MiB: 23 groups, two stripes. Names and qualities go on and change.
    let mut whole = Vec::new();
    let mut state = 7_u64;
    let mut nth = 0;
    while whole.len() < 90 << 20 {
        let mut bases = [0_u8; 100];
        for base in &mut bases {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *base = b"ACGT"[(state >> 60) as usize & 3];
        }
        let mut qualities = [b'F'; 100];
        qualities[(state >> 40) as usize % 100..].fill(b'#');
        whole.extend(format!("@M:{}:{nth} 1:N\n", nth / 5000).bytes());
        whole.extend(bases);
        whole.extend(b"\n+\n");
        whole.extend(qualities);
        whole.push(b'\n');
        nth += 1;
    }
    let packed = try_pack(&[&whole], false).expect("packed");
    assert!(packed.manifest.stripes.len() == 2, "{} stripes", packed.manifest.stripes.len());
    let archive = Arc::new(packed.open());
    assert!(cat(&archive, ReadSelection::File(0), TextFormat::Fastq).expect("whole") == whole);
    let ends = whole.len() as u64;
    for offset in [0, 1, (4 << 20) - 3, 41_234_567, (64 << 20) + 7, ends - 5, ends, ends + 9] {
        let part = part(&archive, offset, 4096);
        let start = whole.len().min(offset as usize);
        assert!(part == whole[start..whole.len().min(start + 4096)], "at {offset}");
    }
    let size: u64 = packed.manifest.objects.iter().map(|(_, len)| *len).sum();
    assert!(size < ends / 4, "{size} of {ends} bytes");
}

#[test]
fn reads_by_number_are_those_and_no_others() {
    // Three groups of pairs, so that ranges begin and end in each.
    let record = |nth: u64, mate: char| {
        let len = (nth % 3) as usize;
        format!("@r{nth}/{mate}\tx\n{}\n+\n{}\n", &"ACGT".repeat(50)[len..], "F".repeat(200 - len))
    };
    let count = 25_000;
    let mate = |mate| (0..count).map(|nth| record(nth, mate)).collect::<String>();
    let (first, second) = (mate('1'), mate('2'));
    let packed = try_pack(&[first.as_bytes(), second.as_bytes()], false).expect("packed");
    let archive = packed.open();
    let write = |spots: std::ops::Range<u64>, view, form| {
        let mut out = Vec::new();
        archive.write_spots(spots, view, form, 2, &mut out).expect("written");
        String::from_utf8(out).expect("text")
    };
    let groups = archive.column_totals().expect("an index")[0].chunks / 2;
    assert!(groups >= 3, "{groups} groups");
    for (from, to) in [(0, 1), (0, count), (9_900, 10_300), (20_001, 20_002), (24_999, 99_999)] {
        let own = from..to.min(count);
        let expected: String = own.clone().map(|nth| record(nth, '2')).collect();
        assert!(
            write(from..to, ReadSelection::Mate(1), TextFormat::Fastq) == expected,
            "{from} to {to}"
        );
        let turns: String = own.clone().map(|nth| record(nth, '1') + &record(nth, '2')).collect();
        assert!(write(from..to, ReadSelection::Both, TextFormat::Fastq) == turns, "{from} to {to}");
        let table = write(from..to, ReadSelection::Both, TextFormat::Tab);
        assert_eq!(table.lines().count() as u64, own.end - own.start);
        let line: Vec<&str> = table.lines().next().expect("a line").split('\t').collect();
        let names = [format!("r{from}/1 x"), format!("r{from}/2 x")];
        assert_eq!((line.len(), line[0], line[3]), (6, &names[0][..], &names[1][..]));
        assert_eq!((line[1], line[2].len()), (line[4], line[5].len()));
    }
    let mut out = Vec::new();
    let error =
        archive.write_spots(count..count + 9, ReadSelection::Both, TextFormat::Fastq, 1, &mut out);
    let error = error.expect_err("no such reads");
    assert_eq!(error.kind, Kind::Request);
    assert!(error.message.contains("reads 25001 to 25009: it has 25000"), "{error}");
}

#[test]
fn every_profile_gives_back_its_pairs() {
    // A fragment's two reads overlap, so that the second mate leans on the first where it may.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut texts = [String::new(), String::new()];
    for nth in 0..400 {
        let bases: String = (0..80).map(|_| char::from(b"ACGT"[next(4) as usize])).collect();
        let turned = bases.chars().rev().map(|base| match base {
            'A' => 'T',
            'C' => 'G',
            'G' => 'C',
            _ => 'A',
        });
        for (mate, bases) in [bases.clone(), turned.collect()].into_iter().enumerate() {
            let quality = |at: u64| char::from(b'!' + (40 - at * next(3) / 5) as u8);
            let qualities: String = (0..80).map(quality).collect();
            texts[mate] += &format!("@M1:{nth}/{}\n{bases}\n+\n{qualities}\n", mate + 1);
        }
    }
    for profile in PROFILES {
        let texts_of_both = [texts[0].as_bytes(), texts[1].as_bytes()];
        let packed =
            try_pack_as(*profile, ArchiveLayout::default(), &texts_of_both, false).expect("packed");
        let archive = packed.open();
        for (mate, text) in texts.iter().enumerate() {
            let again = cat(&archive, ReadSelection::Mate(mate), TextFormat::Fastq).expect("whole");
            assert!(again == text.as_bytes(), "mate {mate} with {profile:?}");
        }
        let codecs: Vec<_> =
            archive.column_totals().expect("index").iter().map(|t| t.codec).collect();
        let leans = codecs.contains(&"bases behind");
        assert_eq!(leans, profile.name != "fast", "{profile:?} has {codecs:?}");
        // Of so few, and so different, only the quick ones are strings.
        let expected = if profile.name == "fast" { "quality strings" } else { "qualities" };
        assert!(codecs.contains(&expected), "{profile:?} has {codecs:?}");
    }
}

#[test]
fn every_layout_gives_back_its_pairs_and_those_with_qualities_apart_need_none_for_the_rest() {
    // Two stripes, so that every kind of object ends once.
    let record = |nth: u32, mate: char| {
        let bases: String =
            (0..100).map(|at| ['A', 'C', 'G', 'T'][at * nth as usize % 7 % 4]).collect();
        let qualities: String =
            (0..100).map(|at| char::from(b'#' + (at ^ nth as u8) % 32)).collect();
        format!("@M:{nth}/{mate}\n{bases}\n+\n{qualities}\n")
    };
    let texts =
        ['1', '2'].map(|mate| (0..330_000).map(|nth| record(nth, mate)).collect::<String>());
    let qualities = |name: &str| name.starts_with("qualities-");
    for layout in LAYOUTS {
        let both = [texts[0].as_bytes(), texts[1].as_bytes()];
        let packed = try_pack_as(PackProfile::default(), *layout, &both, false).expect("packed");
        let archive = packed.open();
        for (mate, text) in texts.iter().enumerate() {
            let again = cat(&archive, ReadSelection::File(mate), TextFormat::Fastq).expect("whole");
            assert!(again == text.as_bytes(), "file {mate} with {layout:?}");
        }
        assert!(archive.verify(2, |_| ()).expect("looked").problems.is_empty(), "{layout:?}");
        let names: Vec<&str> = packed.manifest.objects.iter().map(|(name, _)| &name[..]).collect();
        let apart = names.iter().filter(|name| qualities(name)).count();
        let expected = match layout.name {
            "together" => (2, 0),
            "apart" => (3, 1),
            // Bases, names and qualities of each stripe, and the index.
            "each" => (1 + 3 * packed.manifest.stripes.len(), packed.manifest.stripes.len()),
            name => panic!("{name} is new: what are its objects?"),
        };
        assert_eq!((names.len(), apart), expected, "{names:?}");
        assert_eq!(packed.manifest.stripes.len(), 2);
        let fasta = cat(&archive, ReadSelection::Mate(1), TextFormat::Fasta).expect("whole");
        for name in names.iter().filter(|name| qualities(name)) {
            std::fs::remove_file(packed.path().join(name)).expect("an object");
        }
        let archive = packed.open();
        assert!(
            cat(&archive, ReadSelection::Mate(1), TextFormat::Fasta).expect("no qualities")
                == fasta
        );
        let whole = cat(&archive, ReadSelection::Mate(1), TextFormat::Fastq);
        assert_eq!(whole.is_err(), apart > 0, "{layout:?}");
        let lite = cat(&archive.into_lite(), ReadSelection::Mate(1), TextFormat::Fastq)
            .expect("no qualities");
        assert_eq!(lite.len(), texts[1].len());
    }
}
