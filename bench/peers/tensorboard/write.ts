/**
 * Writes event files as a run does, one that is resumed after step 30 of 40, and expected.json beside them with what a reader must find.
 * `node bench/peers/tensorboard/write.ts FOLDER`; check.py reads it with the real TensorBoard.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Effect } from "effect";
import type { EpisodeSummary } from "../../../src/domain/EpisodeSummary.ts";
import type { Event, StepRecord } from "../../../src/domain/Event.ts";
import { episodes } from "../../../src/domain/metrics/episodes.ts";
import { learner } from "../../../src/domain/metrics/learner.ts";
import { metricsFrom } from "../../../src/domain/metrics/Metrics.ts";
import { stage, tokens, weights } from "../../../src/domain/metrics/run.ts";
import type { RunInfo } from "../../../src/observe/sinks/Sink.ts";
import * as TensorBoard from "../../../src/observe/sinks/tensorboard/TensorBoard.ts";
import { episodeRecord, turnRecord } from "../../../test/build/records.ts";

const started = 1_700_000_000_000;

const record = (step: number, start: number): StepRecord => ({
  step,
  time: started + start + step * 1000,
  metrics: metricsFrom(
    [episodes.success.of({ split: "train" }), step / 50],
    [learner.pgLoss, -1 / (step + 1)],
    [learner.gradNorm, Math.PI * step],
    [stage.busy.of({ stage: "rollout" }), 0.5],
    [tokens.generated, 1e4 + step],
    [weights.version, step],
  ),
});

const summary = (step: number, member: number): EpisodeSummary => ({
  success: true,
  reward: member / 8,
  turns: 1 + (member % 3),
  versions: [
    [step - 1, 5 + member],
    [step, 3],
  ],
  failed: false,
});

const advantages = turnRecord(["Up", "!"], { advantages: [0.5, -1.5] });

const eventsOf = (step: number): readonly Event[] => [
  {
    _tag: "Finished",
    group: step,
    tokens: 0,
    failed: false,
    tag: "SimpleSokoban",
    episodes: Array.from({ length: 8 }, (_, member) => summary(step, member)),
  },
  {
    _tag: "Verdict",
    window: step - 1,
    kept: [step],
    filtered: [],
    judged: [{ group: step, verdict: "kept", score: 0.5, reward: 0.25 }],
  },
  { _tag: "Learning", window: step - 1, from: step },
  { _tag: "Updated", window: step - 1, groups: [step], version: step + 1, tokens: 10 },
];

const play = (folder: string, from: number, through: number, start: number): Effect.Effect<unknown, unknown> =>
  Effect.gen(function* () {
    const sink = TensorBoard.make();
    const run: RunInfo = {
      name: "proof",
      folder,
      mode: "async, max staleness 2",
      seed: 1,
      from,
      alarms: [],
      steps: 50,
      window: { groups: 8, groupSize: 16, order: "admission" },
      started: started + start,
      config: { run: { name: "proof" }, note: "<b>&amp;</b>" },
    };
    yield* sink.open(run);
    for (let step = from + 1; step <= through; step++) {
      for (const event of eventsOf(step)) yield* sink.event?.(event) ?? Effect.void;
      yield* sink.step(record(step, start));
      if (step % 10 === 0)
        yield* sink.episodes?.([0, 1].map((member) => episodeRecord({ step, member, turns: [advantages] }))) ??
          Effect.void;
    }
    // Not closed: what a killed run leaves.
  });

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: write.ts FOLDER");
mkdirSync(folder, { recursive: true });
await Effect.runPromise(Effect.andThen(play(folder, 0, 40, 0), play(folder, 30, 50, 60_000)));

const final = Array.from({ length: 50 }, (_, i) => record(i + 1, i < 30 ? 0 : 60_000));
const tags = Object.fromEntries(
  [...final[0]!.metrics.keys()].map((name) => [
    name,
    final.map(({ metrics, step, time }) => [step, time / 1000, metrics.get(name)]),
  ]),
);
writeFileSync(join(folder, "expected.json"), JSON.stringify(tags));
