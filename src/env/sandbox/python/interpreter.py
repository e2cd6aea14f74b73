"""Prints what an interpreter needs of the file system, as JSON: itself, its standard library, its shared libraries.

Runs outside of the sandbox, with only this code and the standard library.
"""
import json
import os
import re
import sys
import sysconfig

executable = os.path.realpath(sys.executable)
standard = sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})

# Every extension module is loaded once, so that what it links against is mapped.
for folder in standard:
    dynload = os.path.join(folder, "lib-dynload")
    for file in sorted(os.listdir(dynload)) if os.path.isdir(dynload) else ():
        name = file.split(".")[0]
        if not re.match(r"_test|_xx|xx|_tkinter|_ctypes_test|_curses|readline|_gdbm|_dbm|nis|ossaudiodev", name):
            try:
                __import__(name)
            except Exception:
                pass

libraries = set()
with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
    for line in maps:
        path = line.rstrip("\n").split(maxsplit=5)[-1]
        if path.startswith("/") and ".so" in os.path.basename(path):
            libraries.add(os.path.dirname(path))

# The loader is named in the executable's first bytes, by a path that may lead over links.
with open(executable, "rb") as file:
    found = re.search(rb"/[\w./-]*/ld[\w.-]*\.so[\w.]*", file.read(4096))
loader = found.group().decode() if found else None

print(json.dumps({
    "version": list(sys.version_info[:3]),
    "executable": executable,
    "standard": standard,
    "libraries": sorted(libraries),
    "loader": loader,
    "packages": [
        path
        for folder in standard
        for path in (os.path.join(folder, "site-packages"), os.path.join(folder, "dist-packages"))
        if os.path.isdir(path)
    ],
}))
