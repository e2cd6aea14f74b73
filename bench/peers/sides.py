"""What the benches that run Millrace beside other programs share: processes that answer lines, drawn ids, the machine, and the file of results."""

import datetime
import json
import os
import pathlib
import platform
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
NODE = ROOT / "node_modules" / ".bin" / "node"
NANO = ROOT / "config" / "models" / "nano"
REAL = ROOT / "models" / "SmolLM2-135M-Instruct"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


class Side:
    """A process of one side. It is asked one JSON line at a time."""

    def __init__(self, name, command, environment):
        self.name = name
        log = subprocess.DEVNULL if os.environ.get("PEER_LOG") is None else None
        self.process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **OFFLINE, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended while asked to {request['do']}; PEER_LOG=1 shows what it says")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def answer_lines(actions):
    """Answers each JSON line of stdin with one JSON line, by the action that the line names."""
    # Libraries print to descriptor 1, so that answers need one of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request["do"]](request)), file=answers, flush=True)


def ids_of(rows, time, vocabulary, seed):
    source = random.Random(seed)
    return [[source.randrange(10, vocabulary) for _ in range(time)] for _ in range(rows)]


# What the kernel calls the parts of the instruction set that decide which code a program takes.
FLAGS = {"avx2": "avx2", "avx512": "avx512f", "avx512_bf16": "avx512_bf16", "avx512_vnni": "avx512_vnni", "amx": "amx_tile"}


def cpu():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    flags = set(re.search(r"flags\s*:\s*(.*)", text)[1].split())
    offered = {name: flag in flags for name, flag in FLAGS.items()}
    return {"model": re.search(r"model name\s*:\s*(.*)", text)[1], "vendor": re.search(r"vendor_id\s*:\s*(.*)", text)[1], "cpus": os.cpu_count(), **offered}


def write_report(results, name, machine, more):
    """Writes results/peers/NAME-TIME-COMMIT.json and says where."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    today = datetime.datetime.now(datetime.timezone.utc)
    report = {"written": today.isoformat(timespec="seconds"), "commit": commit, "machine": {**machine, "os": platform.platform()}, **more}
    out = results / "peers" / f"{name}-{today:%Y%m%dT%H%M}-{commit}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {out}")
