/** Real runs in every context mode: an episode is trained in several token sequences, and a sync run gives the same bits every time. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { EpisodeRecord } from "../../src/domain/EpisodeRecord.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

const windows = 3;
const turns = { max_turn: 3, summary_length: 6 };

const linesOf = <A>(folder: string, file: string): Effect.Effect<readonly A[]> =>
  Effect.promise(async () =>
    (await readFile(join(folder, file), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line): A => JSON.parse(line)),
  );

/** Trains a new run and gives what it came to. */
const trained = Effect.fnUntraced(function* (rollout: Tree, more: Tree) {
  const dir = yield* Effect.tap(temporaryFolder, writeModel);
  let folder = "";
  const onStart = (run: { readonly folder: string }): void => {
    folder = run.folder;
  };
  const trainer = { trajectory_freq: 1, trajectory_groups: 2, val_at_end: true };
  const changes = { rollout: { ...turns, ...rollout }, trainer };
  yield* train({ config: tinyConfig(dir, merge(changes, more)), resume: null, parts: { onStart } });
  const records = yield* linesOf<Readonly<Record<string, number>>>(folder, "metrics.jsonl");
  const episodes = yield* linesOf<EpisodeRecord>(folder, "trajectories.jsonl");
  const hash = yield* parameterHash(join(folder, "checkpoints", `step-${windows}`));
  return { hash, records, episodes };
});

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

const modes: readonly (readonly [string, Tree])[] = [
  ["limited_multi_turn", { context: "limited_multi_turn", max_context_window: 2 }],
  [
    "single_turn with summaries that are trained",
    { context: "single_turn", max_context_window: 1, summary: "policy", train_summary: true },
  ],
  ["a full context that drops its oldest turns", { max_model_len: 80, overflow: "drop" }],
];

describe("a sync run with several token sequences an episode", () => {
  it.live.each(modes)(
    "is bit-reproducible in %s, by lockstep and two generator threads too",
    ([, rollout]) =>
      Effect.scoped(
        Effect.gen(function* () {
          const once = yield* trained(rollout, {});
          const again = yield* trained(rollout, { model: { generator_threads: 2 }, pipeline: { mode: "lockstep" } });
          expect(again.hash).toBe(once.hash);
          expect(again.episodes).toEqual(once.episodes);
          for (const record of once.records.slice(-windows)) {
            expect(record["train/sequences"]).toBeGreaterThan(1);
            const ledger = (name: string): number => record[`ledger/tokens/${name}`]!;
            const ends =
              ledger("trained") + ledger("filtered") + ledger("failed") + ledger("dropped") + ledger("in_flight");
            expect(ledger("admitted")).toBe(ends);
            // 8 episodes, mini-batches of 4 sequences.
            const sequences = 8 * record["train/sequences"]!;
            expect(record["train/num_mini_batches"]).toBe(Math.ceil(sequences / 4));
            // The learner's scores of the sequences equal the generator's, which sampled from its caches.
            expect(record["mismatch/abs/max"]).toBeLessThan(1e-4);
          }
          const trainedOn = once.episodes.filter(({ verdict }) => verdict === "kept");
          expect(trainedOn.length).toBeGreaterThan(0);
          for (const { turns } of trainedOn) for (const turn of turns) expect(turn).toHaveProperty("advantages");
          expect(once.episodes.some(({ summary }) => summary === true)).toBe("summary" in rollout);
        }),
      ),
    patience,
  );
});
