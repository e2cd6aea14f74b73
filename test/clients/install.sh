#!/usr/bin/env bash
# Installs the clients and harnesses that test:agents plays, once: those of npm and those of Python, each in a folder of its own under
# MILLRACE_CLIENTS (default .clients, which git ignores). A part is a script in test/clients/install/, which gets the folder as its only
# argument and does nothing where it is complete.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root="${MILLRACE_CLIENTS:-$PWD/.clients}"
for part in test/clients/install/*.sh; do
  name="$(basename "$part" .sh)"
  mkdir -p "$root/$name"
  start=$SECONDS
  bash "$part" "$root/$name"
  echo "$name: ready after $((SECONDS - start)) s"
done
