/** A run that is killed between two checkpoints and goes on generates no reply that its log holds, and ends with the same bits. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { Event } from "../../src/domain/Event.ts";
import type { Run } from "../../src/engine/Run.ts";
import { decodeAll, encode, type ReplyRecord } from "../../src/observe/record/replies/ReplyRecord.ts";
import { CurrentGroupPlayer, type GroupPlayer, localPlayer } from "../../src/rollout/GroupPlayer.ts";
import { trainingGroup } from "../../src/rollout/keys.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { collected } from "../warnings.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

const windows = 8;
const killedIn = 6;
/** The checkpoint from which a run goes on that is killed in the window before `killedIn`. */
const checkpointStep = 3;

const base = {
  trainer: { total_training_steps: windows, save_freq: 3, trajectory_freq: 1, trajectory_groups: 8, test_freq: 0 },
  es_manager: { train: { env_groups: 2, group_size: 4 } },
  rollout: { max_turn: 3 },
} satisfies Tree;

const lagged = { pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 2 } } satisfies Tree;

/** A free-running run of which every window asks once for one more group, whatever its rewards are. */
const refilled = {
  pipeline: { mode: "async", max_staleness: 2 },
  filter: { strategy: "top_k", value: 0.5, refill: { target: 2, rounds: 1 } },
} satisfies Tree;

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 240_000;

interface Trained {
  readonly folder: string;
  readonly events: readonly Event[];
}

const trainIn = Effect.fnUntraced(function* (
  dir: string,
  changes: Tree,
  { onEvent, resume = null }: { readonly resume?: string | null; readonly onEvent?: (event: Event, run: Run) => void },
) {
  let folder = "";
  const events: Event[] = [];
  const isLogged = (group: number): boolean =>
    [...loggedIn(folder).values()].some((records) => records.some(({ key }) => trainingGroup(key) === group));
  // The log is written behind the run, on a busy machine by whole windows: a group ends once the log holds it.
  const player: GroupPlayer = {
    ...localPlayer,
    confirmFinished: ({ prompt: { group } }) =>
      onEvent === undefined
        ? Effect.void
        : Effect.sleep("10 millis").pipe(Effect.repeat({ until: () => isLogged(group) })),
  };
  const onStart = (run: Run): void => {
    folder = run.folder;
    run.events$.subscribe((event) => {
      events.push(event);
      onEvent?.(event, run);
    });
  };
  yield* Effect.provideService(
    train({ config: tinyConfig(dir, merge(base, changes)), resume, parts: { onStart } }),
    CurrentGroupPlayer,
    player,
  );
  const trained: Trained = { folder, events };
  return trained;
});

/** The parameters at the end, and the ids that were trained on. */
const outcomeOf = Effect.fnUntraced(function* ({ folder }: Trained) {
  const lines = readFileSync(join(folder, "trajectories.jsonl"), "utf8");
  return {
    parameters: yield* parameterHash(join(folder, "checkpoints", `step-${windows}`)),
    trained: createHash("sha256").update(lines).digest("hex"),
  };
});

/** The records of each logged window. */
const loggedIn = (folder: string): ReadonlyMap<number, readonly ReplyRecord[]> =>
  new Map(
    readdirSync(join(folder, "replies"))
      .filter((name) => name.endsWith(".bin"))
      .map((name) => [Number(/\d+/.exec(name)?.[0]), decodeAll(readFileSync(join(folder, "replies", name))).records]),
  );

/** Copies the run's folder as a kill leaves it, while the update of a window is under way and later windows are played. */
const killedWhile =
  (window: number, copy: string) =>
  (event: Event, run: Run): void => {
    if (event._tag !== "Updated" || event.window < window || existsSync(copy)) return;
    cpSync(run.folder, copy, { recursive: true });
    rmSync(join(copy, "lock"));
  };

/** Leaves a share of the records of each window behind the checkpoint, and part of one more; returns how many are left. */
const cutLog = (folder: string, share: number): number => {
  let left = 0;
  for (const [window, records] of loggedIn(folder)) {
    if (window < checkpointStep) continue;
    const kept = records.slice(0, Math.ceil(share * records.length));
    const torn = records.slice(kept.length, kept.length + 1).map((record) => encode(record).subarray(0, 30));
    const file = `window-${String(window).padStart(6, "0")}.bin`;
    writeFileSync(join(folder, "replies", file), Buffer.concat([...kept.map(encode), ...torn]));
    left += kept.length;
  }
  return left;
};

/** Training of an agent of this repository, by the embedded model. */
const agentOf = (path: string): Tree => ({
  agent: { path: join(packageRoot, path) },
  model: { path: join(packageRoot, "config/models/nano") },
  es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
  rollout: { response_length: 12, max_model_len: 640 },
});

/** Runs whose log is cut, and the shares of it that are left: contexts in which a sequence goes on, opens again, or has branches. */
const cutRuns: readonly (readonly [string, Tree, readonly number[]])[] = [
  ["in sync mode", {}, [0.3, 0.7]],
  ["under a fixed lag, with fewer slots than sequences", merge(lagged, { generation: { slots: 3 } }), [0.2, 0.5, 0.8]],
  ["with an agent whose calls are a tree", merge(lagged, agentOf("test/agents/fixtures/forks.ts")), [0.5]],
  ["in one context for each turn", { rollout: { context: "single_turn", max_context_window: 2 } }, [0.5]],
];

const reusedIn = ({ events }: Trained) => events.find(({ _tag }) => _tag === "RepliesReused");

describe("the log of replies", () => {
  for (const [name, schedule] of [
    ["in sync mode", {}],
    ["in lockstep", { pipeline: { mode: "lockstep" } }],
    ["under a fixed lag", lagged],
  ] as const)
    it.live(
      `gives a killed run its replies back, and the bits of one that never was: ${name}`,
      () =>
        Effect.scoped(
          Effect.gen(function* () {
            const dir = yield* Effect.tap(temporaryFolder, writeModel);
            const copy = join(yield* temporaryFolder, "killed");
            const whole = yield* trainIn(dir, schedule, { onEvent: killedWhile(killedIn, copy) });
            const logged = [...loggedIn(copy)].filter(([window]) => window >= 6).flatMap(([, records]) => records);
            expect(logged.length).toBeGreaterThan(0);

            const resumed = yield* trainIn(dir, schedule, { resume: copy });
            expect(yield* outcomeOf(resumed)).toEqual(yield* outcomeOf(whole));
            expect(reusedIn(resumed)).toMatchObject({ replies: logged.length, differing: 0 });
            // A reply that was generated again would be logged again.
            const keys = [...loggedIn(copy).values()].flat().map(({ key }) => JSON.stringify(key));
            expect(new Set(keys).size).toBe(keys.length);
          }),
        ),
      patience,
    );

  for (const [name, changes, shares] of cutRuns)
    it.live(
      `is cut off anywhere, in the middle of episodes, and the bits stay: ${name}`,
      () =>
        Effect.scoped(
          Effect.gen(function* () {
            const dir = yield* Effect.tap(temporaryFolder, writeModel);
            const copies = yield* temporaryFolder;
            const copy = join(copies, "killed");
            const whole = yield* trainIn(dir, changes, { onEvent: killedWhile(killedIn - 1, copy) });
            const outcome = yield* outcomeOf(whole);
            for (const share of shares) {
              const cut = join(copies, `cut-${share}`);
              cpSync(copy, cut, { recursive: true });
              const left = cutLog(cut, share);
              expect(left).toBeGreaterThan(0);
              const resumed = yield* trainIn(dir, changes, { resume: cut });
              expect(yield* outcomeOf(resumed)).toEqual(outcome);
              expect(reusedIn(resumed)).toMatchObject({ replies: left, differing: 0 });
            }
          }),
        ),
      patience,
    );

  it.live(
    "is kept from the checkpoint before the newest on, and set aside in one sentence when a key changes that decides replies",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const copies = yield* temporaryFolder;
          const [copy, other] = [join(copies, "killed"), join(copies, "other")];
          const free = { pipeline: { mode: "async", max_staleness: 2 } };
          const whole = yield* trainIn(dir, free, { onEvent: killedWhile(killedIn, copy) });
          expect([...loggedIn(whole.folder).keys()]).toEqual([6, 7]);
          expect([...loggedIn(copy).keys()].slice(0, 4)).toEqual([3, 4, 5, 6]);

          cpSync(copy, other, { recursive: true });
          const { layer, lines } = collected();
          const changed = merge(free, { actor: { lr: 5e-3 } });
          const again = yield* Effect.provide(trainIn(dir, changed, { resume: other }), layer);
          expect(lines).toEqual([
            expect.stringMatching(/^the replies of \d+ windows? (is|are) generated again: actor.lr changed$/),
          ]);
          expect(reusedIn(again)).toBeUndefined();

          const logged = [...loggedIn(copy)].filter(([window]) => window >= 6).flatMap(([, records]) => records);
          const resumed = yield* trainIn(dir, free, { resume: copy });
          expect(reusedIn(resumed)).toMatchObject({ replies: logged.length, differing: 0 });
        }),
      ),
    patience,
  );

  it.live(
    "gives a free-running run the groups of its refills back, whose numbers follow from window and place",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const copy = join(yield* temporaryFolder, "killed");
          const whole = yield* trainIn(dir, refilled, { onEvent: killedWhile(killedIn, copy) });
          const logged = [...loggedIn(copy)].filter(([window]) => window >= killedIn).flatMap(([, records]) => records);
          const resumed = yield* trainIn(dir, refilled, { resume: copy });
          expect(reusedIn(resumed)).toMatchObject({ replies: logged.length, differing: 0 });
          const placesIn = ({ events }: Trained) =>
            events
              .flatMap((event) => (event._tag === "Admitted" && event.window >= killedIn ? [event] : []))
              .map(({ group, refill = 0, window }) => ({ window, refill, group }))
              .sort((a, b) => a.group - b.group);
          expect(placesIn(resumed)).toEqual(placesIn(whole));
          expect(placesIn(resumed).filter(({ refill }) => refill > 0)).toHaveLength(windows - killedIn);
        }),
      ),
    patience,
  );

  it.live(
    "gives a run its replies back that was killed before its first checkpoint, and begins again",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const copy = join(yield* temporaryFolder, "killed");
          const savedLast = merge(lagged, { trainer: { save_freq: windows } });
          const whole = yield* trainIn(dir, savedLast, { onEvent: killedWhile(1, copy) });
          expect(readdirSync(join(copy, "checkpoints"))).toEqual([]);
          const logged = [...loggedIn(copy).values()].flat();
          const resumed = yield* trainIn(dir, savedLast, { resume: copy });
          expect(yield* outcomeOf(resumed)).toEqual(yield* outcomeOf(whole));
          expect(reusedIn(resumed)).toMatchObject({ replies: logged.length, differing: 0 });
        }),
      ),
    patience,
  );

  it.live(
    "is not written where the run file says so",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* Effect.tap(temporaryFolder, writeModel);
          const changes = { trainer: { total_training_steps: 1, log_replies: false } };
          const { folder } = yield* trainIn(dir, changes, {});
          expect(readdirSync(folder)).not.toContain("replies");
        }),
      ),
    patience,
  );
});
