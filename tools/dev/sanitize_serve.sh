#!/usr/bin/env bash
# The program as a server with ASan and UBSan, under the tests of clients. A report of theirs ends the server, and so the test.
#   tools/dev/sanitize_serve.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build-address-undefined
tools/dev/sanitized_build.sh address,undefined sightline
export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export SIGHTLINE=$PWD/$build/sightline
python=build-page/bin/python  # as tools/dev/page_tools.sh makes it
[[ -x $python ]] || python=python3
for test in api clients security openapi cases schemathesis; do
  echo "serve.$test with address,undefined"
  # Eight clients at once are timed where nothing else is counted.
  SIGHTLINE_TEST_UNTIMED=1 "$python" "tests/serve/${test}_test.py" || (($? == 77))
done
