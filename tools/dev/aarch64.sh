#!/usr/bin/env bash
# Cross-compiles attention and its tests to arm64, and runs them under qemu-user: NEON and the scalar target.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="build-aarch64"
tools/dev/aarch64_sysroot.sh $build/sysroot
cmake -S . -B $build -G Ninja --toolchain cmake/toolchains/aarch64.cmake -DCMAKE_BUILD_TYPE=Release \
  -DSIGHTLINE_ATTENTION_ONLY=ON -DSIGHTLINE_BENCH=OFF >/dev/null
cmake --build $build
ctest --test-dir $build -j"$(nproc)" --output-on-failure "$@"
