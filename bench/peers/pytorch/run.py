"""Millrace beside PyTorch, Hugging Face and TRL on this machine's CPU: the rows of README.md, A B A B in one run.

Writes a table to stdout and JSON to bench/results/. Fetches nothing. See README.md beside this file.
"""

import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from sides import NANO, NODE, REAL, ROOT, Side, cpu, ids_of, write_report  # noqa: E402


def shim(folder):
    """The library that lets MKL take its fast path, compiled; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    out = pathlib.Path(folder) / "intel.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O", "-o", out, HERE / "intel.c"], check=True)
    return out


def sides(names, folder):
    made = {"millrace": ([NODE, HERE / "millrace.ts"], {}), "stock": ([sys.executable, HERE / "peer.py"], {})}
    library = shim(folder) if "fast" in names else None
    if library is not None:
        made["fast"] = ([sys.executable, HERE / "peer.py"], {"LD_PRELOAD": str(library)})
    return {name: made[name] for name in names if name in made}


def batch(row, vocabulary, seed):
    """A batch to train on: half of the advantages below 0."""
    source = random.Random(seed + 1)
    trained = row["trained"]
    return {
        "ids": ids_of(row["rows"], row["time"], vocabulary, seed),
        "trained": trained,
        "microRows": row["micro"],
        "advantages": [[(-1) ** index * (0.5 + source.random())] * trained for index in range(row["rows"])],
    }


def policy_of(scores, seed):
    """Log-probabilities of a policy a little beside the one in training, so that some ratios are clipped."""
    source = random.Random(seed + 2)
    return [[value + source.gauss(0, 0.15) for value in row] for row in scores]


def opened(row, made, folders):
    """The processes of a row, and how many parameters the model has."""
    running = {}
    for name, (command, environment) in made.items():
        running[name] = Side(name, command, environment)
        running[name].idle = running[name].ask(do="open", folder=str(folders[row["model"]]), lanes=row.get("lanes", 1), lr=1e-6, dtype="float32")
    counts = {side.idle["parameters"] for side in running.values()}
    assert len(counts) == 1 or row["model"] != "nano", counts
    return running


def agreement(answers):
    """Worst relative difference from Millrace's loss, entropy and gradient norm."""
    ours, worst = answers["millrace"], 0.0
    for name, other in answers.items():
        for key in ("surrogate", "entropy", "norm"):
            worst = max(worst, abs(other[key] - ours[key]) / max(1e-3, abs(ours[key])))
    return worst


def time_updates(row, running, repetitions, vocabulary):
    """First every side computes one and the same step; only then are times taken. Scores come from the first peer, or from Millrace alone."""
    scorer = next((side for name, side in running.items() if name != "millrace"), running["millrace"])
    times, worst = {name: [] for name in running}, None
    for repetition in range(-1, repetitions):
        made = batch(row, vocabulary, 100 + repetition)
        old = policy_of(scorer.ask(do="score", ids=made["ids"], trained=made["trained"], microRows=made["microRows"])["logp"], repetition)
        answers = {name: side.ask(do="update", **made, old=old) for name, side in running.items()}
        if repetition == -1:
            worst = agreement(answers)
            if worst > 2e-3:
                sys.exit(f"{row['name']}: the sides do not compute the same: {answers}")
            continue
        for name, answer in answers.items():
            times[name].append(answer["ms"])
    return times, {"agreement": worst}


def time_generation(row, running, repetitions, vocabulary):
    times = {name: [] for name in running}
    for repetition in range(-1, repetitions):
        ids = ids_of(row["rows"], row["time"], vocabulary, 200 + repetition)
        for name, side in running.items():
            ms = side.ask(do=row["do"], ids=ids, tokens=row.get("tokens", 1))["ms"]
            if repetition >= 0:
                times[name].append(ms)
    return times, {}


def time_steps(row, running, repetitions, _):
    """Whole GRPO steps: the peer's by TRL."""
    prompts = next(side for name, side in running.items() if name != "millrace").ask(do="prompts", rows=row["rows"] // row["group"], length=row["time"])
    times = {name: [] for name in running}
    for repetition in range(-1, repetitions):
        for name, side in running.items():
            ids = [prompt for prompt in prompts["ids"] for _ in range(row["group"])]
            given = {"ids": ids, "microRows": row["micro"]} if name == "millrace" else {"texts": prompts["texts"]}
            ms = side.ask(do="step", tokens=row["tokens"], group=row["group"], **given)["ms"]
            if repetition >= 0:
                times[name].append(ms)
    return times, {}


def peaks(row, running, _, vocabulary):
    """The most memory above the idle process, in MiB, over two updates from loading the weights on."""
    times, more = time_updates(row, running, 1, vocabulary)
    return {name: [side.ask(do="memory")["peak"] - side.idle["idle"]] for name, side in running.items()}, {**more, "ms": times}


MEASURES = {"update": time_updates, "decode": time_generation, "prefill": time_generation, "step": time_steps, "memory": peaks}

ROWS = [
    {"name": "nano: decode, batch 128", "model": "nano", "do": "decode", "rows": 128, "time": 192, "tokens": 128},
    {"name": "nano: update, 64 x 240", "model": "nano", "do": "update", "rows": 64, "time": 240, "trained": 128, "micro": 4, "lanes": 2},
    {"name": "nano: whole GRPO step, 8 prompts x 8, 112 + 128 tokens (TRL)", "model": "nano", "do": "step", "rows": 64, "time": 112, "tokens": 128, "group": 8, "micro": 4, "lanes": 2},
    {"name": "135 M: decode, batch 16", "model": "135m", "do": "decode", "rows": 16, "time": 256, "tokens": 32},
    {"name": "135 M: prefill, 16 x 512", "model": "135m", "do": "prefill", "rows": 16, "time": 512},
    {"name": "135 M: update, 8 x 400", "model": "135m", "do": "update", "rows": 8, "time": 400, "trained": 200, "micro": 2},
    {"name": "135 M: peak memory of an update, 4 x 400", "model": "135m", "do": "memory", "rows": 4, "time": 400, "trained": 200, "micro": 2},
    {"name": "135 M: peak memory of an update, 8 x 400", "model": "135m", "do": "memory", "rows": 8, "time": 400, "trained": 200, "micro": 2},
]


def path_of(name, machine):
    widest = "AVX-512" if machine["avx512"] else "AVX2"
    if machine["vendor"] == "GenuineIntel":
        return f"MKL as it is, {widest}"
    return f"MKL told that the CPU is Intel's, {widest}" if name == "fast" else f"MKL as it is on {machine['vendor']}, {'below AVX-512' if machine['avx512'] else widest}"


def measured(row, made, folders, repetitions):
    names = {name: made[name] for name in made if row["do"] != "memory" or name != "fast"}
    vocabulary = json.loads((pathlib.Path(folders[row["model"]]) / "config.json").read_text())["vocab_size"]
    vocabulary = min(vocabulary, 600) if row["model"] == "nano" else vocabulary
    running = opened(row, names, folders)
    try:
        values, more = MEASURES[row["do"]](row, running, repetitions, vocabulary)
    finally:
        for side in running.values():
            side.close()
    unit = "MiB" if row["do"] == "memory" else "ms"
    medians = {name: statistics.median(each) for name, each in values.items()}
    ratios = {name: medians[name] / medians["millrace"] for name in medians if name != "millrace"}
    return {**row, "unit": unit, "values": values, "medians": medians, "over": ratios, **more}


def line(result):
    shown = " | ".join(f"{result['medians'][name]:.0f} {result['unit']}" for name in result["medians"])
    over = ", ".join(f"{ratio:.2f}x over {name}" for name, ratio in result["over"].items())
    agrees = f", agreement {result['agreement']:.1e}" if result.get("agreement") is not None else ""
    return f"| {result['name']} | {shown} | {over}{agrees} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--sides", default="millrace,stock,fast", help="which sides, in the order they take turns")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=REAL, help="the model of the rows of 135 M")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    options = parser.parse_args()
    machine, names = cpu(), options.sides.split(",")
    print(f"{machine['model']}, {machine['cpus']} CPUs; 2 threads a side; medians of {options.repetitions}")
    for name in names:
        if name != "millrace":
            print(f"{name}: {path_of(name, machine)}")
    print(f"| work | {' | '.join(names)} | Millrace is |\n|---|{'---|' * (len(names) + 1)}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        made = sides(names, temporary)
        for row in [row for row in ROWS if options.rows in row["name"]]:
            results.append(measured(row, made, {"nano": NANO, "135m": options.folder}, options.repetitions))
            print(line(results[-1]), flush=True)
    versions = subprocess.run([sys.executable, "-m", "pip", "list", "--format=json"], capture_output=True, text=True).stdout
    kept = {each["name"]: each["version"] for each in json.loads(versions or "[]") if each["name"] in ("torch", "transformers", "trl", "peft")}
    paths = {name: path_of(name, machine) for name in names if name != "millrace"}
    write_report(options.results, "pytorch", machine, {"paths": paths, "versions": kept, "rows": results})


if __name__ == "__main__":
    main()
