# What the checks share; sourced by test.sh, test-long.sh and timing.sh.
# FOREBAY          the binary under test, built with the profile `landing`
# landing          words for cargo: what is built once, for lint, tests and real programs alike
# landing_cargo    cargo with clippy as the compiler: one build lints, too
# build_landing    builds it
# run_steps WHAT COMMAND STEP...   runs functions, prints a table and a last line; 1 if one failed;
#                  calls step_ended STEP LINE after each, where the script has such a function

landing=(--profile landing --workspace --locked --lib --bins --tests)
export FOREBAY=${CARGO_TARGET_DIR:-$PWD/target}/landing/forebay

landing_cargo() { RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo "$@"; }

# Two examples are programs that tests start; the others are nobody's business here.
build_landing() {
    landing_cargo build --quiet "${landing[@]}" --example s3_server --example report_runs
}

run_steps() {
    local what=$1 command=$2 step began word lines=() failed=()
    shift 2
    for step; do
        printf '\n=== %s\n' "$step"
        began=$SECONDS
        if "$step"; then word=ok; else word=FAILED; failed+=("$step"); fi
        lines+=("$(printf '%-12s %-7s %5d s' "$step" "$word" $((SECONDS - began)))")
        ! declare -F step_ended > /dev/null || step_ended "$step" "${lines[-1]}"
    done
    printf '\n'
    printf '%s\n' "${lines[@]}"
    if [ ${#failed[@]} -gt 0 ]; then
        echo "$what: FAILED (${failed[*]}) after $SECONDS s; again: $command ${failed[*]}"
        return 1
    fi
    echo "$what: all passed in $SECONDS s"
}
