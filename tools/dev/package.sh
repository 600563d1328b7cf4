#!/usr/bin/env bash
# Builds Sightline as a part of another project, with that project's flags, attention alone and both libraries static;
# then tests what that installs, as ctest does with what the project's own build installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="build-package"
cmake -S examples -B $build -G Ninja -DSIGHTLINE_SOURCES="$PWD" -DSIGHTLINE_INSTALL=ON -DBUILD_SHARED_LIBS=OFF \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build $build
for example in attend observe functions; do $build/$example; done
SIGHTLINE_BUILD=$build python3 tests/package_test.py
