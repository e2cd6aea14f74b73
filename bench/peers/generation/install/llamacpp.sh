#!/usr/bin/env bash
# llama.cpp compiled for this machine's CPU, from the sources that PyPI's llama-cpp-python carries, with that package's bindings, in a virtual
# environment in the folder given: about 10 minutes of one core. Does nothing where it is complete for this CPU.
set -euo pipefail
folder="$1"
# The code uses what this CPU offers, so that another CPU needs another build.
done="$folder/llama-cpp-python-0.3.36-$(grep -m1 '^flags' /proc/cpuinfo | cksum | cut -d' ' -f1)"
[ -e "$done" ] && exit 0
rm -rf "$folder/venv" "$folder/source"
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip --disable-pip-version-check)
mkdir "$folder/source"
"${pip[@]}" download --quiet --no-deps --no-binary llama-cpp-python --dest "$folder/source" 'llama-cpp-python==0.3.36'
tar -xzf "$folder"/source/*.tar.gz -C "$folder/source" --strip-components 1
# The libraries find each other in the folder they are copied to, so that the sources can go.
# The package's own build compiles chat formats and a server as well, which take longer than all the rest.
cmake -S "$folder/source/vendor/llama.cpp" -B "$folder/source/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON \
  -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='$ORIGIN' \
  -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF >/dev/null
cmake --build "$folder/source/build" --target llama --parallel "${BUILD_JOBS:-2}" >/dev/null
"${pip[@]}" install --quiet 'numpy>=2' typing-extensions diskcache jinja2
packages="$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
cp -r "$folder/source/llama_cpp" "$packages/"
mkdir -p "$packages/llama_cpp/lib"
cp -a "$folder"/source/build/bin/*.so* "$packages/llama_cpp/lib/"
rm -rf "$folder/source"
"$folder/venv/bin/python" -c 'import llama_cpp; print(llama_cpp.llama_print_system_info().decode())'
touch "$done"
