#!/usr/bin/env bash
# Unpacks Debian's arm64 packages of the libraries that attention and its tests need into a folder of its own. Nothing of
# this machine's package system changes (a foreign architecture added to dpkg can hold back its other packages).
#   tools/dev/aarch64_sysroot.sh FOLDER
set -euo pipefail
root=$(realpath -m -- "${1:?usage: tools/dev/aarch64_sysroot.sh FOLDER}")
packages=(libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5 libgtest-dev librapidcheck-dev)
[[ ! -e $root/complete ]] || exit 0

state=$root.apt
mkdir -p "$state"/{lists/partial,archives/partial} "$root"
touch "$state/status"
apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$state" -o Dir::State::status="$state/status"
  -o Dir::Cache="$state" -o APT::Sandbox::User= -o Acquire::Languages=none -qq)
apt-get "${apt[@]}" update
(cd "$state/archives" && apt-get "${apt[@]}" download "${packages[@]}")
for package in "$state"/archives/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$state"
touch "$root/complete"
