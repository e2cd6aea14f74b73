/** `env_config` of DeepCoder. RAGEN's limits are fixed, its code runs unconfined, and it draws training and validation from one split. */
import { Schema } from "effect";
import { field, section, whole } from "../../../config/field.ts";
import { dataFiles } from "../dataset/DataFiles.ts";

const seconds = Schema.Finite.check(Schema.isBetween({ minimum: 0.01, maximum: 3600 }));

const ColumnsSection = Schema.Struct({
  problem: field(Schema.NonEmptyString, "problem", "Column of the problem in words."),
  tests: field(Schema.NonEmptyString, "tests", "Column of the tests, as values or as JSON text."),
  starter: field(Schema.NonEmptyString, "starter_code", "Column of code to complete."),
  metadata: field(Schema.NonEmptyString, "metadata", "Column whose func_name names the function."),
});

export const DeepCoderConfig = Schema.Struct({
  ...dataFiles("config/data/deepcoder/train.jsonl", 0.2),
  columns: section(ColumnsSection, "Names of the data file's columns."),
  language: field(
    Schema.Literals(["python", "javascript"]),
    "python",
    "Language of the answers: Python under bubblewrap (Linux), or JavaScript in QuickJS (anywhere).",
  ),
  max_steps: field(Schema.Literal(1), 1, "RAGEN's key: an episode is one answer."),
  max_tests: field(whole(0, 1_000_000), 0, "The most tests that are run of one task, from its first; 0 runs all."),
  test_timeout: field(seconds, 2, "Seconds of processor time one test may take."),
  total_timeout: field(seconds, 20, "Seconds all tests of an answer may take together."),
  timeout_fails_all: field(
    Schema.Boolean,
    false,
    "If true, one test that runs out of time fails all tests. RAGEN: true, with test_timeout and total_timeout 3.",
  ),
  memory_mb: field(
    Schema.Int.check(Schema.isBetween({ minimum: 16, maximum: 1024 })),
    256,
    "Memory of one test, in MiB.",
  ),
  output_kb: field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4096 })),
    64,
    "Output or result of one test, in KiB; a test that says more fails.",
  ),
  in_flight: field(whole(1, 256), 2, "Answers being tested at once; each keeps a core busy. RAGEN tests 32 at once."),
  python: field(Schema.NonEmptyString, "python3", "The Python interpreter: a name on the path, or a path."),
  bubblewrap: field(Schema.NonEmptyString, "bwrap", "The bubblewrap program: a name on the path, or a path."),
});
export type DeepCoderConfig = typeof DeepCoderConfig.Type;
