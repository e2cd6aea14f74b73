#!/usr/bin/env bash
# SkyRL's Tinker server with its JAX backend on the CPU, from Python's packages, in a virtual environment in the folder given.
# Does nothing where it is complete. PYTHON names the Python to make it with, 3.12 or 3.11.4 and later.
set -euo pipefail
target="$1"
venv="$target/venv"
[ -f "$target/complete" ] && exit 0
rm -rf "$venv"
"${PYTHON:-python3}" -m venv "$venv"
pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
# A build of torch without CUDA where one is to be had; it is a tenth of the size.
"${pip[@]}" 'torch==2.13.0+cpu' || "${pip[@]}" torch
"${pip[@]}" 'skyrl[tinker,jax]==0.3.0' uv
# On Python 3.11 pydantic refuses the standard library's TypedDict, which this version of SkyRL uses. A .pth file, because Debian's Python has a
# sitecustomize of its own.
cat > "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/typed_dict.pth" <<'PTH'
import sys, typing, typing_extensions; sys.version_info < (3, 12) and setattr(typing, "TypedDict", typing_extensions.TypedDict)
PTH
"$venv/bin/python" -c 'import skyrl.tinker.types, jax'
touch "$target/complete"
