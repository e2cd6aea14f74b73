import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { expect, layer } from "@effect/vitest";
import { Context, Effect, Exit, Fiber, Layer } from "effect";
import { vi } from "vitest";
import type { CrossRequest } from "../../src/domain/CrossScores.ts";
import { learner as catalogue } from "../../src/domain/metrics/learner.ts";
import { valueIn } from "../../src/domain/metrics/Metrics.ts";
import { timing } from "../../src/domain/metrics/run.ts";
import { type LearnerThreadOptions, make } from "../../src/learner/LearnerThread.ts";
import { readEarlier } from "../../src/learner/TrainerCheckpoint.ts";
import type { Checkpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import { readParameters } from "../../src/model/checkpoint/ParameterFile.ts";
import { parameters } from "../../src/model/graphs/Architecture.ts";
import type { AdoptedMessage, WeightsMessage } from "../../src/model/weights/Weights.ts";
import { creditedBatch } from "../build/batches.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { tiny, tinyParameters, trainerOptions } from "./model.ts";
import { plant } from "./plant.ts";

const checkpoint: Checkpoint = {
  config: tiny,
  tokens: { bos: undefined, eos: [0], pad: undefined },
  parameters: tinyParameters(),
  format: "F32",
  tokenizer: { tokenizerJson: {}, tokenizerConfig: {} },
};
const start = (options: Partial<LearnerThreadOptions> = {}) =>
  make({ checkpoint, trainer: trainerOptions, ...options });
const batch = (window: number) =>
  creditedBatch({ seed: window, window, lengths: [14, 9, 11, 8, 13], vocabulary: tiny.vocabSize });
const tokens = (window: number) => ({ kept: batch(window), unfiltered: undefined });

const channel = Effect.acquireRelease(
  Effect.sync(() => new MessageChannel()),
  ({ port1 }) => Effect.sync(() => port1.close()),
);
const nextWeights = (port: MessagePort) =>
  Effect.callback<WeightsMessage>((resume) => {
    port.once("message", (message: WeightsMessage) => resume(Effect.succeed(message)));
  });
const acknowledge = (port: MessagePort, version: number) =>
  Effect.sync(() => {
    const message: AdoptedMessage = { _tag: "adopted", version };
    port.postMessage(message);
  });

/** A folder that a learner saved at its start. */
class Saved extends Context.Service<Saved, string>()("Saved") {
  static readonly layer = Layer.effect(
    Saved,
    Effect.tap(temporaryFolder, (folder) => Effect.scoped(Effect.flatMap(start(), (learner) => learner.save(folder)))),
  );
  static readonly copied = Effect.gen(function* () {
    const [saved, folder] = [yield* Saved, yield* temporaryFolder];
    yield* Effect.promise(() => cp(saved, folder, { recursive: true }));
    return folder;
  });
}

/** Many passes of a few tokens. */
const crossRequest = (givesWay: boolean): CrossRequest => ({
  prompts: Array.from({ length: 8 }, (_, i) => Int32Array.of(1, i, 2)),
  continuations: Array.from({ length: 40 }, (_, i) => Int32Array.of(i % 19, 3)),
  temperature: 1,
  passTokens: 1,
  givesWay,
});

layer(Saved.layer)("the learner's thread", (it) => {
  it.effect("scores between commands: one that gives way ends for an update, another goes on under its version", () =>
    Effect.gen(function* () {
      const learner = yield* start();
      const whole = yield* learner.score(crossRequest(false));
      expect(whole).toMatchObject({ rows: 40, version: 0 });
      const giving = yield* Effect.forkChild(learner.score(crossRequest(true)), { startImmediately: true });
      const { version } = yield* learner.update(tokens(0));
      const given = yield* Fiber.join(giving);
      expect([version, given.version]).toEqual([1, 0]);
      expect(given.rows).toBeLessThan(40);
      expect([...given.sums]).toEqual([...whole.sums.slice(0, given.sums.length)]);
      expect(yield* learner.score(crossRequest(true))).toMatchObject({ rows: 40, version: 1 });
    }),
  );

  it.effect("takes calls while it starts in the background, and answers them once it has", () =>
    Effect.gen(function* () {
      const learner = yield* start({ inBackground: true });
      expect(yield* learner.update(tokens(0))).toMatchObject({ version: 1 });
    }),
  );

  it.effect("fails its calls and is dead where it cannot start in the background", () =>
    Effect.gen(function* () {
      const learner = yield* start({ inBackground: true, restore: "/nowhere" });
      const failures = yield* Effect.all([Effect.flip(learner.update(tokens(0))), Effect.flip(learner.died)]);
      expect(failures.map(({ reason }) => reason)).toEqual(["bad_checkpoint", "bad_checkpoint"]);
    }),
  );

  it.effect("closes while a scoring goes on", () =>
    Effect.gen(function* () {
      const scoring = yield* Effect.scoped(
        Effect.gen(function* () {
          const learner = yield* start();
          const scoring = yield* Effect.forkDetach(learner.score(crossRequest(true)), { startImmediately: true });
          yield* learner.version;
          return scoring;
        }),
      );
      const exit = yield* Fiber.await(scoring);
      expect(Exit.isFailure(exit) || exit.value.rows <= 40).toBe(true);
    }),
  );

  it.effect("sends each new version, and the newest of those made before an acknowledgement", () =>
    Effect.gen(function* () {
      const { port1, port2 } = yield* channel;
      const learner = yield* start({ ports: [port2] });
      const first = yield* Effect.forkChild(nextWeights(port1), { startImmediately: true });
      yield* learner.update(tokens(0));
      const { version, payload } = yield* Fiber.join(first);
      const buffer = payload._tag === "full" ? payload.buffer : new ArrayBuffer();
      expect([version, buffer.byteLength]).toEqual([1, checkpoint.parameters.flat.byteLength]);
      expect(new Float32Array(buffer)).not.toEqual(checkpoint.parameters.flat);
      yield* learner.update(tokens(1));
      yield* learner.update(tokens(2));
      const newest = yield* Effect.forkChild(nextWeights(port1), { startImmediately: true });
      yield* acknowledge(port1, 1);
      expect((yield* Fiber.join(newest)).version).toBe(3);
      expect(yield* learner.version).toBe(3);
    }),
  );

  it.effect("goes on from a saved folder bit for bit", () =>
    Effect.gen(function* () {
      const [half, whole, resumed] = [yield* temporaryFolder, yield* temporaryFolder, yield* temporaryFolder];
      const actor = (folder: string) =>
        Effect.map(readParameters(join(folder, "model.safetensors"), parameters(tiny)), (file) => file.parameters.flat);
      yield* Effect.scoped(
        Effect.gen(function* () {
          const learner = yield* start();
          yield* learner.update(tokens(0));
          yield* learner.save(half);
          yield* learner.update(tokens(1));
          yield* learner.save(whole);
        }),
      );
      const credit = yield* Effect.scoped(
        Effect.gen(function* () {
          const learner = yield* start({ restore: half });
          expect(yield* learner.version).toBe(1);
          yield* learner.update(tokens(1));
          yield* learner.save(resumed);
          return (yield* learner.update(tokens(2))).credit;
        }),
      );
      expect(yield* actor(resumed)).toEqual(yield* actor(whole));
      const again = yield* start({ restore: whole });
      expect((yield* again.update(tokens(2))).credit).toEqual(credit);
    }),
  );

  it.effect("is sent the tokens of a window in one message, whatever its credit is made of", () =>
    Effect.gen(function* () {
      const algorithm = { ...trainerOptions.algorithm, use_kl_in_reward: true, correction: "vtrace" } as const;
      const learner = yield* start({ trainer: { ...trainerOptions, algorithm } });
      const sent = vi.spyOn(Worker.prototype, "postMessage");
      const { credit, seconds } = yield* learner.update(tokens(0));
      const messages = sent.mock.calls.map(([message]) => message as { readonly request?: object });
      sent.mockRestore();
      expect(messages).toMatchObject([{ request: { kept: { window: 0 } } }]);
      expect([credit.advantages.length, credit.returns.length, credit.values.length]).toEqual([55, 55, 55]);
      expect(valueIn(seconds, timing.values)).toBeGreaterThan(0);
    }),
  );

  it.effect("with a fixed lag sends each version in order, and saves and restores the earlier ones", () =>
    Effect.gen(function* () {
      const [{ port1, port2 }, folder] = [yield* channel, yield* temporaryFolder];
      const size = tinyParameters().flat.length;
      const sent = yield* Effect.scoped(
        Effect.gen(function* () {
          const learner = yield* start({ ports: [port2], lag: 2 });
          const first = yield* Effect.forkChild(nextWeights(port1), { startImmediately: true });
          for (const window of [0, 1, 2]) yield* learner.update(tokens(window));
          const sent = [yield* Fiber.join(first)];
          for (const version of [1, 2]) {
            const next = yield* Effect.forkChild(nextWeights(port1), { startImmediately: true });
            yield* acknowledge(port1, version);
            sent.push(yield* Fiber.join(next));
          }
          yield* learner.save(folder);
          return sent;
        }),
      );
      expect(sent.map(({ version }) => version)).toEqual([1, 2, 3]);
      const saved = yield* readEarlier(folder, tiny);
      expect(saved.map(({ version }) => version)).toEqual([1, 2]);
      for (const [index, { parameters }] of saved.entries()) {
        const { payload } = sent[index]!;
        expect(parameters).toHaveLength(size);
        expect(payload._tag === "full" && new Float32Array(payload.buffer)).toEqual(parameters);
      }

      const again = yield* temporaryFolder;
      const resumed = yield* start({ restore: folder, lag: 2 });
      yield* resumed.save(again);
      expect(yield* readEarlier(again, tiny)).toEqual(saved);
      yield* plant(join(folder, "earlier.safetensors"), "version.2", 0, 0x7fc00000);
      expect(yield* Effect.flip(start({ restore: folder, lag: 2 }))).toMatchObject({ reason: "bad_checkpoint" });
    }).pipe(Effect.scoped),
  );

  it.effect("reports metrics and seconds of an update", () =>
    Effect.gen(function* () {
      const { metrics, seconds } = yield* Effect.flatMap(start(), (learner) => learner.update(tokens(0)));
      expect(valueIn(metrics, catalogue.lr)).toBe(trainerOptions.actor.lr);
      expect(valueIn(seconds, catalogue.timing.of({ phase: "update_actor" }))).toBeGreaterThan(0);
    }),
  );

  it.effect("uses as many of its lanes as it is told, and refuses more", () =>
    Effect.gen(function* () {
      expect((yield* start()).lanes).toBe(null);
      const { lanes, update } = yield* start({ trainer: { ...trainerOptions, lanes: 2 } });
      if (lanes === null) throw new Error("there are no lanes");
      expect(lanes.most).toBe(2);
      yield* lanes.use(1);
      expect((yield* update(tokens(0))).applied).toBe(true);
      expect((yield* Effect.flip(lanes.use(3))).message).toContain("3 lanes cannot be used; nearest: 2");
    }),
  );

  it.effect("clones and publishes", () =>
    Effect.gen(function* () {
      const { port1, port2 } = yield* channel;
      const learner = yield* start({ ports: [port2] });
      const arrived = yield* Effect.forkChild(nextWeights(port1), { startImmediately: true });
      const report = yield* learner.clone(batch(0), 1e-3);
      expect(report.loss).toBeGreaterThan(0);
      expect((yield* Fiber.join(arrived)).version).toBe(1);
    }),
  );

  it.effect("fails with a typed error when there is nothing to restore", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start({ restore: "/nowhere" }));
      expect([error._tag, error.reason]).toEqual(["LearnerError", "bad_checkpoint"]);
      expect(error.message).toContain("learner.json");
    }),
  );

  it.effect("refuses a folder of another schema and says which it reads", () =>
    Effect.gen(function* () {
      const folder = yield* Saved.copied;
      const path = join(folder, "learner.json");
      const written: Record<string, unknown> = JSON.parse(yield* Effect.promise(() => readFile(path, "utf8")));
      expect(written.schema).toBe(2);
      const { schema: _, ...early } = written;
      const cases = [
        [early, 'it has no "schema", so an early millrace 0.1.0 wrote it; this version reads schema 2'],
        [{ ...written, schema: 3 }, "its schema is 3; this version reads schema 2"],
      ] as const;
      for (const [content, sentence] of cases) {
        yield* Effect.promise(() => writeFile(path, JSON.stringify(content)));
        const error = yield* Effect.flip(start({ restore: folder }));
        expect([error.reason, error.message]).toEqual(["bad_checkpoint", `${path}: ${sentence}`]);
      }
    }),
  );

  const planted = [
    { file: "model", tensor: "model.norm.weight", shown: "NaN", bits: 0x7fc00000 },
    { file: "critic", tensor: "model.norm.weight", shown: "Infinity", bits: 0x7f800000 },
    { file: "optimiser", tensor: "actor.first", shown: "-Infinity", bits: 0xff800000 },
    { file: "optimiser", tensor: "actor.second", shown: "NaN", bits: 0xffc00000 },
    { file: "optimiser", tensor: "critic.first", shown: "NaN", bits: 0x7f800001 },
    { file: "optimiser", tensor: "critic.second", shown: "Infinity", bits: 0x7f800000 },
    { file: "optimiser", tensor: "critic.second", shown: "-1", bits: 0xbf800000 },
  ];
  it.effect.each(planted)(
    "goes on from no folder whose $file holds $shown in $tensor",
    ({ bits, file, shown, tensor }) =>
      Effect.gen(function* () {
        const folder = yield* Saved.copied;
        const path = join(folder, `${file}.safetensors`);
        yield* plant(path, tensor, 5, bits);
        const error = yield* Effect.flip(start({ restore: folder }));
        expect(error.reason).toBe("bad_checkpoint");
        expect(error.message).toContain(`${path}: tensor "${tensor}" holds ${shown} at index 5; `);
      }),
  );

  it.effect("saves no weights that nothing can be computed with", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const learner = yield* start({ trainer: { ...trainerOptions, actor: { ...trainerOptions.actor, lr: 1e12 } } });
      yield* learner.update(tokens(0));
      const error = yield* Effect.flip(learner.save(folder));
      expect([error._tag, error.reason]).toEqual(["LearnerError", "not_finite"]);
      expect(error.message).toBe(
        "the weights are not saved, because the policy's log-probabilities are not finite under them; lower the learning rate",
      );
      expect(yield* Effect.promise(() => readdir(folder))).toEqual([]);
    }),
  );

  it.effect("fails one call that the session refuses and serves the next", () =>
    Effect.gen(function* () {
      const learner = yield* start();
      const bad = { kept: { ...batch(0), ids: batch(0).ids.map(() => tiny.vocabSize + 1) }, unfiltered: undefined };
      const error = yield* Effect.flip(learner.update(bad));
      expect([error._tag, error.reason]).toEqual(["LearnerError", "session_failed"]);
      expect((yield* learner.update(tokens(0))).version).toBe(1);
    }),
  );

  it.effect("fails every call once its thread is gone", () =>
    Effect.gen(function* () {
      const learner = yield* Effect.scoped(start());
      const exit = yield* Effect.exit(learner.update(tokens(0)));
      expect(Exit.isFailure(exit)).toBe(true);
      const error = yield* Effect.flip(learner.died);
      expect(error.reason).toBe("thread_died");
    }),
  );
});
