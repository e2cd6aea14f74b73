#!/usr/bin/env bash
# The clients and harnesses of Python by the requirements.txt beside this script, in a virtual environment in the folder given: about 20 s and
# 310 MB. Does nothing where it has those. PYTHON names the Python to make it with, 3.11 or newer.
# The list is whole, so nothing is resolved, and leaves out the data sets and cloud clients that no test needs.
set -euo pipefail
folder="$1"
wanted="$(dirname "${BASH_SOURCE[0]}")/requirements.txt"
done="$folder/complete.txt"
cmp -s "$wanted" "$done" && exit 0
rm -rf "$folder/venv" "$done"
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement "$wanted"
# Imports everything once, so that no test waits for its compilation.
env -u PYTHONDONTWRITEBYTECODE LITELLM_LOCAL_MODEL_COST_MAP=True MSWEA_SILENT_STARTUP=1 MSWEA_GLOBAL_CONFIG_DIR="$folder/config" \
  "$folder/venv/bin/python" -c 'import anthropic, litellm, minisweagent.models.litellm_model, minisweagent.run.mini, openai, smolagents.cli'
cp "$wanted" "$done"
