#!/usr/bin/env bash
# Chromium, and a Python with what the tests of the page and of the server take from PyPI, in build-page/. As root, or
# with sudo. Configure afterwards: CMake runs those tests with build-page/bin/python where that is there, and they say
# what they miss where it is not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=()
((EUID == 0)) || root=(sudo)
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium python3-venv >/dev/null
python3 -m venv build-page
build-page/bin/pip -q --disable-pip-version-check install $(printf -- '-r %s ' tests/*/requirements.txt)
