/**
 * Every command that reads a folder, over folders that are damaged at random: it answers, or ends as for bad input with a sentence. Where one of
 * several folders is damaged, the others are read.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Cause, Console, Effect, Exit, Scope } from "effect";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compare } from "../../pipelines/compare.ts";
import { control } from "../../pipelines/control.ts";
import { evaluate } from "../../pipelines/evaluate.ts";
import { leaderboard } from "../../pipelines/leaderboard.ts";
import { namedRun } from "../../pipelines/namedRun.ts";
import { configDir } from "../../pipelines/paths.ts";
import { report } from "../../pipelines/report.ts";
import { runs } from "../../pipelines/runs.ts";
import { curvesIn, joinCurves } from "../../pipelines/sweepCurves.ts";
import { evaluationsOfPoint, pairLines, pairsOf, valuesIn } from "../../pipelines/sweepEvaluations.ts";
import { evaluationState, stateOf } from "../../pipelines/sweepState.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { render } from "../../src/config/render.ts";
import { resolve } from "../../src/config/resolve.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import * as RunState from "../../src/domain/RunState.ts";
import { cutToState } from "../../src/observe/record/events/cutToState.ts";
import * as RunFolder from "../../src/observe/record/RunFolder.ts";
import * as RunLock from "../../src/observe/record/RunLock.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { json, served } from "../observe/watch/server/serving.ts";
import { writeRun } from "../observe/watch/syntheticRun.ts";
import { assertProperty } from "../property.ts";
import { type Damage, damages, spoil, type Texts, textsIn } from "../spoiltFolder.ts";
import { says, standIn } from "../tools/endpoints/standIn.ts";

const root = mkdtempSync(join(tmpdir(), "millrace-damaged-"));
const scope = Scope.makeUnsafe();
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void));
  rmSync(root, { recursive: true, force: true });
});

const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined };

/** The outcome of a command: its answer, or the one sentence that it ends with. Anything else fails the test. */
const outcomeOf = async <A>(command: Effect.Effect<A, unknown, Stop.Stop>): Promise<A | string> => {
  const exit = await Effect.runPromiseExit(
    command.pipe(Effect.provideService(Console.Console, quiet), Effect.provide(Stop.layerWithoutSignals)),
  );
  if (Exit.isSuccess(exit)) return exit.value;
  const error = Cause.squash(exit.cause);
  if (!(error instanceof BadInput)) throw error;
  // The message of an internal error is no sentence for a user.
  expect(error.message).not.toMatch(/TypeError|Cannot read prop|is not a function|is not iterable|undefined|\n {4}at /);
  expect(error.message).not.toBe("");
  return error.message;
};

/** Checks a property of a folder under changes of its files. */
const underDamage = (
  folder: string,
  whole: Texts,
  check: (changes: readonly Damage[]) => Promise<void>,
  numRuns: number,
): Promise<void> => {
  const property = fc.asyncProperty(damages([...whole.keys()]), async (changes) => {
    spoil(folder, whole, changes);
    await check(changes);
  });
  return assertProperty(property, { numRuns });
};

const isGone = (changes: readonly Damage[], file: string): boolean =>
  changes.some((change) => change.file === file && change.kind !== "value");

describe("a training run", () => {
  const folder = join(root, "made", "20260101-000000");
  const output = join(root, "report.html");
  let whole: Texts;
  beforeAll(() => {
    writeRun(folder, { steps: 12 });
    const validation = JSON.stringify({ step: 12, version: 12, success: [0, 1, 1, 0] });
    writeFileSync(join(folder, "validations.jsonl"), `${validation}\n`);
    writeFileSync(join(folder, "config.yaml"), render(tinyConfig(root)));
    writeFileSync(join(folder, "control.json"), JSON.stringify({ socket: join(root, "socket"), pid: 1 }));
    const owner = { id: "a", pid: 2 ** 22 + 1, host: "b", since: "c", boot: null, namespace: null, started: null };
    writeFileSync(join(folder, "lock"), JSON.stringify(owner));
    whole = textsIn(folder);
  });

  it("is reported", () =>
    underDamage(
      folder,
      whole,
      async (changes) => {
        const said = await outcomeOf(report({ runs: [folder], output }));
        if (isGone(changes, "config.yaml")) return;
        expect(said).toEqual([expect.any(String), expect.stringContaining(output)]);
      },
      15,
    ));

  it("is reported where a reply of it is no text", async () => {
    // The damaged text has the same length, so that the index still finds each line.
    const spoilt =
      whole
        .get("trajectories.jsonl")
        ?.replaceAll(/"content":"x+"/g, (found) => '"content":null'.padEnd(found.length)) ?? "";
    spoil(folder, new Map([...whole, ["trajectories.jsonl", spoilt]]), []);
    expect(await outcomeOf(report({ runs: [folder], output }))).toEqual([
      expect.stringContaining(" 0 of 6 recorded episodes"),
      expect.any(String),
    ]);
  });

  it("is compared, or refused", () =>
    underDamage(
      folder,
      whole,
      async () => void (await outcomeOf(compare({ runs: [folder, `${folder}@12`], json: false }))),
      25,
    ));

  it("is listed", () =>
    underDamage(
      folder,
      whole,
      async (changes) => {
        const said = await outcomeOf(runs({ folders: [join(root, "made")], json: false }));
        if (!isGone(changes, "config.yaml")) expect(said).toHaveLength(2);
      },
      25,
    ));

  it("is shown by the page's server", () =>
    underDamage(
      folder,
      whole,
      async () => {
        const server = await served([folder]);
        expect(await json(server.port, "/api/runs")).toEqual([expect.objectContaining({ id: expect.any(String) })]);
        await server.close();
      },
      15,
    ));

  it("takes no control", () =>
    underDamage(
      folder,
      whole,
      async () => {
        const said = await outcomeOf(control({ run: folder, control: { _tag: "Stop" } }));
        expect(said).toEqual(expect.any(String));
      },
      40,
    ));

  it("has its place in a sweep and a row in its table, or is refused", () =>
    underDamage(
      folder,
      whole,
      async () => {
        await outcomeOf(stateOf(dirname(folder), tinyConfig(root)));
        JSON.stringify(joinCurves([curvesIn(folder, () => true)]));
      },
      25,
    ));

  it("is gone on with as far as its logs go, or refused", () =>
    underDamage(
      folder,
      whole,
      async () => {
        const begun = Effect.gen(function* () {
          const run = yield* namedRun("--resume", join(root, "made"));
          yield* resolve(join(run, "config.yaml"), [], configDir);
          const paths = yield* RunFolder.open(run);
          yield* RunLock.hold(run);
          const { events, eventsIndex } = paths;
          yield* RunFolder.truncateEpisodes(paths, 6);
          yield* RunFolder.truncateLogs([events, eventsIndex], 6);
          yield* cutToState(events, eventsIndex, { ...RunState.initial, step: 6 });
        });
        await outcomeOf(Effect.scoped(begun));
      },
      40,
    ));
});

describe("an evaluation", () => {
  const evaluations = join(root, "runs");
  let folder: string;
  let config: RunConfig;
  let whole: Texts;
  let good: string;
  beforeAll(async () => {
    const walk = standIn((_, response) => says(response, { text: "<answer>Down</answer>" }));
    const { url } = await Effect.runPromise(Scope.provide(walk, scope));
    config = tinyConfig(root, {
      run: { dir: evaluations },
      evaluation: { endpoint: { kind: "openai", base_url: url, model: "walker" } },
      rollout: { template: "ragen", max_turn: 2 },
    });
    const parent = join(evaluations, "tiny-evaluate");
    for (let i = 0; i < 2; i++) await outcomeOf(evaluate({ config, resume: null }));
    const [first = "", second = ""] = readdirSync(parent).sort();
    good = join(parent, first);
    folder = join(parent, second);
    whole = textsIn(folder);
  });

  it("is gone on with: the rest is played, or it is refused", () =>
    underDamage(
      folder,
      whole,
      async (changes) => {
        const said = await outcomeOf(
          Effect.gen(function* () {
            const run = yield* namedRun("--resume", folder);
            yield* resolve(join(run, "config.yaml"), [], configDir);
            yield* evaluate({ config, resume: run });
          }),
        );
        if (typeof said === "string") return expect(changes).not.toEqual([]);
        const { evaluation } = JSON.parse(readFileSync(join(folder, "summary.json"), "utf8"));
        expect(evaluation.finished).toBeGreaterThanOrEqual(evaluation.planned);
      },
      25,
    ));

  it("has its place in a sweep and a row in its table, or is refused", () =>
    underDamage(
      folder,
      whole,
      async () => {
        const row = Effect.gen(function* () {
          yield* evaluationState(dirname(folder), config);
          const evaluated = yield* evaluationsOfPoint({ name: "one", settings: {} }, [folder, good]);
          return [pairLines(pairsOf([evaluated])), [...valuesIn(folder, () => true).values()]];
        });
        await outcomeOf(row);
      },
      25,
    ));

  it("is left out of a leaderboard, or in it, and the others stay", () =>
    underDamage(
      folder,
      whole,
      async () => {
        const output = join(root, "leaderboard.html");
        const said = await outcomeOf(leaderboard({ folders: [evaluations], output, title: "All" }));
        expect(said).toEqual([expect.stringMatching(/: [12] results in/)]);
        expect(readFileSync(output, "utf8")).not.toMatch(/NaN|Invalid/);
      },
      40,
    ));

  it("is left out of a leaderboard where its time is none", async () => {
    const spoilt = whole.get("summary.json")?.replace(/"written": \d+/, '"written": 1e300') ?? "";
    spoil(folder, new Map([...whole, ["summary.json", spoilt]]), []);
    const output = join(root, "leaderboard.html");
    const said = await outcomeOf(leaderboard({ folders: [evaluations], output, title: "All" }));
    expect(said).toEqual([`${output}: 1 results in 1 table`]);
  });

  it("is compared, or refused", () =>
    underDamage(folder, whole, async () => void (await outcomeOf(compare({ runs: [good, folder], json: false }))), 40));
});
