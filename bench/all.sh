#!/usr/bin/env bash
# Measures what the tables of docs/performance.md show, puts them there, and says what misses its target. 25 minutes.
#
#   bench/all.sh [FOLDER for the results, build/bench/results] [options of bench/peers.py...]
#
# PYTHON names the interpreter that has numpy and the peers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
results=${1:-build/bench/results}
works=(prefill avx2 window varlen fast decode decode-cache backward observe threads growth)
files=()
mkdir -p "$results"
for work in "${works[@]}"; do
  "$python" bench/peers.py --work "$work" --json "$results/$work.json" "${@:2}"
  files+=("$results/$work.json")
  echo
done
"$python" bench/tables.py --into docs/performance.md "${files[@]}"
"$python" bench/tables.py --missed "${files[@]}"
echo "measured in $((SECONDS / 60)) minutes"
