#!/usr/bin/env bash
# Builds the fuzz programs with ASan and UBSan, and runs each for some seconds on its corpus and what it makes of it.
#   tools/dev/fuzz.sh SECONDS [NAME...]     e.g. tools/dev/fuzz.sh 20 safetensors
# An input that breaks something is kept in build-address-undefined/fuzz/NAME/, and the run fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:?usage: tools/dev/fuzz.sh SECONDS [NAME...]}
shift
build="build-address-undefined"

tools/dev/sanitized_build.sh address,undefined fuzzers

names=("$@")
if ((${#names[@]} == 0)); then
  for source in tests/fuzz/fuzz_*.cc; do
    name=${source##*/fuzz_}
    names+=("${name%.cc}")
  done
fi

# As many side by side as there are cores; each has one thread.
run_one() {
  local name=$1 out=$PWD/$2/fuzz/$1
  mkdir -p "$out/found"
  if "$2/tests/fuzz/fuzz_$name" -max_total_time="$3" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$out/" "$out/found" "tests/fuzz/corpus/$name" >"$out/log" 2>&1; then
    echo "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$out/log") inputs in $3 s, none broke it"
  else
    tail -n 60 "$out/log"
    echo "fuzz_$name: FAILED; the input and the log are in $out"
    return 1
  fi
}
export -f run_one
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c "run_one {} $build $seconds"
