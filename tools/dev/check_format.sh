#!/usr/bin/env bash
# Says which lines clang-format would change, and fails if there are any. `tools/dev/check_format.sh -i` lets it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

format() {
  find include src serve cli tools bench tests examples \( -name '*.cc' -o -name '*.c' -o -name '*.h' \) -print0 | xargs -0r clang-format "$@"
}

if [[ ${1-} == -i ]]; then
  format -i
else
  format --dry-run -Werror 2>&1 | sed -nE 's/^(.*:[0-9]+):[0-9]+: error: .*/\1: clang-format would change this line/p' | uniq
fi
