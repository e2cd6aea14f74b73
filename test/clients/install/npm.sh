#!/usr/bin/env bash
# The clients of npm by the package.json beside this script, about 10 s and 190 MB. Does nothing where the folder has those.
set -euo pipefail
folder="$1"
wanted="$(dirname "${BASH_SOURCE[0]}")/package.json"
done="$folder/complete.json"
cmp -s "$wanted" "$done" && exit 0
rm -rf "$folder/node_modules" "$done"
cp "$wanted" "$folder/package.json"
npm install --prefix "$folder" --silent --no-audit --no-fund --no-package-lock --ignore-scripts
cp "$wanted" "$done"
