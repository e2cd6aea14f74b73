#!/usr/bin/env bash
# Debian's packages: compilers for llama.cpp and for what vLLM compiles when it starts, and the allocator that vLLM's documentation asks for.
set -euo pipefail
packages=()
command -v g++ >/dev/null || packages+=(g++)
command -v cmake >/dev/null || packages+=(cmake)
command -v make >/dev/null || packages+=(make)
ls /usr/lib/*/libtcmalloc_minimal.so.4 >/dev/null 2>&1 || packages+=(libtcmalloc-minimal4)
[ "${#packages[@]}" = 0 ] && exit 0
apt-get install -y --no-install-recommends "${packages[@]}" >/dev/null ||
  { apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"; } >/dev/null
