#!/usr/bin/env bash
# installParts.sh SCRIPTS ROOT: runs each script in SCRIPTS with a folder of its own under ROOT, and says how long it took. A script does nothing
# where its folder is complete.
set -euo pipefail
for part in "$1"/*.sh; do
  name="$(basename "$part" .sh)"
  mkdir -p "$2/$name"
  start=$SECONDS
  bash "$part" "$2/$name"
  echo "$name: ready after $((SECONDS - start)) s"
done
