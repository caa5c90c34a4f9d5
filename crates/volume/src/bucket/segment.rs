//! One object of a volume's log: records, then the bytes of small files that they speak of. Who
//! reads the tree asks for the first part alone.

use super::tree_record::TreeRecord;

/// Before everything else in a segment.
pub(crate) const MAGIC: [u8; 8] = *b"FBYSEG\x01\0";
/// The magic, the number, lengths and checksums.
pub(crate) const HEADER: usize = 48;

/// A segment that is being filled.
#[derive(Debug, Default)]
pub(crate) struct SegmentDraft {
    records: Vec<u8>,
    data: Vec<u8>,
    count: u32,
}

/// What the start of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) number: u64,
    /// Records, and their bytes and checksum.
    pub(crate) count: u32,
    pub(crate) records: u32,
    crc: u32,
    pub(crate) data: u64,
}

/// What is wrong with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentError {
    /// It is none of ours, or of another format.
    Foreign,
    /// It is not what was written.
    Broken,
    /// It is what was written, and no writer of a volume writes that:
    /// `TreeRecord::validation_error`.
    Unfit(&'static str),
}

impl std::fmt::Display for SegmentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SegmentError::Foreign => "it is of another format",
            SegmentError::Broken => "it is damaged",
            SegmentError::Unfit(why) => why,
        })
    }
}

impl SegmentDraft {
    pub(crate) fn append_record(&mut self, record: &TreeRecord<'_>) {
        let records = std::mem::take(&mut self.records);
        // A vector takes whatever there is.
        self.records = postcard::to_extend(record, records).expect("it has room");
        self.count += 1;
    }

    /// Takes bytes in; tells where they are in the data.
    pub(crate) fn append_data(&mut self, bytes: &[u8]) -> u64 {
        let at = self.data.len() as u64;
        self.data.extend_from_slice(bytes);
        at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn encoded_length(&self) -> usize {
        HEADER + self.records.len() + self.data.len()
    }

    /// The whole object.
    pub(crate) fn encode_segment(&self, number: u64) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.encoded_length());
        whole.extend_from_slice(&MAGIC);
        whole.extend_from_slice(&number.to_le_bytes());
        whole.extend_from_slice(&self.count.to_le_bytes());
        whole.extend_from_slice(&(self.records.len() as u32).to_le_bytes());
        whole.extend_from_slice(&crc32fast::hash(&self.records).to_le_bytes());
        whole.extend_from_slice(&(self.data.len() as u64).to_le_bytes());
        let crc = crc32fast::hash(&whole);
        whole.extend_from_slice(&crc.to_le_bytes());
        whole.resize(HEADER, 0);
        whole.extend_from_slice(&self.records);
        whole.extend_from_slice(&self.data);
        whole
    }
}

impl SegmentHeader {
    /// A segment of these bytes, which need be no records.
    #[cfg(test)]
    pub(crate) fn sealed(number: u64, count: u32, records: &[u8]) -> Vec<u8> {
        SegmentDraft { records: records.to_vec(), data: Vec::new(), count }.encode_segment(number)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<SegmentHeader, SegmentError> {
        let bytes = bytes.get(..HEADER).ok_or(SegmentError::Broken)?;
        if bytes[..8] != MAGIC {
            return Err(SegmentError::Foreign);
        }
        let four = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        let eight = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let head = || {
            Ok::<_, std::array::TryFromSliceError>((
                SegmentHeader {
                    number: eight(8)?,
                    count: four(16)?,
                    records: four(20)?,
                    crc: four(24)?,
                    data: eight(28)?,
                },
                four(36)?,
            ))
        };
        match head() {
            Ok((head, crc)) if crc == crc32fast::hash(&bytes[..36]) => Ok(head),
            _ => Err(SegmentError::Broken),
        }
    }

    /// Where the data begin.
    pub(crate) fn data_offset(&self) -> u64 {
        HEADER as u64 + u64::from(self.records)
    }

    /// The length of the object.
    pub(crate) fn object_length(&self) -> u64 {
        self.data_offset() + self.data
    }

    /// Whether these are the bytes of its records.
    pub(crate) fn has_valid_checksum(&self, records: &[u8]) -> bool {
        records.len() == self.records as usize && crc32fast::hash(records) == self.crc
    }

    /// Hands each record over.
    pub(crate) fn for_each_record(
        &self,
        mut records: &[u8],
        mut take: impl FnMut(&TreeRecord<'_>),
    ) -> Result<(), SegmentError> {
        if !self.has_valid_checksum(records) {
            return Err(SegmentError::Broken);
        }
        for _ in 0..self.count {
            let taken = postcard::take_from_bytes::<TreeRecord<'_>>(records);
            let (record, rest) = taken.map_err(|_| SegmentError::Broken)?;
            if let Some(flaw) = record.validation_error() {
                return Err(SegmentError::Unfit(flaw));
            }
            take(&record);
            records = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree_record::{Attr, ContentLocation, Kind};
    use super::*;

    fn filled() -> Vec<u8> {
        let mut draft = SegmentDraft::default();
        let at = draft.append_data(b"ACGT");
        let place =
            ContentLocation::Packed { segment: 7, at, length: 4, crc: crc32fast::hash(b"ACGT") };
        draft.append_record(&TreeRecord::File { ino: 2, kind: Kind::Plain, attr: Attr::default() });
        draft.append_record(&TreeRecord::Bytes { ino: 2, place });
        draft.append_record(&TreeRecord::Name { folder: 1, name: b"a\xff", ino: 2 });
        draft.append_record(&TreeRecord::Cut);
        draft.encode_segment(7)
    }

    #[test]
    fn a_segment_comes_back_and_no_byte_of_its_records_may_change() {
        let whole = filled();
        let read = |whole: &[u8]| {
            let head = SegmentHeader::parse(whole)?;
            let mut seen = Vec::new();
            let records =
                whole.get(HEADER..head.data_offset() as usize).ok_or(SegmentError::Broken)?;
            head.for_each_record(records, |record| seen.push(format!("{record:?}")))?;
            Ok::<_, SegmentError>((head, seen))
        };
        let (head, seen) = read(&whole).expect("whole");
        assert_eq!((head.number, head.count, head.object_length()), (7, 4, whole.len() as u64));
        assert_eq!(&whole[head.data_offset() as usize..], b"ACGT");
        assert!(seen[2].starts_with("Name"), "{seen:?}");
        for at in (0..36).chain(HEADER..head.data_offset() as usize) {
            let mut other = whole.clone();
            other[at] ^= 0x10;
            assert!(read(&other).is_err(), "byte {at}");
        }
        assert!(read(&whole[..HEADER + 3]).is_err());
    }
}
