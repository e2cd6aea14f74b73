"""Text generation by Millrace, by vLLM on the CPU and by llama.cpp, in turns on one machine: the rows of README.md.

Writes a table to stdout and JSON to bench/results/peers/. Fetches nothing; install.sh installs what it runs. See README.md beside this file.
"""

import argparse
import glob
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from sides import NODE, REAL, ROOT, Side, cpu, ids_of, write_report  # noqa: E402

THREADS = 2
PROMPT = 128
# Positions that a sequence's cache holds: the longest episode has 128 + 4 x 56 ids of prompts and 5 x 40 of replies.
TIME = 640
SLOTS = 64
TITLES = {"millrace": "Millrace", "vllm": "vLLM", "llamacpp": "llama.cpp"}
FORMATS = {
    "float32": {"millrace": "float32", "vllm": "float32", "llamacpp": "f32"},
    "8/16 bits": {"millrace": "int8", "vllm": "bfloat16", "llamacpp": "q8_0"},
}
WORK = [
    *[{"name": f"decode, batch {rows}", "do": "decode", "rows": rows, "tokens": 33 if rows == 64 else 65} for rows in (1, 2, 16, 64)],
    {"name": f"prefill, 1 x {PROMPT}", "do": "prefill", "rows": 1, "asks": 4},
    {"name": f"prefill, 16 x {PROMPT}", "do": "prefill", "rows": 16, "asks": 1},
    {"name": "16 episodes of 5 turns", "do": "play", "rows": 16},
]
ROWS = [{**work, "name": f"{format}: {work['name']}", "format": format} for format in FORMATS for work in WORK]


def gguf_of(options, format):
    """The model as GGUF, written where it is not there yet or older than the folder's weights."""
    out = options.peers / "gguf" / f"{options.folder.name}-{format}.gguf"
    if not out.exists() or out.stat().st_mtime < (options.folder / "model.safetensors").stat().st_mtime:
        command = [options.peers / "vllm/venv/bin/python", HERE / "to_gguf.py", options.folder, out, "--format", format]
        subprocess.run(command, check=True, stdout=sys.stderr)
    return out


def vllm_environment(options):
    """As vLLM's documentation sets up a CPU: its allocator and OpenMP, and no core set aside for a process of its own."""
    found = [*glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4"), *glob.glob(str(options.peers / "vllm/venv/lib/libiomp5.so"))]
    return {
        "LD_PRELOAD": ":".join(found),
        "OMP_NUM_THREADS": str(THREADS),
        "KMP_BLOCKTIME": "5",
        "KMP_TPAUSE": "0",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "2",
        "VLLM_NO_USAGE_STATS": "1",
        # What it compiles ahead of time does not load again in this version; what Inductor caches does.
        "VLLM_USE_AOT_COMPILE": "0",
        "VLLM_CACHE_ROOT": str(options.peers / "vllm/cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(options.peers / "vllm/cache/inductor"),
    }


def start_millrace(options, format):
    side = Side("millrace", [NODE, HERE / "millrace.ts"], {})
    return side, {"folder": str(options.folder), "format": format, "generator": options.generator, "slots": SLOTS}


def start_vllm(options, format):
    side = Side("vllm", [options.peers / "vllm/venv/bin/python", HERE / "vllm_side.py"], vllm_environment(options))
    return side, {"folder": str(options.folder), "format": format, "slots": SLOTS, "time": TIME, "prefillTokens": SLOTS * PROMPT}


def start_llamacpp(options, format):
    side = Side("llamacpp", [options.peers / "llamacpp/venv/bin/python", HERE / "llamacpp_side.py"], {})
    cache = "f32" if format == "f32" else "f16"
    more = {"cache": cache, "threads": THREADS, "slots": SLOTS, "time": TIME, "prefillTokens": SLOTS * PROMPT}
    return side, {"gguf": str(gguf_of(options, format)), **more}


START = {"millrace": start_millrace, "vllm": start_vllm, "llamacpp": start_llamacpp}


def hindrance(name, format, machine, options):
    """Why a side cannot run in a format here, or None."""
    if name != "millrace" and not (options.peers / name / "venv/bin/python").exists():
        return f"{options.peers / name} is not installed (bench/peers/generation/install.sh)"
    if format == "bfloat16" and not (machine["avx512_bf16"] or machine["amx"]):
        return "this CPU has no bfloat16 instructions (avx512_bf16, amx), so that they are emulated"
    return None


def opened(names, format, options):
    """The processes of a number format. One opens after the other: opening takes all cores."""
    running = {}
    try:
        for name in names:
            running[name], request = START[name](options, FORMATS[format][name])
            running[name].about = running[name].ask(do="open", **request)
    except BaseException:
        close(running)
        raise
    return running


def close(running):
    for side in running.values():
        side.close()


def episodes_of(seed, vocabulary):
    """Sixteen episodes of five turns: an opening of 128 ids, then observations of 40 to 56; replies have 24 to 40."""
    source = random.Random(seed)
    turn = lambda index: {
        "append": [source.randrange(10, vocabulary) for _ in range(PROMPT if index == 0 else source.randint(40, 56))],
        "tokens": source.randint(24, 40),
    }
    return [[turn(index) for index in range(5)] for _ in range(16)]


def counts_of(row, options, vocabulary):
    """Prompt ids and sampled ids of each repetition of a row that plays episodes."""
    plays = [episodes_of(1000 + repetition, vocabulary) for repetition in range(options.repetitions)] if row["do"] == "play" else []
    turns = [[turn for episode in episodes for turn in episode] for episodes in plays]
    return [{"prompts": sum(len(turn["append"]) for turn in each), "sampled": sum(turn["tokens"] for turn in each)} for each in turns]


def speed_of(row, side, seed, vocabulary):
    """Tokens a second: of replies, or of prompts for prefill."""
    if row["do"] == "play":
        answer = side.ask(do="play", episodes=episodes_of(seed, vocabulary))
        return answer["sampled"] / answer["ms"] * 1e3
    if row["do"] == "decode":
        answer = side.ask(do="generate", ids=ids_of(row["rows"], PROMPT, vocabulary, seed), tokens=row["tokens"])
        return row["rows"] * (row["tokens"] - 1) / answer["decodeMs"] * 1e3
    prompts = [ids_of(row["rows"], PROMPT, vocabulary, seed * 100 + ask) for ask in range(row["asks"])]
    ms = sum(side.ask(do="generate", ids=ids, tokens=1)["prefillMs"] for ids in prompts)
    return row["asks"] * row["rows"] * PROMPT / ms * 1e3


def measured(row, running, options, vocabulary, bandwidth):
    """Speeds of each repetition; the first turn of every side warms it up and is not counted."""
    values = {name: [] for name in running}
    for repetition in range(-1, options.repetitions):
        for name, side in running.items():
            # The threads of the side before stop spinning.
            time.sleep(0.1)
            value = speed_of(row, side, 1000 + repetition, vocabulary)
            if repetition >= 0:
                values[name].append(value)
    medians = {name: statistics.median(each) for name, each in values.items()}
    ratios = {}
    if "millrace" in values:
        ratios = {name: statistics.median(ours / theirs for ours, theirs in zip(values["millrace"], values[name])) for name in values if name != "millrace"}
    floors = {}
    if row["do"] == "decode" and bandwidth:
        floors = {name: running[name].about["weightBytes"] * medians[name] / row["rows"] / bandwidth for name in running}
    return {**row, "unit": "tokens/s", "values": values, "medians": medians, "ratios": ratios, "floorShares": floors, "counts": counts_of(row, options, vocabulary)}


def agreement(format, running, vocabulary):
    """Millrace samples 64 ids behind a prompt; how far the others' log-probabilities of them are from those it sampled with."""
    prompt = ids_of(1, PROMPT, vocabulary, 7)[0]
    reply = running["millrace"].ask(do="continue", ids=prompt, tokens=64)
    found = {}
    for name, side in running.items():
        if name == "millrace":
            continue
        scores = side.ask(do="score", ids=prompt + reply["ids"], scored=64)["logp"]
        distances = [abs(ours - theirs) for ours, theirs in zip(reply["logp"], scores)]
        found[name] = {"mean": statistics.mean(distances), "worst": max(distances)}
    return found


def differing(format, found):
    """Sides that do not compute the same model as Millrace. Rounding to fewer bits moves log-probabilities by about a tenth."""
    kind, limit = ("worst", 1e-3) if format == "float32" else ("mean", 0.3)
    return [f"{format}: {TITLES[name]}'s log-probabilities are {each[kind]:.2g} from Millrace's ({kind}), more than {limit}" for name, each in found.items() if not each[kind] <= limit]


def bandwidth_of():
    """Bytes a second that the threads of one side read from memory together; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "bandwidth"
        subprocess.run([compiler, "-O3", "-march=native", "-pthread", "-o", out, HERE / "bandwidth.c"], check=True)
        return float(subprocess.run([out, str(THREADS), "512", "7"], check=True, capture_output=True, text=True).stdout.split()[0])


def line(result, names):
    shown = [f"{result['medians'][name]:.4g}" if name in result["medians"] else "" for name in names]
    ratios = [f"{result['ratios'][name]:.2f}" if name in result["ratios"] else "" for name in names if name != "millrace"]
    floors = ", ".join(f"{result['floorShares'][name]:.0%}" if name in result["floorShares"] else "-" for name in names) if result["floorShares"] else ""
    return f"| {' | '.join([result['name'], *shown, *ratios, floors])} |"


def print_head(options, machine, bandwidth, names):
    flags = ", ".join(f"{name} {'yes' if machine[name] else 'no'}" for name in ("avx512", "avx512_bf16", "avx512_vnni", "amx"))
    read = f"{bandwidth / 1e9:.1f} GB/s read by {THREADS} threads" if bandwidth else "bandwidth not measured (no compiler)"
    print(f"{machine['model']}, {machine['cpus']} CPUs; {flags}; {read}")
    if machine["load"] > 1:
        print(f"beside other programs: {machine['load']:.1f} processes wanted to run in the last minute; these figures are no measurement")
    print(f"{options.folder.name}; {THREADS} threads a side, Millrace's as {json.dumps(options.generator)}; tokens/s, medians of {options.repetitions}; ratios are Millrace's speed over a peer's")
    over = [f"over {TITLES[name]}" for name in names if name != "millrace"]
    columns = ["work", *[TITLES[name] for name in names], *over, "of the memory floor"]
    print(f"| {' | '.join(columns)} |\n|---|{'---|' * (len(columns) - 1)}", flush=True)


def run_format(format, rows, names, options, machine, bandwidth):
    """The rows of a number format, and which sides were left out of them and why."""
    reasons = {name: hindrance(name, FORMATS[format][name], machine, options) for name in names}
    left_out = [f"{format}: {TITLES[name]} ({FORMATS[format][name]}): {reason}" for name, reason in reasons.items() if reason]
    vocabulary = json.loads((options.folder / "config.json").read_text())["vocab_size"]
    running = opened([name for name in names if reasons[name] is None], format, options)
    try:
        agrees = agreement(format, running, vocabulary) if "millrace" in running else {}
        results = []
        for row in rows:
            results.append(measured(row, running, options, vocabulary, bandwidth))
            print(line(results[-1], names), flush=True)
        about = {name: side.about for name, side in running.items()}
    finally:
        close(running)
    return {"results": results, "leftOut": left_out, "agreement": agrees, "about": about, "differing": differing(format, agrees)}


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only rows whose name contains this, such as float32, decode or 'batch 16'")
    parser.add_argument("--sides", default="millrace,vllm,llamacpp", help="which sides, in the order they take turns")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--generator", type=json.loads, default={"threads": THREADS}, help="options of Millrace's Generator.make that say how many threads it has, as JSON")
    parser.add_argument("--folder", type=pathlib.Path, default=REAL, help="the model, a Hugging Face folder in float32")
    parser.add_argument("--peers", type=pathlib.Path, default=pathlib.Path(os.environ.get("MILLRACE_PEERS", ROOT / ".peers")), help="the folder that install.sh was given")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    options = parser.parse_args()
    options.folder, options.peers = options.folder.absolute(), options.peers.absolute()
    return options


def main():
    options = options_of()
    # The load is read before anything here adds to it.
    machine = {"load": os.getloadavg()[0], **cpu()}
    names, bandwidth = options.sides.split(","), bandwidth_of()
    print_head(options, machine, bandwidth, names)
    start, formats = time.monotonic(), {}
    for format in FORMATS:
        rows = [row for row in ROWS if row["format"] == format and options.rows in row["name"]]
        if rows:
            formats[format] = run_format(format, rows, names, options, machine, bandwidth)
    for format, each in formats.items():
        for name, found in each["agreement"].items():
            print(f"{format}: log-probabilities of 64 sampled ids, {TITLES[name]} and Millrace: {found['mean']:.1e} apart on average, {found['worst']:.1e} at most")
        for result in each["results"]:
            for repetition, counts in enumerate(result["counts"]):
                print(f"{result['name']}, repetition {repetition + 1}: {counts['prompts']} ids of prompts, {counts['sampled']} sampled")
        for sentence in each["leftOut"]:
            print(f"left out: {sentence}")
    print(f"{time.monotonic() - start:.0f} s")
    more = {"threads": THREADS, "generator": options.generator, "bandwidth": bandwidth, "formats": formats}
    write_report(options.results, "generation", machine, more)
    differences = [sentence for each in formats.values() for sentence in each["differing"]]
    if differences:
        sys.exit("the sides do not compute the same model:\n" + "\n".join(differences))


if __name__ == "__main__":
    main()
