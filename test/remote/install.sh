#!/usr/bin/env bash
# Installs the servers that test:remote asks, once: each part in a folder of its own under MILLRACE_REMOTE (default .remote, which git ignores).
# A part is a script in test/remote/install/, which gets the folder as its only argument and does nothing where it is complete.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root="${MILLRACE_REMOTE:-$PWD/.remote}"
for part in test/remote/install/*.sh; do
  name="$(basename "$part" .sh)"
  mkdir -p "$root/$name"
  start=$SECONDS
  bash "$part" "$root/$name"
  echo "$name: ready after $((SECONDS - start)) s"
done
