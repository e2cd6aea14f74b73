/** A free-running asynchronous run comes out again from its log: every update, every token; and what differs is named. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { replay } from "../../pipelines/replay.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { Event } from "../../src/domain/Event.ts";
import type { Run } from "../../src/engine/Run.ts";
import { decodeAll, encode, type ReplyRecord } from "../../src/observe/record/replies/ReplyRecord.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train, writeModel } from "./tiny.ts";

const steps = 6;

/** Long replies, so that weights arrive in the middle of them; few slots, so that caches are evicted. */
const recording = {
  trainer: { total_training_steps: steps, save_freq: 4, trajectory_freq: 0, test_freq: 0, replay: true },
  es_manager: { train: { env_groups: 2, group_size: 4 } },
  pipeline: { mode: "async", max_staleness: 2 },
  rollout: { max_turn: 3, response_length: 24 },
  generation: { slots: 4 },
} satisfies Tree;

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

const record = Effect.fnUntraced(function* (changes: Tree = {}) {
  const dir = yield* Effect.tap(temporaryFolder, writeModel);
  let folder = "";
  const events: Event[] = [];
  const onStart = (run: Run): void => {
    folder = run.folder;
    run.events$.subscribe((event) => events.push(event));
  };
  yield* train({ config: tinyConfig(dir, merge(recording, changes)), resume: null, parts: { onStart } });
  return { folder, events };
});

const replayed = (words: Partial<Parameters<typeof replay>[0]> & { readonly run: string }) =>
  Effect.provide(replay({ from: null, until: null, changes: [], ...words }), Stop.layerWithoutSignals);

const logOf = (folder: string, window: number): string =>
  join(folder, "replies", `window-${String(window).padStart(6, "0")}.bin`);

const recordsIn = (folder: string): readonly ReplyRecord[] =>
  readdirSync(join(folder, "replies"))
    .filter((name) => name.endsWith(".bin"))
    .flatMap((name) => decodeAll(readFileSync(join(folder, "replies", name))).records);

describe("a replay", () => {
  it.live(
    "repeats every update and token, from the start and from a checkpoint",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { folder } = yield* record();
          const replies = recordsIn(folder).map(({ sampled }) => sampled);
          expect(replies.some(({ versions }) => new Set(versions).size > 1)).toBe(true);
          const [updates, tokens] = yield* replayed({ run: folder });
          expect(updates).toContain(`steps 1 to ${steps}`);
          expect(updates).toContain(`${steps} updates`);
          expect(tokens).toContain(`${replies.reduce((sum, { ids }) => sum + ids.length, 0)} tokens`);
          const [later] = yield* replayed({ run: folder, from: 4 });
          expect(later).toContain(`steps 5 to ${steps}`);
          const { message } = yield* Effect.flip(replayed({ run: folder, from: 4, until: 4 }));
          expect(message).toBe(`--until: 4: steps 5 to ${steps} come after --from; nearest: 5`);
        }),
      ),
    patience,
  );

  it.live(
    "repeats a run whose windows asked for more groups",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          // Half of a window's groups is less than the target, so that every window asks.
          const { events, folder } = yield* record({
            filter: { strategy: "top_k", value: 0.5, refill: { target: 2, rounds: 2 } },
          });
          expect(events.filter(({ _tag }) => _tag === "Refill").length).toBeGreaterThanOrEqual(steps);
          const [updates] = yield* replayed({ run: folder });
          expect(updates).toContain(`${steps} updates`);
          const [later] = yield* replayed({ run: folder, from: 4 });
          expect(later).toContain(`steps 5 to ${steps}`);
        }),
      ),
    patience,
  );

  it.live(
    "ends with its last step, though the run sampled nothing for later ones",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { folder } = yield* record();
          for (let window = 3; window < steps; window++) rmSync(logOf(folder, window));
          const [updates] = yield* replayed({ run: folder, until: 3 });
          expect(updates).toContain("steps 1 to 3");
        }),
      ),
    patience,
  );

  it.live(
    "names the first token that differs",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { folder } = yield* record();
          const { records } = decodeAll(readFileSync(logOf(folder, 2)));
          const [first, ...others] = records.toSorted(
            (a, b) =>
              a.key.counters[0]! - b.key.counters[0]! ||
              a.key.counters[1]! - b.key.counters[1]! ||
              a.key.counters[2]! - b.key.counters[2]!,
          );
          const mu = first!.sampled.mu.map((value, token) => (token === 1 ? value - 1 : value));
          const changed = { ...first!, sampled: { ...first!.sampled, mu } };
          writeFileSync(logOf(folder, 2), Buffer.concat([changed, ...others].map(encode)));
          const { message } = yield* Effect.flip(replayed({ run: folder }));
          const [group, member, turn] = first!.key.counters;
          expect(message).toContain(`window 2, group ${group}, member ${member}, turn ${turn}, token 1`);
        }),
      ),
    patience,
  );

  it.live(
    "names the first update that differs",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { folder } = yield* record();
          const path = join(folder, "events.jsonl");
          const lines = readFileSync(path, "utf8").replace(/("window":3,.*"checksum":)\d+/, "$15");
          writeFileSync(path, lines);
          const { message } = yield* Effect.flip(replayed({ run: folder }));
          expect(message).toContain("the update of step 4");
        }),
      ),
    patience,
  );

  it.live(
    "makes an update once more under other settings",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { folder } = yield* record();
          const lines = yield* replayed({ run: folder, until: 3, changes: ["actor.lr=0.02", "actor.grad_clip=0.001"] });
          const distances = lines.at(-1)!.split(/ {2,}/).slice(1).map(Number);
          expect(distances).toHaveLength(3);
          expect(distances[0]).toBe(0);
          expect(distances[1]).toBeGreaterThan(0);
        }),
      ),
    patience,
  );
});
