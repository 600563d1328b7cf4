#!/usr/bin/env bash
# Builds targets with clang's sanitizers in build-SANITIZERS/, without optimising more than -O1. With ASan the fuzz programs
# (target fuzzers) and the test programs share what they are made of.
#   tools/dev/sanitized_build.sh address,undefined TARGET...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sanitizers=${1:?usage: tools/dev/sanitized_build.sh SANITIZERS TARGET...}
shift
build=build-${sanitizers//,/-}
fuzz=OFF
[[ $sanitizers != *address* ]] || fuzz=ON
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DCMAKE_C_COMPILER=clang \
  -DCMAKE_CXX_COMPILER=clang++ -DSIGHTLINE_SANITIZE="$sanitizers" -DSIGHTLINE_FUZZ=$fuzz -DSIGHTLINE_BENCH=OFF >/dev/null
cmake --build "$build" --target "$@"
