"""Shows that W&B's own package reads the folders that Millrace writes. See README.md beside this file.

Prints one line a check, and fails where a line differs from expected.txt.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import server
import wandb
from wandb.proto import wandb_internal_pb2 as pb

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
NODE = ROOT / "node_modules" / ".bin" / "node"
BIN = pathlib.Path(sys.executable).parent
KEY = "local-" + "0123456789" * 4
BLOCK = 32768
lines = []


def say(text):
    lines.append(text)
    print(text, flush=True)


def write(folder, how):
    subprocess.run([NODE, HERE / "write.ts", folder, how], check=True, cwd=ROOT)
    (run,) = (pathlib.Path(folder) / "wandb").glob("offline-run-*")
    return run


def payloads(path):
    """The records of a .wandb file, every checksum checked; how many chunks each has."""
    data = path.read_bytes()
    assert data[:7] == b":W&B\xe1\xbe\x00"
    at, parts, counts = 7, b"", 0
    while at < len(data):
        left = BLOCK - at % BLOCK
        if left < 7:
            assert not any(data[at : at + left])
            at += left
            continue
        checksum = int.from_bytes(data[at : at + 4], "little")
        length = int.from_bytes(data[at + 4 : at + 6], "little")
        kind, chunk = data[at + 6], data[at + 7 : at + 7 + length]
        assert zlib.crc32(bytes([kind]) + chunk) == checksum, at
        at, parts, counts = at + 7 + length, parts + chunk, counts + 1
        if kind in (1, 4):
            yield parts, counts
            parts, counts = b"", 0
    assert parts == b""


def decoded(path):
    for payload, chunks in payloads(path):
        record = pb.Record()
        record.ParseFromString(payload)
        known = pb.Record()
        known.CopyFrom(record)
        known.DiscardUnknownFields()
        assert known.ByteSize() == len(payload)
        yield record, chunks


def tally(name, path):
    kinds, most, steps, numbers = {}, 0, [], []
    for record, chunks in decoded(path):
        kind = record.WhichOneof("record_type")
        kinds[kind] = kinds.get(kind, 0) + 1
        most = max(most, chunks)
        numbers.append(record.num)
        if kind == "history":
            steps.append(record.history.step.num)
    say(f"{name}: records {json.dumps(kinds, sort_keys=True)}")
    say(f"{name}: numbered {numbers == list(range(1, len(numbers) + 1))}, steps {steps[0]}..{steps[-1]} each once {steps == list(range(steps[-1] + 1))}, most chunks of a record {most}")
    return sum(kinds.values())


def older(path, datastore):
    """The Python reader of W&B's packages up to 0.30."""
    spec = importlib.util.spec_from_file_location("datastore", datastore)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    store = module.DataStore()
    store.open_for_scan(str(path))
    count = 0
    while store.scan_data() is not None:
        count += 1
    return count


def environment(home, base=None):
    own = {"HOME": str(home), "WANDB_ERROR_REPORTING": "false", "WANDB_DIR": str(home)}
    return {**os.environ, **own, **({"WANDB_BASE_URL": base, "WANDB_API_KEY": KEY} if base else {})}


def sync(name, run, home):
    arrived, http, base = server.start()
    done = subprocess.run([BIN / "wandb", "sync", run], env=environment(home, base), capture_output=True, text=True, timeout=120)
    http.shutdown()
    marked = any(run.glob("*.synced"))
    say(f"{name}: wandb sync exits {done.returncode}, marks it {marked}, exit code of the run {arrived.complete}")
    history = [json.loads(line) for line in arrived.lines["wandb-history.jsonl"]]
    say(f"{name}: history lines {len(history)}, steps ascend {[h['_step'] for h in history] == list(range(len(history)))}, events {len(arrived.lines['wandb-events.jsonl'])}, console lines {len(arrived.lines['output.log'])}, gaps {arrived.gaps}, unknown questions {arrived.unknown}")
    tables = {}
    for line in history + [json.loads(arrived.lines["wandb-summary.json"][-1])]:
        for key in ("val/generations", "train/generations"):
            if key in line:
                told = line[key]
                table = json.loads(arrived.files[told["path"]])
                assert (len(table["data"]), len(table["columns"])) == (told["nrows"], told["ncols"])
                tables[key] = tables.get(key, []) + [told["nrows"]]
    say(f"{name}: rows of the tables, uploaded each time {json.dumps(tables)}")
    config = json.loads([u["config"] for u in arrived.upserts if u.get("config")][-1])
    metrics = config["_wandb"]["value"]["m"]
    axis = [m.get("1") for m in metrics].index("step") + 1
    say(f"{name}: metrics over step {sum(m.get('5') == axis for m in metrics)} of {len(metrics)}, config {sorted(config)}")
    odd = [history[step].get("critic/vf_loss") for step in (3, 5) if step < len(history)]
    say(f"{name}: numbers that are not finite {odd}")


def inspected(name, run, home):
    done = subprocess.run([BIN / "wandb", "leet", "inspect", "--summary", "--json", run], env=environment(home), capture_output=True, text=True, timeout=60)
    about = json.loads(done.stdout)
    say(f"{name}: leet inspect says {about.get('state')}, step {about.get('step')}")


def edges(folder, home):
    subprocess.run([NODE, HERE / "edges.ts", folder], check=True, cwd=ROOT)
    states = []
    for run in sorted(folder.glob("offline-run-*")):
        done = subprocess.run([BIN / "wandb", "leet", "inspect", "--json", run], env=environment(home), capture_output=True, text=True, timeout=60)
        states.append("+".join(json.loads(line)["type"] for line in done.stdout.splitlines()))
    say(f"ends of a block: {len(states)} files, each read as {' or '.join(sorted(set(states)))}")


def screen(name, run, home):
    if shutil.which("tmux") is None:
        return
    tmux = ["tmux", "-L", "millrace-proof"]
    command = f"HOME={home} WANDB_ERROR_REPORTING=false TERM=xterm-256color {BIN}/wandb leet {run}"
    subprocess.run([*tmux, "new-session", "-d", "-x", "180", "-y", "50", command], check=True)
    shown = ""
    for _ in range(60):
        shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout
        if "State: Finished" in shown and "x: step" in shown and "Process CPU" in shown:
            break
        time.sleep(0.25)
    subprocess.run([*tmux, "kill-server"], check=False)
    say(f"{name}: leet shows the state {'State: Finished' in shown}, charts over step {'x: step' in shown}, the process {'Process CPU' in shown}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--datastore", help="sdk/internal/datastore.py of an older wandb, read with as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = pathlib.Path(temporary) / "home"
        home.mkdir()
        say(f"wandb {wandb.__version__}")
        edges(pathlib.Path(temporary) / "edges", home)
        for name, hows in {"whole": ["whole"], "killed": ["killed"], "resumed": ["killed", "resumed"]}.items():
            for how in hows:
                run = write(pathlib.Path(temporary) / name, how)
            (path,) = run.glob("*.wandb")
            count = tally(name, path)
            if options.datastore:
                assert older(path, options.datastore) == count
                print(f"{name}: the older datastore reads the same {count} records")
            inspected(name, run, home)
            sync(name, run, home)
            if name == "whole":
                screen(name, run, home)
    expected = (HERE / "expected.txt").read_text().splitlines() if (HERE / "expected.txt").exists() else []
    different = [f"- {a}\n+ {b}" for a, b in zip(expected, lines) if a != b]
    if different or len(expected) != len(lines):
        sys.exit("not as expected:\n" + "\n".join(different))
    print("all as expected")


main()
