"""Writes test/fixtures/wandb/records.json: records as W&B's own package encodes them. Usage: python golden.py, with wandb 0.31.0."""

import json
import pathlib

from google.protobuf import text_format
from wandb.proto import wandb_internal_pb2 as pb

records = {
    "Header": 'num: 1 header { version_info { producer: "millrace 0.1.0" min_consumer: "0.70.0" } }',
    "Run": """num: 2 run { run_id: "abc" entity: "team" project: "millrace" config { update { key: "run" value_json: "{\\"seed\\":7}" } }
        run_group: "g" display_name: "n" tags: "a" tags: "b" host: "h" start_time { seconds: 1700000000 nanos: 250000000 } telemetry { cli_version: "0.31.0" } }""",
    "Config": 'num: 3 config { update { key: "x" value_json: "NaN" } }',
    "Environment": """num: 4 environment { os: "linux" started_at { seconds: 1700000000 } program: "millrace" host: "h" cpu_count: 2 cpu_count_logical: 2
        memory { total: 8589934592 } writer_id: "h-1700000000000" }""",
    "Metric": 'num: 5 metric { name: "train/success" step_metric: "step" options { step_sync: true defined: true } }',
    "Axis": 'num: 6 metric { name: "step" options { hidden: true defined: true } }',
    "Glob": 'num: 7 metric { glob_name: "stage/*" step_metric: "step" options { step_sync: true defined: true } }',
    "History": """num: 8 history { item { nested_key: "a/b" value_json: "1.5" } item { nested_key: "t" nested_key: "_type" value_json: "\\"table-file\\"" }
        step { num: 300 } }""",
    "Summary": 'num: 9 summary { update { nested_key: "_wandb" nested_key: "runtime" value_json: "3" } }',
    "Stats": 'num: 10 stats { timestamp { seconds: 1700000001 } item { key: "proc.memory.rssMB" value_json: "512" } }',
    "Output": 'num: 11 output_raw { output_type: STDOUT timestamp { seconds: 1700000001 nanos: 500000000 } line: "step 1 \u2713\\n" }',
    "Files": 'num: 12 files { files { path: "media/table/val/x.table.json" type: MEDIA } }',
    "Exit": "num: 13 exit { exit_code: 1 runtime: 90 }",
    "Final": "num: 14 final { }",
    "Footer": "num: 15 footer { }",
    "Alert": 'num: 16 alert { title: "contexts are full (step 3)" text: "Raise it.\\nIt is small." level: "WARN" wait_duration: 60000 }',
}

out = pathlib.Path(__file__).parents[3] / "test" / "fixtures" / "wandb" / "records.json"
out.parent.mkdir(parents=True, exist_ok=True)
made = {name: text_format.Parse(text, pb.Record()).SerializeToString(deterministic=True).hex() for name, text in records.items()}
out.write_text(json.dumps(made, indent=2) + "\n")
