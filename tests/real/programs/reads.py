"""reads.py SEED LEFT RIGHT: simulated RNA-seq pairs from 30 random transcripts, as FASTQ."""
import random
import sys

rng = random.Random(int(sys.argv[1]))
turn = str.maketrans("ACGT", "TGCA")
transcripts = ["".join(rng.choices("ACGT", k=rng.randrange(500, 1500))) for _ in range(30)]
with open(sys.argv[2], "w") as left, open(sys.argv[3], "w") as right:
    for n in range(20000):
        t = rng.choice(transcripts)
        at = rng.randrange(len(t) - 250)
        ends = (t[at:at + 76], t[at + 170:at + 246].translate(turn)[::-1])
        for out, mate, read in zip((left, right), "12", ends):
            if rng.random() < 0.3:
                i = rng.randrange(76)
                read = read[:i] + rng.choice("ACGT") + read[i + 1:]
            out.write(f"@r{n}/{mate}\n{read}\n+\n{'I' * 76}\n")
