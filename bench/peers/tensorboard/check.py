"""Reads a folder of write.ts with the real TensorBoard: its file loader, its EventAccumulator, and its server over HTTP.

python check.py FOLDER [--server]; needs `pip install tensorboard`.
"""

import json
import math
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

folder = Path(sys.argv[1])
logs = folder / "tensorboard"
expected = json.loads((folder / "expected.json").read_text())


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)


def check_scalars(found, what):
    for tag, points in expected.items():
        got = found(tag)
        assert len(got) == len(points), f"{what}: {tag} has {len(got)} points, {len(points)} were written"
        for (step, wall, value), (s, w, v) in zip(points, got):
            assert step == s and close(wall, w) and close(value, v), f"{what}: {tag} {(step, wall, value)} {(s, w, v)}"
    print(f"{what}: {len(expected)} tags of {len(points)} steps are equal")


files = sorted(logs.iterdir())
count = sum(1 for file in files for _ in event_file_loader.EventFileLoader(str(file)).Load())
print(f"event_file_loader: {count} events of {len(files)} files, every checksum right")

legacy = event_accumulator.EventAccumulator(str(logs), size_guidance={"scalars": 0, "histograms": 0})
legacy.Reload()
check_scalars(lambda tag: [(e.step, e.wall_time, e.value) for e in legacy.Scalars(tag)], "EventAccumulator")
staleness = legacy.Histograms("distribution/staleness/tokens")
assert len(staleness) == 50, len(staleness)
histogram = staleness[0].histogram_value
assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 1, 92, 68), histogram
print("EventAccumulator: histograms", sorted(legacy.Tags()["histograms"]))

plugin = EventAccumulator(str(logs), size_guidance={"tensors": 0})
plugin.Reload()
by_plugin = {name: sorted(plugin.PluginTagToContent(name)) for name in ("scalars", "histograms", "text")}
assert by_plugin["scalars"] == sorted(expected), by_plugin["scalars"]
assert by_plugin["text"] == ["episodes/train/0", "episodes/train/1", "run"], by_plugin["text"]
assert "Unit: tokens/s" in plugin.SummaryMetadata("tokens/generated_per_second").summary_description
texts = plugin.Tensors("episodes/train/0")
assert [e.step for e in texts] == [10, 20, 30, 40, 50], [e.step for e in texts]
assert b"SimpleSokoban" in texts[0].tensor_proto.string_val[0]
print("plugins:", {name: len(tags) for name, tags in by_plugin.items()}, "with descriptions")


def server(fast):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "tensorboard"), "--logdir", str(folder), "--host", "127.0.0.1"]
    command += ["--port", str(port), f"--load_fast={fast}", "--samples_per_plugin", "scalars=1000"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    get = lambda path: json.loads(urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).read())
    try:
        deadline = time.time() + 60
        while True:
            try:
                tags = get("/data/plugin/scalars/tags")
                if len(tags.get("tensorboard", {})) == len(expected) and "tensorboard" in get("/data/plugin/text/tags"):
                    break
            except OSError:
                pass
            assert time.time() < deadline, "the server does not show the run"
            time.sleep(0.3)
        about = tags["tensorboard"]["weights/version"]
        assert "Version of the weights" in about["description"], about
        points = lambda tag: get(f"/data/plugin/scalars/scalars?run=tensorboard&tag={urllib.parse.quote(tag, safe='')}")
        what = f"server, load_fast={fast}"
        check_scalars(lambda tag: [(s, w, v) for w, s, v in points(tag)], what)
        histograms = get("/data/plugin/histograms/tags")["tensorboard"]
        assert len(histograms) == 7, histograms
        assert len(get("/data/plugin/histograms/histograms?run=tensorboard&tag=distribution%2Fstaleness%2Ftokens")) > 0
        text = get("/data/plugin/text/text?run=tensorboard&tag=run")
        assert "&lt;b&gt;" in text[0]["text"], text
        print(f"{what}: {len(histograms)} histograms, texts {get('/data/plugin/text/tags')['tensorboard']}")
    finally:
        process.terminate()
        process.wait()


if "--server" in sys.argv:
    server("false")
    server("true")
print("ok")
