# The door of the project: `make` lists what there is to do. Everything long is in scripts/.
SHELL := /bin/bash
TARGET := $(or $(CARGO_TARGET_DIR),target)
export FOREBAY ?= $(abspath $(TARGET)/release/forebay)

.PHONY: help build demo studies studies-live test test-long bench lint lint-licences fmt setup clean
.DEFAULT_GOAL := help

help:           ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

build:          ## the release binary, target/release/forebay
	cargo build --release --locked -p forebay

demo: build     ## a sequencing pipeline, bare and through forebay: the summary, and equal checksums
	scripts/demo.sh

studies: build  ## the published experiments, simulated: published | reproduced | error
	scripts/studies.sh

test: setup     ## format, lints, licences, unit tests, workflow tests, ordinary programs under forebay, pages
	scripts/test.sh

# 840 packs with 12 lives each: 10,080 ends by kills, and as many with power failures. 100 volumes in
# buckets on 12 machines each, which are gone after some write. 100 mounts of such volumes, killed 4
# times each while programs change names. Ten minutes for each target of fuzz.sh.
test-long: setup build  ## the long ring too: fsx by the million, real reads, every variant, crashes, bytes of nobody
	FOREBAY_SEEDS=840 cargo test --quiet --release --locked -p forebay-volume --lib -- \
		--nocapture a_kill_loses_nothing a_power_failure_leaves_a_past_moment
	FOREBAY_SEEDS=100 cargo test --quiet --release --locked -p forebay-volume --lib -- \
		--nocapture a_volume_in_a_bucket_survives_its_machines
	FOREBAY_SEEDS=100 cargo test --quiet --release --locked -p forebay --test cli -- \
		--nocapture a_daemon_killed_at_any_change
	cargo build --quiet --release --locked --workspace --example s3_server
	scripts/fuzz.sh 600
	tests/real/run --long

bench: build    ## what forebay costs, against the bare file system, and reads beside other tools: half an hour
	bench/run.sh

studies-live: build  ## workflows elsewhere and published comparisons in small, predicted, then measured: 1 hour
	scripts/studies-live.sh

lint:           ## formatting and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-licences: setup  ## cargo-deny in full: licences, sources, and known flaws (asks the network)
	target/tools/bin/cargo-deny check

fmt:            ## format the Rust sources
	cargo fmt --all

setup:          ## install what the tests need: apt packages, a venv, Nextflow, pjdfstest, fsx
	scripts/setup-test.sh

clean:          ## remove all that was built or installed into this folder
	rm -rf target .venv web/node_modules tests/browser/node_modules
