#!/bin/sh
# Proves the event files against the real TensorBoard. PYTHON names a Python that has it: python3 -m venv V && V/bin/pip install tensorboard
set -eu
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
node_modules/.bin/node bench/peers/tensorboard/write.ts "$folder"
"${PYTHON:-python3}" bench/peers/tensorboard/check.py "$folder" --server
