# The door of the project: `make` lists what there is to do. Everything long is in scripts/.
SHELL := /bin/bash
TARGET := $(or $(CARGO_TARGET_DIR),target)
# FOREBAY names a finished program: `FOREBAY=/usr/bin/forebay make demo` builds nothing.
BUILD := $(if $(FOREBAY),,build)
export FOREBAY ?= $(abspath $(TARGET)/release/forebay)

.PHONY: help build demo studies studies-live test test-long timing bench dist book lint lint-licences fmt setup clean
.DEFAULT_GOAL := help

help:           ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

build:          ## the release binary, target/release/forebay
	FOREBAY_COMMIT="$$(git log -1 --format='%h, %cs' 2> /dev/null)" cargo build --release --locked -p forebay

demo: $(BUILD)     ## a sequencing pipeline, bare and through forebay: the summary, and equal checksums
	scripts/demo.sh

studies: $(BUILD)  ## the published experiments, simulated: published, reproduced, error
	scripts/studies.sh

test: setup     ## format, lints, licences, unit tests, workflow tests, ordinary programs under forebay, pages
	scripts/test.sh

test-long: setup  ## what takes hours: every variant and seed, crashes by the thousand, bytes of nobody
	scripts/test-long.sh

timing: setup   ## what a clock judges: exactness of emulation, how soon changes are seen; refuses nothing
	scripts/timing.sh

bench: $(BUILD)    ## what forebay costs, against the bare file system, and reads beside other tools: an hour; ONLY=cluster,reads: some parts
	bench/run.sh $(if $(ONLY),--only $(ONLY))

studies-live: $(BUILD)  ## workflows elsewhere and published comparisons in small, predicted, then measured: 2 hours
	scripts/studies-live.sh

dist:           ## what is released: static binaries, .deb, wheels and checksums, in target/packages
	scripts/dist.sh

book:           ## the documents as a book at http://localhost:8000, until Ctrl-C
	scripts/docs.sh serve

lint:           ## formatting and clippy, warnings are errors
	cargo fmt --all --check
	scripts/test.sh lint

lint-licences: setup  ## cargo-deny in full: licences, sources, and known flaws (asks the network)
	target/tools/bin/cargo-deny check

fmt:            ## format the Rust sources
	cargo fmt --all

setup:          ## install what the tests need: apt packages, a venv, Nextflow, pjdfstest, fsx
	scripts/setup-test.sh

clean:          ## remove all that was built or installed into this folder
	rm -rf target .venv web/node_modules tests/browser/node_modules
