/**
 * `node bench/step-profile.ts step|chunk ROWS TOKENS PAST [float32|int8]` prints where a 135 M generator's time goes, by onnxruntime's profile: a
 * decode step of ROWS sequences (TOKENS is 1), or a chunk of ROWS prompts of TOKENS behind PAST cached positions. Weights are random and
 * prepacked, threads are two. The output is one JSON object: milliseconds a run, shares by operator, and the speed of the products.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession } from "onnxruntime-node";
import { open } from "../src/generation/OnnxModel.ts";
import { fullPayload } from "../src/model/weights/Weights.ts";
import { machine } from "./machine.ts";
import { large, randomWeights } from "./models.ts";

const WARMUP = 3;
const RUNS = 10;
const PRODUCTS = new Set(["MatMul", "FusedMatMul", "Gemm", "MatMulNBits", "MatMulInteger", "DynamicQuantizeMatMul"]);

const [kind, rowsText, tokensText, pastText, format = "float32"] = process.argv.slice(2);
const [rows, tokens, past] = [rowsText, tokensText, pastText].map(Number) as [number, number, number];
const isStep = kind === "step";
if (!["step", "chunk"].includes(kind ?? "") || ![rows, tokens].every((count) => count > 0) || !(past >= 0)) {
  console.error("node bench/step-profile.ts step|chunk ROWS TOKENS PAST [float32|int8]");
  process.exit(2);
}

interface ProfileEvent {
  readonly cat: string;
  readonly name: string;
  /** Microseconds. */
  readonly ts: number;
  readonly dur: number;
  readonly args?: {
    readonly op_name?: string;
    readonly input_type_shape?: readonly Readonly<Record<string, readonly number[]>>[];
    readonly output_type_shape?: readonly Readonly<Record<string, readonly number[]>>[];
  };
}

const sizeOfShape = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

/** Floating-point operations of a product with weights; 0 where both operands are computed, as in attention. */
const operations = ({ args }: ProfileEvent): number => {
  const [left] = args?.input_type_shape ?? [];
  const [output] = args?.output_type_shape ?? [];
  const [a, c] = [left, output].map((tensor) => (tensor === undefined ? [] : (Object.values(tensor)[0] ?? [])));
  return 2 * sizeOfShape(c!) * (a!.at(-1) ?? 0);
};

/** Every session opened from here on writes a profile into `folder`. */
const profileInto = (folder: string): void => {
  let opened = 0;
  const create = InferenceSession.create.bind(InferenceSession) as (
    model: Uint8Array,
    options: InferenceSession.SessionOptions,
  ) => Promise<InferenceSession>;
  const profiled = async (model: Uint8Array, options: InferenceSession.SessionOptions) => {
    const profileFilePrefix = join(folder, `session-${opened++}`);
    const session = await create(model, { ...options, enableProfiling: true, profileFilePrefix });
    const release = session.release.bind(session);
    // A session that is released cannot write its profile afterwards.
    session.release = () => {
      session.endProfiling();
      return release();
    };
    return session;
  };
  Object.assign(InferenceSession, { create: profiled });
};

const eventsIn = (folder: string): readonly ProfileEvent[] =>
  readdirSync(folder).flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as ProfileEvent[]);

const folder = mkdtempSync(join(tmpdir(), "millrace-profile-"));
profileInto(folder);
const model = await open(large, { intraOpThreads: 2, prepacks: true, format: format === "int8" ? "int8" : "float32" });
if (!("step" in model)) throw new TypeError("the model keeps its caches on a device");
const weights = model.weights(0, fullPayload(randomWeights(large).flat));
const { headDim, kvHeads, layers } = model.shape;
const capacity = Math.ceil((past + tokens) / 64) * 64;
const cache = () =>
  Array.from({ length: layers }, () => new Float32Array(rows * kvHeads * capacity * headDim).fill(0.1));
const view = { rows, capacity, keys: cache(), values: cache() };
const pastLengths = new BigInt64Array(rows).fill(BigInt(past));
const ids = BigInt64Array.from({ length: rows * tokens }, (_, i) => BigInt((i * 7919) % model.shape.vocabSize));
const lengths = new BigInt64Array(rows).fill(BigInt(tokens));
const run = () =>
  isStep
    ? model.step(weights, ids.subarray(0, rows), view, pastLengths)
    : model.extend(weights, { ids, time: tokens, lengths }, view, pastLengths);

for (let i = 0; i < WARMUP; i++) await run();
const begun = performance.now();
for (let i = 0; i < RUNS; i++) await run();
const milliseconds = (performance.now() - begun) / RUNS;
await model.close();

const events = eventsIn(folder);
rmSync(folder, { recursive: true });
const ends = events
  .filter(({ cat, name }) => cat === "Session" && name === "model_run")
  .map(({ ts, dur }) => [ts, ts + dur]);
const measured = ends.toSorted((a, b) => a[0]! - b[0]!).slice(-RUNS);
const kernels = events.filter(
  ({ args, cat, name, ts }) =>
    cat === "Node" && name.endsWith("_kernel_time") && args?.op_name !== undefined && ts >= measured[0]![0]!,
);
const byOperator = Map.groupBy(kernels, ({ args }) => args!.op_name!);
const sum = (list: readonly ProfileEvent[]): number => list.reduce((total, { dur }) => total + dur, 0) / 1000 / RUNS;
const total = sum(kernels);
const products = kernels.filter(({ args, name }) => PRODUCTS.has(args!.op_name!) && !/attention|score/i.test(name));
const gigaflops = products.reduce((all, event) => all + operations(event), 0) / 1e9 / RUNS;
const round = (value: number, digits = 2) => Number(value.toFixed(digits));
console.log(
  JSON.stringify({
    machine: machine(),
    work: { kind, rows, tokens, past, format },
    milliseconds: round(milliseconds),
    inKernels: round(total),
    nodes: kernels.length / RUNS,
    products: {
      milliseconds: round(sum(products)),
      share: round(sum(products) / total, 3),
      gigaflopsPerSecond: round((1000 * gigaflops) / sum(products), 1),
    },
    operators: Object.fromEntries(
      [...byOperator]
        .map(
          ([operator, list]) =>
            [operator, { milliseconds: round(sum(list)), share: round(sum(list) / total, 3) }] as const,
        )
        .sort(([, a], [, b]) => b.milliseconds - a.milliseconds)
        .slice(0, 12),
    ),
  }),
);
