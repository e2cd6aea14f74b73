#!/usr/bin/env bash
# install.sh [FOLDER]: installs what the bench beside it runs, once: each part of install/ in a folder of its own under FOLDER, which is
# MILLRACE_PEERS or .peers (ignored by git) where none is given. The model goes to models/SmolLM2-135M-Instruct unless it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
bash test/installParts.sh bench/peers/generation/install "${1:-${MILLRACE_PEERS:-$PWD/.peers}}"
