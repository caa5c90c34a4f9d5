"""If these failed, reads would be lost, doubled or paired with a stranger's mate, silently."""

import gzip
import io
import os
import tempfile
import unittest

import scripts_path  # noqa: F401

import split_fastq


def record(number, mate=1):
    # '@' is also a quality letter: the splitter must count lines, not look for it.
    return f"@r{number}/{mate}\nACGT\n+\n@@F#\n".encode()


def dealt_back(pieces):
    """The inverse of dealing: one record from each piece in turn."""
    readers = [split_fastq.reads(io.BytesIO(piece)) for piece in pieces]
    while readers:
        for reader in readers:
            try:
                yield next(reader)
            except StopIteration:
                return


class DealTest(unittest.TestCase):
    def test_all_reads_come_back_in_order(self):
        for count in (0, 1, 7, 8, 9, 100):
            for pieces in (1, 3, 8):
                with self.subTest(count=count, pieces=pieces):
                    records = [record(number) for number in range(count)]
                    outputs = [io.BytesIO() for _ in range(pieces)]
                    self.assertEqual(split_fastq.deal(records, outputs), count)
                    parts = [output.getvalue() for output in outputs]
                    self.assertEqual(list(dealt_back(parts)), records)

    def test_pieces_differ_by_one_read_at_most(self):
        outputs = [io.BytesIO() for _ in range(8)]
        split_fastq.deal([record(number) for number in range(100)], outputs)
        sizes = [output.getvalue().count(b"\n") // 4 for output in outputs]
        self.assertEqual((min(sizes), max(sizes), sum(sizes)), (12, 13, 100))

    def test_mates_stay_together_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for mate in (1, 2):
                source = os.path.join(folder, f"in_{mate}.fq.gz")
                with gzip.open(source, "wb") as out:
                    out.writelines(record(number, mate) for number in range(11))
                self.assertEqual(split_fastq.split_mate(source, folder, 4, mate), 11)
            for piece in range(4):
                names = []
                for mate in (1, 2):
                    with open(split_fastq.piece_path(folder, piece, mate), "rb") as lines:
                        names.append([read.split(b"/")[0] for read in split_fastq.reads(lines)])
                self.assertEqual(names[0], names[1])


class BrokenInputTest(unittest.TestCase):
    def test_cut_or_shifted_records_are_errors(self):
        for data in (record(1) + b"@r2\nAC\n", b"ACGT\n" + record(1)):
            with self.subTest(data=data), self.assertRaises(ValueError):
                list(split_fastq.reads(io.BytesIO(data)))


if __name__ == "__main__":
    unittest.main()
