//! A BAM, unpacked: all of its reads are written as FASTQ.

use super::FuzzTarget;
use crate::spots::BamReader;

pub(super) const TARGET: FuzzTarget = FuzzTarget { name: "bam", feed, seeds };

fn feed(bytes: &[u8]) {
    let Ok(mut bam) = BamReader::open(bytes) else { return };
    let mut out = Vec::new();
    while let Ok(Some(_)) = bam.next_read() {
        out.clear();
        if bam.write_fastq(&mut out).is_ok() {
            assert!(out.starts_with(b"@") && out.ends_with(b"\n"));
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut file = b"BAM\x01".to_vec();
    let text = b"@HD\tVN:1.6\tSO:coordinate\n@PG\tID:forebay\tPN:forebay\tVN:1\n";
    file.extend((text.len() as u32).to_le_bytes());
    file.extend(text);
    file.extend(b"\x01\0\0\0\x02\0\0\0c\0\xe8\x03\0\0");
    for (flag, bases) in [(0x41_u16, 5_u32), (0x91, 6), (0x4, 0), (0x841, 3)] {
        // A name of one letter, one operation of CIGAR, tags of three sorts.
        let mut line = vec![0, 0, 0, 0, 7, 0, 0, 0, 2, 60, 0, 0, 1, 0];
        line.extend(flag.to_le_bytes());
        line.extend(bases.to_le_bytes());
        line.extend([0; 12]);
        line.extend(b"n\0\x40\0\0\0");
        line.extend(vec![0x18; bases.div_ceil(2) as usize]);
        line.extend(vec![40; bases as usize]);
        line.extend(b"NMC\x01XBBs\x02\0\0\0\x01\0\x02\0fcZ 1:N:0\0");
        file.extend((line.len() as u32).to_le_bytes());
        file.extend(line);
    }
    vec![file]
}
