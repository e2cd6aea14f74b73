#!/usr/bin/env bash
# Installs the servers that test:remote asks, once: each part in a folder of its own under MILLRACE_REMOTE (default .remote, which git ignores).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash test/installParts.sh test/remote/install "${MILLRACE_REMOTE:-$PWD/.remote}"
