# Inputs: simulate them or copy a finished set, then index the reference.

INPUT_FILES = ["data/reference.fa", "data/truth.tsv",
               *expand("data/{sample}_{mate}.fq.gz", sample=DONOR + CONTROLS, mate=MATES)]


def named_numbers(numbers):
    return ",".join(f"{name}={value}" for name, value in numbers.items())


rule inputs:
    input:
        expand(os.path.join(SCRIPTS, "{module}.py"), module=["make_inputs", "genome", "reads"]),
    output:
        INPUT_FILES,
    params:
        simulate=script("make_inputs"),
        ready=config["inputs"] or "",     # "--config genome=" gives None, not ""
        seed=config["seed"],
        genome=config["genome"] or "",
        sequences=named_numbers(SEQUENCES),
        depth=named_numbers({**config["depth"], **config["controls"]}),
    threads: 2
    shell:
        """
        if [ -n "{params.ready}" ]; then
            for file in {output}; do cp "{params.ready}/$(basename "$file")" "$file"; done
        else
            {params.simulate} --out $(dirname {output[0]}) --seed {params.seed} \
                --genome "{params.genome}" --sequences {params.sequences} \
                --depth {params.depth} --processes {threads}
        fi
        """


# bwa and samtools write their index beside the FASTA they are given, so it gets a folder alone.
rule reference:
    input:
        "data/reference.fa",
    output:
        fasta="reference/reference.fa",
        index=multiext("reference/reference.fa", ".fai", ".amb", ".ann", ".bwt", ".pac", ".sa"),
    log:
        "log/reference.txt",
    shell:
        """
        cp {input} {output.fasta}
        samtools faidx {output.fasta}
        bwa index {output.fasta} 2> {log}
        """
