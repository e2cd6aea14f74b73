#!/usr/bin/env bash
# Installs the clients and harnesses that test:agents plays, once: those of npm and those of Python, each in a folder of its own under
# MILLRACE_CLIENTS (default .clients, which git ignores).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash test/installParts.sh test/clients/install "${MILLRACE_CLIENTS:-$PWD/.clients}"
