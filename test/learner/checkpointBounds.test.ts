/** A learner's checkpoint with impossible sizes or counters is refused before memory is taken. */
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { stream } from "../../src/domain/Random.ts";
import { restoreTrainer, saveTrainer } from "../../src/learner/TrainerCheckpoint.ts";
import type { TrainedNetwork } from "../../src/learner/TrainerState.ts";
import * as Safetensors from "../../src/model/checkpoint/Safetensors.ts";
import {
  criticParameters,
  type DecoderConfig,
  familyDefaults,
  type ParameterSpec,
  parameters as specsOf,
} from "../../src/model/graphs/Architecture.ts";
import { initialise } from "../../src/model/graphs/Parameters.ts";
import * as Manifest from "../../src/support/files/Manifest.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { tiny, tinyParameters } from "./model.ts";

const parameters = tinyParameters();
const size = parameters.flat.length;
const moments = { first: new Float32Array(size).fill(0.5), second: new Float32Array(size).fill(0.25), steps: 4 };
const actor: TrainedNetwork = { parameters, moments };
const state = { version: 2, windows: 3, actorUpdates: 2, criticUpdates: 0 };
const files = {
  config: tiny,
  tokens: { bos: undefined, eos: [0], pad: undefined },
  tokenizer: { tokenizerJson: {}, tokenizerConfig: {} },
};

const saved = Effect.gen(function* () {
  const folder = yield* temporaryFolder;
  yield* saveTrainer(folder, files, state, actor, undefined);
  return folder;
});
const fault = (folder: string) => Effect.map(Effect.flip(restoreTrainer(folder, tiny)), ({ message }) => message);

describe("a learner's checkpoint", () => {
  it.effect("comes back as it was saved, and has a manifest of its files", () =>
    Effect.gen(function* () {
      const folder = yield* saved;
      const restored = yield* restoreTrainer(folder, tiny);
      expect(restored.state).toEqual(state);
      expect(restored.actor.moments).toEqual(moments);
      expect(restored.critic).toBe(undefined);
      yield* Manifest.verify(folder);
    }),
  );

  it.effect("of a model with an output matrix has none in its critic, and comes back", () =>
    Effect.gen(function* () {
      const config: DecoderConfig = { ...tiny, ...familyDefaults.qwen3, tieEmbedding: false };
      const networkOf = (specs: readonly ParameterSpec[]): TrainedNetwork => {
        const parameters = initialise(specs, stream({ seed: 7, purpose: "initialisation", counters: [] }));
        const zeros = () => new Float32Array(parameters.flat.length);
        return { parameters, moments: { first: zeros(), second: zeros(), steps: 1 } };
      };
      const [policy, critic] = [networkOf(specsOf(config)), networkOf(criticParameters(config))];
      const folder = yield* temporaryFolder;
      yield* saveTrainer(folder, { ...files, config }, state, policy, critic, { reference: policy.parameters });
      const restored = yield* restoreTrainer(folder, config);
      expect(restored.actor).toEqual(policy);
      expect(restored.critic).toEqual(critic);
      expect(restored.reference).toEqual(policy.parameters);
      expect(critic.parameters.specs.map(({ name }) => name)).not.toContain("lm_head.weight");
    }),
  );

  const counters: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
    [{ windows: -1 }, "windows"],
    [{ version: 0.5 }, "version"],
    [{ actorSteps: 1e300 }, "actorSteps"],
    [{ criticSteps: -4 }, "criticSteps"],
    [{ earlier: [5, 2] }, "its earlier versions (5, 2) do not rise to"],
    [{ actorUpdates: 9 }, "3 windows cannot have made 9 updates of the actor"],
  ];
  it.effect.each(counters)("is refused in one line with impossible counters: %j", ([change, message]) =>
    Effect.gen(function* () {
      const folder = yield* saved;
      const path = join(folder, "learner.json");
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
      const problem = yield* fault(folder);
      expect(problem).toContain(path);
      expect(problem).toContain(message);
      expect(problem).not.toContain("\n");
    }),
  );

  it.effect("is refused by the sizes of its moments, before any are read", () =>
    Effect.gen(function* () {
      const folder = yield* saved;
      const path = join(folder, "optimiser.safetensors");
      // A terabyte of moments that the file does hold: nothing on disk, and far beyond memory.
      const values = 2 ** 37;
      const entry = (begin: number) => ({
        dtype: "F32",
        shape: [values],
        data_offsets: [begin, begin + 4 * values],
      });
      const header = Buffer.from(JSON.stringify({ "actor.first": entry(0), "actor.second": entry(4 * values) }));
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(header.length));
      writeFileSync(path, Buffer.concat([length, header]));
      truncateSync(path, 8 + header.length + 8 * values);
      expect(yield* fault(folder)).toBe(
        `${path}: the moments of the actor have shape [${values}], its parameters ${size} values`,
      );
    }),
  );

  it.effect("is refused without the moments of a network", () =>
    Effect.gen(function* () {
      const folder = yield* saved;
      const path = join(folder, "optimiser.safetensors");
      yield* Safetensors.write(path, new Map([["actor.first", { shape: [size], data: moments.first }]]));
      expect(yield* fault(folder)).toBe(`${path}: it lacks the moments of the actor`);
    }),
  );
});
