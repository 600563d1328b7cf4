#!/usr/bin/env bash
# Builds test programs with sanitizers and runs them.
#   tools/dev/sanitize.sh address,undefined [TARGET...]    e.g. tools/dev/sanitize.sh thread test_attention
# Without targets: every test, by ctest. SIGHTLINE_TEST_CASES limits the property tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sanitizers=${1:?usage: tools/dev/sanitize.sh SANITIZERS [TARGET...]}
shift
build=build-${sanitizers//,/-}
programs=("$@")

export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1
if ((${#programs[@]} == 0)); then
  tools/dev/sanitized_build.sh "$sanitizers" all
  exec ctest --test-dir "$build" -j"$(nproc)" --output-on-failure
fi
tools/dev/sanitized_build.sh "$sanitizers" "${programs[@]}"
for program in "${programs[@]}"; do
  echo "$program with $sanitizers"
  "$build/$program" --gtest_brief=1
done
