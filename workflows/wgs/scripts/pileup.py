"""Read `samtools mpileup` text: base counts by strand. Nothing statistical here."""

import re
from dataclasses import dataclass

# In mpileup text "^Q" opens a read (Q is its mapping quality, any printable character), "$" ends
# one, and "+2AC" or "-2AC" is an indel after this base whose letters are not bases of this site.
MARKS = re.compile(r"\^.|\$")
INDEL = re.compile(r"[+-](\d+)")
NOT_A_CHANGE = str.maketrans("", "", ".,*#<>$")


@dataclass(frozen=True)
class Counts:
    """Bases of one sample at one site. `forward` and `reverse` are {base: reads}; reference
    bases are counted under the reference letter."""

    forward: dict
    reverse: dict

    def depth(self):
        return sum(self.forward.values()) + sum(self.reverse.values())

    def of(self, base):
        return self.forward.get(base, 0) + self.reverse.get(base, 0)

    def strands(self, base):
        """((reads with base, depth) forward, (...) reverse)."""
        return tuple((counts.get(base, 0), sum(counts.values()))
                     for counts in (self.forward, self.reverse))


def without_marks(bases):
    bases = MARKS.sub("", bases)
    kept, at = [], 0
    for indel in INDEL.finditer(bases):
        if indel.start() < at:   # a digit run inside letters already skipped cannot happen, but
            continue             # an indel's letters must never be read as another indel
        kept.append(bases[at:indel.start()])
        at = indel.end() + int(indel.group(1))
    kept.append(bases[at:])
    return "".join(kept)


def count_bases(ref, bases):
    """Counts of one mpileup base column. Gaps, skips and N count neither as base nor as depth."""
    bases = without_marks(bases)
    forward = {base: bases.count(base) for base in "ACGT" if base in bases}
    reverse = {base.upper(): bases.count(base) for base in "acgt" if base in bases}
    for counts, letter in ((forward, "."), (reverse, ",")):
        if matches := bases.count(letter):
            counts[ref] = counts.get(ref, 0) + matches
    return Counts(forward, reverse)


def may_have_change(bases, min_reads):
    """Cheap test, never wrongly False: are there `min_reads` letters that could be changes?
    Nearly every site ends here, which is most of the caller's speed."""
    return len(bases.translate(NOT_A_CHANGE)) >= min_reads
