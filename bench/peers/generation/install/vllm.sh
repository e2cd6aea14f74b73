#!/usr/bin/env bash
# vLLM for the CPU as test:remote installs it, with Intel's OpenMP, which vLLM's documentation asks for, and what writes GGUF.
set -euo pipefail
bash test/remote/install/vllm.sh "$1"
[ -e "$1/extras" ] && exit 0
"$1/venv/bin/pip" install --quiet --disable-pip-version-check intel-openmp 'gguf==0.19.0'
touch "$1/extras"
