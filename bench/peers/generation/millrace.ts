/**
 * Millrace's side of the bench: a process that answers one JSON line with one JSON line. It opens a model's folder and runs the product's own
 * generator over what each line names.
 */
import { createInterface } from "node:readline";
import { Effect, Exit, Scope } from "effect";
import { settleAllocation } from "../../../pipelines/launcher.mjs";
import * as Generator from "../../../src/generation/Generator.ts";
import { readCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import type { DecoderConfig } from "../../../src/model/graphs/Architecture.ts";
import { parameterCount, parameters as specsOf } from "../../../src/model/graphs/Architecture.ts";
import { codedBytes, codedSpecs, type NumberFormat } from "../../../src/model/graphs/NumberFormat.ts";
import { inParallel, prefillAndDecode, Sequences, type Turn } from "../Sequences.ts";

interface OpenRequest {
  readonly do: "open";
  readonly folder: string;
  readonly format: NumberFormat;
  /** Options of `Generator.make` beside those below: how many threads there are. run.py takes them from its command line. */
  readonly generator: Partial<Generator.GeneratorOptions> & Pick<Generator.GeneratorOptions, "threads">;
  /** Sequences that all threads together hold. */
  readonly slots: number;
}

type Request =
  | OpenRequest
  | { readonly do: "generate"; readonly ids: readonly (readonly number[])[]; readonly tokens: number }
  | { readonly do: "play"; readonly episodes: readonly (readonly Turn[])[] }
  | { readonly do: "continue"; readonly ids: readonly number[]; readonly tokens: number };

// As the product's own process.
settleAllocation();

// The default of `generation.prefill_tokens`.
const PREFILL_TOKENS = 2048;
const scope = await Effect.runPromise(Scope.make());
let sequences: Sequences;

/** Bytes of weights that a step reads: matrices in codes with their scales, the rest in float32, and a tied embedding once. */
const weightBytes = (config: DecoderConfig, format: NumberFormat): number => {
  const coded = codedSpecs(format, config);
  const codes = coded.reduce((sum, spec) => sum + codedBytes(spec), 0);
  const parameters = new Set(coded.map(({ parameter }) => parameter));
  return codes + 4 * parameterCount(specsOf(config).filter(({ name }) => !parameters.has(name)));
};

const open = async ({ folder, format, generator, slots }: OpenRequest) => {
  const { config, parameters } = await Effect.runPromise(readCheckpoint(folder));
  const opened = await Effect.runPromise(
    Generator.make({
      config,
      version: 0,
      parameters: parameters.flat,
      format,
      ...generator,
      generation: {
        slots: Math.ceil(slots / generator.threads),
        stop: [],
        kv_on_update: "keep",
        prefill_tokens: PREFILL_TOKENS,
      },
      stopIds: [],
      bytesOf: () => Uint8Array.of(97),
    }).pipe(Scope.provide(scope)),
  );
  sequences = new Sequences(opened);
  return { weightBytes: weightBytes(config, format) };
};

/** Episodes that append an observation and sample a reply, turn after turn, each on its own. */
const play = async (episodes: readonly (readonly Turn[])[]) => {
  const first = sequences.open(episodes.length);
  const start = performance.now();
  const sampled = await inParallel(episodes.length, (row) =>
    Effect.gen(function* () {
      let tokens = 0;
      for (const [turn, each] of episodes[row]!.entries()) {
        const reply = yield* sequences.reply(first + row, turn, each);
        tokens += reply.ids.length;
      }
      yield* Effect.promise(() => sequences.release(first + row, 1));
      return tokens;
    }),
  );
  return { ms: performance.now() - start, sampled: sampled.reduce((sum, tokens) => sum + tokens, 0) };
};

/** A sampled reply, with the log-probability that the generator gave each of its ids. */
const continuation = async (append: readonly number[], tokens: number) => {
  const sequence = sequences.open(1);
  const { ids, mu } = await Effect.runPromise(sequences.reply(sequence, 0, { append, tokens }));
  await sequences.release(sequence, 1);
  return { ids: [...ids], logp: [...mu] };
};

const answer = (request: Request): Promise<object> => {
  switch (request.do) {
    case "open":
      return open(request);
    case "generate":
      // The first token belongs to the prefill.
      return prefillAndDecode(sequences, request.ids, request.tokens - 1);
    case "play":
      return play(request.episodes);
    case "continue":
      return continuation(request.ids, request.tokens);
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
await Effect.runPromise(Scope.close(scope, Exit.void));
process.exit(0);
