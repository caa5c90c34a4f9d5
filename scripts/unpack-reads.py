#!/usr/bin/env python3
"""Unpacks a read archive of Forebay without Forebay: Python's standard library and zstandard.

    pip install zstandard
    unpack-reads.py ARCHIVE -o DIR

It writes the files that the archive shows, compares SHA-256 of each with that of what was packed,
and ends with 1 if anything is not as it was. It is written after docs/formats/archive.md ("Read archive"), not
after the Rust sources, and the tests of Forebay compare the two. It is slow (some MB of text a
second). If the module xxhash is there, checksums of chunks are compared as well.
"""
import argparse
import hashlib
import os
import struct
import sys

import zstandard

try:
    import xxhash
except ImportError:
    xxhash = None

LANES, BITS = 32, 11
LENGTHS, BASES, EXCEPTIONS, TEXT, NAMES, QUALITIES = range(6)
FAMILY = {NAMES: 1, QUALITIES: 2}
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
FOUR = [bytes(b"ACGT"[byte >> shift & 3] for shift in (0, 2, 4, 6)) for byte in range(256)]


class Damaged(Exception):
    pass


class Wire:
    """Numbers (7 bits a byte, the lowest first) and bytes from the front of a buffer."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at:self.at + count]
        if len(part) != count:
            raise Damaged("it ends too early")
        self.at += count
        return part

    def byte(self):
        return self.take(1)[0]

    def number(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def bytes(self):
        return self.take(self.number())

    def rest(self):
        return self.data[self.at:]

    def left(self):
        return self.at < len(self.data)


def compare(data, expected, what):
    if xxhash and xxhash.xxh3_128(data).intdigest().to_bytes(16, "little") != expected:
        raise Damaged(f"{what}: not the bytes that were written")
    return data


def expand(data, most, before=b""):
    """What a zstd frame holds; `before` is what it may refer back to."""
    seen = None
    if before:
        seen = zstandard.ZstdCompressionDict(before, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdDecompressor(dict_data=seen).decompress(data, max_output_size=max(most, 1))


def table_of(codes):
    """For each slot its unit, how many slots that has, and which of them this is."""
    shares = [code if code < 16 else ((code & 7) + 8) << (code >> 3) - 1 for code in codes]
    if max(codes) > 72 or codes.count(72) != 1:
        raise Damaged("frequencies that cannot be")
    rest = codes.index(72)
    shares[rest] = 0
    shares[rest] = (1 << BITS) - sum(shares)
    if shares[rest] < 1:
        raise Damaged("frequencies do not add up")
    return [(unit, share, bias) for unit, share in enumerate(shares) for bias in range(share)]


def rans(data, spans, count, widths=None):
    """The units of a sequence, and how many different ones there can be. `spans` are places of reads;
    a unit takes one, or as many as `widths` say."""
    wire = Wire(data)
    units, order, bins, level_bits = wire.byte() + 1, wire.byte(), wire.byte(), wire.byte()
    scale = wire.number()
    if count < LANES:
        return wire.take(count), units
    width, levels = units + 1 if order else 1, 1 << level_bits
    none = units if order else 0
    weight = (1 << 14) // units
    table_count = wire.byte()
    said = expand(wire.bytes(), width * levels * bins)
    shares = expand(wire.bytes(), table_count * units)
    tables = [table_of(shares[at * units:(at + 1) * units]) for at in range(table_count)]
    # The map goes along bins first, then levels, then units before; steps compute otherwise.
    walked = []
    for at, byte in enumerate(said):
        back = 1 if byte == 0 else bins
        near = walked[at - back] if at >= back else 0
        walked.append(near if byte < 2 else byte - 2)
    chosen = {}
    for at, number in enumerate(walked):
        before_, rest = divmod(at, levels * bins)
        level, place = divmod(rest, bins)
        chosen[place, level, before_] = tables[number]
    steps = count // LANES
    if widths:
        starts = [0]
        for _ in range(LANES - 1):
            starts.append(starts[-1] + wire.number())
    else:
        starts = [lane * steps for lane in range(LANES)]
    states = list(struct.unpack("<32I", wire.take(128)))
    tail = wire.take(count % LANES)
    words = wire.rest()
    words = struct.unpack(f"<{len(words) // 2}H", words)
    word = 0
    # Where each place stands in its read; a lane begins anywhere.
    positions = [at for span in spans for at in range(span)]
    places = list(starts)
    before, history = [none] * LANES, [0] * LANES
    out = bytearray(steps * LANES)
    for step in range(steps):
        for lane in range(LANES):
            at = lane * steps + step
            position, state = positions[places[lane]], states[lane]
            if position == 0:
                before[lane], history[lane] = none, 0
            place = min((position * scale & 0xFFFFFFFF) >> 20, bins - 1)
            table = chosen[place, history[lane] >> 16 - level_bits, before[lane]]
            unit, share, bias = table[state & (1 << BITS) - 1]
            state = share * (state >> BITS) + bias
            if state < 1 << 16:
                state = state << 16 | words[word]
                word += 1
            states[lane] = state
            out[at] = unit
            places[lane] += widths[unit] if widths else 1
            before[lane] = unit if order else 0
            history[lane] += unit * weight - history[lane] // 4
    if word != len(words) or any(state != 1 << 16 for state in states):
        raise Damaged("words are left, or states are wrong")
    return bytes(out) + tail, units


def qualities(data, lengths, _raw_len):
    wire = Wire(data)
    symbols = wire.take(wire.byte())
    together = wire.byte()
    spans = [-(-length // together) for length in lengths]
    units, _ = rans(wire.rest(), spans, sum(spans))
    meaning = []
    for unit in range(len(symbols) ** together):
        text = bytearray()
        for _ in range(together):
            text.append(symbols[unit % len(symbols)])
            unit //= len(symbols)
        meaning.append(bytes(text))
    out, at = [], 0
    for length, span in zip(lengths, spans):
        read = b"".join(meaning[unit] for unit in units[at:at + span])
        out.append(read[:length])
        at += span
    return b"".join(out)


def quality_strings(data, lengths, _raw_len):
    wire = Wire(data)
    entries = [wire.bytes() for _ in range(wire.byte() + 1)]
    count = wire.number()
    units, _ = rans(wire.rest(), lengths, count, [len(entry) for entry in entries])
    return b"".join(entries[unit] for unit in units)


def base_parts(data):
    """Places of reads (none if all are 0), and the zstd frame."""
    wire = Wire(data)
    return wire.bytes(), wire.rest()


def bases(data, lengths, first=b""):
    """Bases, and their bits, on which those of a second mate follow."""
    places, frame = base_parts(data)
    if places:
        places, _ = rans(places, [len(lengths)], len(lengths))
    else:
        places = bytes(len(lengths))
    sizes = [(length + (place & 3) + 3) // 4 for length, place in zip(lengths, places)]
    packed = expand(frame, sum(sizes), first)
    out, at = [], 0
    for length, place, size in zip(lengths, places, sizes):
        skip = place & 3
        read = b"".join(FOUR[byte] for byte in packed[at:at + size])[skip:skip + length]
        if place & 4:
            read = read[::-1].translate(COMPLEMENT)
        out.append(read)
        at += size
    return b"".join(out), packed


def stream_of_names(how, part, raw_len):
    if how == 1:
        return expand(part, raw_len)
    if how == 2:
        return rans(part, [raw_len], raw_len)[0]
    if how == 3:
        wire = Wire(part)
        width = wire.number()
        lines = raw_len // (width + 1)
        columns = [stream_of_names(wire.byte(), wire.bytes(), lines) for _ in range(width)]
        return b"".join(bytes(line) + b"\n" for line in zip(*columns))
    return part


def names(data, lengths, _raw_len):
    streams, wire = {}, Wire(data)
    while wire.left():
        stream, raw_len, how = wire.number(), wire.number(), wire.byte()
        streams[stream] = Wire(stream_of_names(how, wire.bytes(), raw_len))

    def stream(place, what):
        return streams[place * 8 + what]

    out, before = [], []
    for _ in lengths:
        lead = stream(0, 7).byte()
        pieces = before[:lead]
        while True:
            place = len(pieces)
            kind = stream(place, 0).byte()
            if kind == 0:
                break
            if kind == 1:
                piece = before[place]
            elif kind == 2:
                piece = b"%d" % (int(before[place]) + stream(place, 1).byte())
            elif kind == 3:
                number = bytes(stream(place, 2 + at).byte() for at in range(4))
                piece = b"%d" % int.from_bytes(number, "little")
            else:
                text = stream(place, 6)
                end = text.data.index(b"\n", text.at)
                piece = text.take(end - text.at)
                text.at += 1
            pieces.append(piece)
        out.append(b"".join(pieces))
        before = pieces
    return b"".join(name + b"\n" for name in out)


CODECS = {
    0: lambda data, lengths, raw_len: data,
    1: lambda data, lengths, raw_len: expand(data, raw_len),
    2: lambda data, lengths, raw_len: data * raw_len,
    4: qualities,
    5: names,
    7: quality_strings,
}


def second_names(rule, first):
    """Names of second mates from those of the first."""
    out = []
    for name in first:
        space = name.find(b" ")
        place = {2: len(name) - 1, 3: space + 1 if space >= 0 else -1, 4: space - 1}.get(rule, -1)
        if 0 <= place < len(name) and name[place:place + 1] == b"1":
            name = name[:place] + b"2" + name[place + 1:]
        out.append(name)
    return out


def decode(mate, spots, first):
    """The text of a mate, its names, and its bits of bases; `first` are names and bits of the first."""
    text_len, style, rule, chunks = mate

    def column(which, lengths=()):
        if which not in chunks:
            return None
        codec, raw_len, data = chunks[which]
        raw = CODECS[codec](data, lengths, raw_len)
        if len(raw) != raw_len:
            raise Damaged("a column has another length")
        return raw

    if TEXT in chunks:
        return column(TEXT), None, b""
    wire = Wire(column(LENGTHS))
    each = wire.byte()
    lengths = [wire.number() for _ in range(spots)] if each else [wire.number()] * spots
    codec, raw_len, data = chunks[BASES]
    if codec in (3, 6):
        letters, packed = bases(data, lengths, first[1] if codec == 6 else b"")
    else:
        letters, packed = column(BASES, lengths), b""
    letters = bytearray(letters)
    wire, at = Wire(column(EXCEPTIONS) or b""), 0
    while wire.left():
        at += wire.number()
        count = wire.number()
        letters[at:at + count] = bytes([wire.byte()]) * count
        at += count
    quality = column(QUALITIES, lengths)
    if rule == 0:
        own = column(NAMES, lengths).split(b"\n")[:-1]
    else:
        own = second_names(rule, first[0])
    end = b"\r\n" if style & 1 else b"\n"
    out, at = [], 0
    for name, length in zip(own, lengths):
        plus = b"+" + name if style & 4 else b"+"
        lines = (b"@" + name, letters[at:at + length], plus, quality[at:at + length])
        out.extend(line + end for line in lines)
        at += length
    text = b"".join(out)
    if style & 2:
        text = text[:-len(end)]
    if len(text) != text_len:
        raise Damaged("a text has another length")
    return text, own, packed


def records(text):
    """Four lines each; a carriage return alone ends no line."""
    parts = text.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    return [b"".join(lines[at:at + 4]) for at in range(0, len(lines), 4)]


class Archive:
    def __init__(self, path):
        self.path = path
        data = self.read("manifest.fbr")
        if data[:4] != b"FBRM" or data[4] not in (1, 2):
            raise Damaged("manifest.fbr: no manifest of version 1 or 2")
        compare(data[:-16], data[-16:], "manifest.fbr")
        wire = Wire(data[8:-16])
        self.shape = wire.byte()
        self.writer = wire.bytes()
        self.files = []
        for _ in range(2 if self.shape == 1 else 1):
            name, _source = wire.bytes().decode(), wire.bytes()
            size, _md5, sha256 = wire.number(), wire.take(16), wire.take(32)
            if "/" in name or name.startswith("."):
                raise Damaged(f"a name that no file may have: {name!r}")
            self.files.append((name, size, sha256))
        self.as_text = wire.number()
        self.objects = [(wire.bytes().decode(), wire.number()) for _ in range(wire.number())]
        self.stripes = []
        for _ in range(wire.number()):
            page_len, page_hash, groups = wire.number(), wire.take(16), wire.number()
            _spots = wire.number()
            _texts = [wire.number() for _ in self.files]
            families = [[wire.number(), wire.number(), wire.number()] for _ in range(3)]
            self.stripes.append((page_len, page_hash, groups, families))

    def read(self, name, offset=0, count=-1):
        if "/" in name or name.startswith("."):
            raise Damaged(f"a name that no object may have: {name!r}")
        with open(os.path.join(self.path, name), "rb") as file:
            file.seek(offset)
            return file.read(count)

    def groups(self):
        """Groups in order: how many reads, and the mates' columns."""
        at = 8
        for page_len, page_hash, count, families in self.stripes:
            page = Wire(compare(self.read("index.fbr", at, page_len), page_hash, "index.fbr"))
            at += page_len
            offsets = [family[1] for family in families]
            for _ in range(count):
                spots = page.number()
                mates = [self.mate(page, families, offsets) for _ in range(2 if self.shape else 1)]
                yield spots, mates

    def mate(self, page, families, offsets):
        text_len, style, rule = page.number(), page.byte(), page.byte()
        chunks = {}
        for _ in range(page.byte()):
            column, codec = page.byte(), page.byte()
            raw_len, size, expected = page.number(), page.number(), page.take(16)
            family = FAMILY.get(column, 0)
            name = self.objects[families[family][0]][0]
            data = self.read(name, offsets[family], size)
            place = f"{name}, bytes {offsets[family]} to {offsets[family] + size}"
            offsets[family] += size
            chunks[column] = (codec, raw_len, compare(data, expected, place))
        return text_len, style, rule, chunks

    def texts(self):
        """For each group the texts of the files that the archive shows."""
        for spots, mates in self.groups():
            texts, first = [], (None, b"")
            for mate in mates:
                text, *first = decode(mate, spots, first)
                texts.append(text)
            if self.shape == 2:
                pairs = zip(records(texts[0]), records(texts[1]))
                texts = [b"".join(one + other for one, other in pairs)]
            yield texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive")
    parser.add_argument("-o", "--output", required=True, metavar="DIR")
    arguments = parser.parse_args()
    os.makedirs(arguments.output, exist_ok=True)
    try:
        archive = Archive(arguments.archive)
        paths = [os.path.join(arguments.output, name) for name, _, _ in archive.files]
        sums = [hashlib.sha256() for _ in paths]
        outputs = [open(path, "xb") for path in paths]
        for texts in archive.texts():
            for text, output, total in zip(texts, outputs, sums):
                output.write(text)
                total.update(text)
        for (name, _, sha256), output, total in zip(archive.files, outputs, sums):
            output.close()
            if total.digest() != sha256:
                raise Damaged(f"{name} is not what was packed (SHA-256)")
            print(f"{name}: as it was packed")
    except (Damaged, OSError, ValueError, KeyError, IndexError, TypeError,
            zstandard.ZstdError, struct.error) as error:
        print(f"unpack-reads: {arguments.archive}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
