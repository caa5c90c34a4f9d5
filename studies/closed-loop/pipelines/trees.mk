# From family-NN.fa to one line for each tree.
FAMILIES := $(notdir $(basename $(wildcard $(INPUTS)/family-*.fa)))

trees.tsv: $(FAMILIES:%=trees/%.nwk)
	for tree in $^; do printf '%s\t' "$$tree"; cat "$$tree"; done > $@

trees/%.nwk: aligned/%.fa
	mkdir -p trees && fasttree -quiet -nt $< > $@ 2> trees/$*.log

aligned/%.fa: $(INPUTS)/%.fa
	mkdir -p aligned && mafft --quiet --auto --thread 1 $< > $@

.SECONDARY:
