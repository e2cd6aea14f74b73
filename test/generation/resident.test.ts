/** The form of devices that keep their tensors, here on the CPU: it samples what the form with caches in host memory samples. */

import { expect, it } from "vitest";
import { cpu } from "../../src/domain/Device.ts";
import type { Sampled } from "../../src/domain/Episode.ts";
import { GeneratorLoop, type GeneratorLoopOptions } from "../../src/generation/GeneratorLoop.ts";
import type { GeneratorModel } from "../../src/generation/LanguageModel.ts";
import { open } from "../../src/generation/OnnxModel.ts";
import type { Sampling } from "../../src/generation/Policy.ts";
import { openResident } from "../../src/generation/ResidentModel.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { fullPayload, type Payload } from "../../src/model/weights/Weights.ts";
import { shared } from "../learner/adapted.ts";
import { randomWeights } from "../model/tiny.ts";
import { idsOf, loopOn, loopOptions, reply, requestOf, tiny, weightsOf } from "./support.ts";

/** Three turns of twelve sequences over few slots: shared prefixes, rows that move, evictions, a new version in between. */
const turns = async <W>(
  loop: GeneratorLoop<W>,
  sampling: Sampling,
  newer: Payload = fullPayload(weightsOf(1).flat),
): Promise<readonly Sampled[]> => {
  const all: Sampled[] = [];
  const play = async (turn: number, length: (sequence: number) => number): Promise<void> => {
    const requests = Array.from({ length: 12 }, (_, sequence) =>
      requestOf(
        sequence,
        turn === 0 ? idsOf(length(sequence), sequence % 3) : idsOf(length(sequence), turn, sequence),
        {
          sharedPrefix: turn === 0 ? 20 : 0,
          maxTokens: 4 + (sequence % 5),
          sampling,
          key: { seed: 3, purpose: "sampling", counters: [sequence, turn] },
        },
      ),
    );
    all.push(...(await Promise.all(requests.map((request) => reply(loop, request)))));
  };
  await play(0, (sequence) => 24 + (sequence % 4) * 9);
  loop.release(5);
  await play(1, (sequence) => 1 + ((sequence * 7) % 40));
  loop.offer(1, newer);
  await play(2, (sequence) => 3 + (sequence % 2) * 30);
  return all;
};

const playBoth = async (sampling: Sampling, options: Partial<GeneratorLoopOptions>) => {
  const host = loopOn(await open(tiny), options);
  const resident = loopOn(await openResident(tiny), options);
  try {
    return { expected: await turns(host, sampling), actual: await turns(resident, sampling) };
  } finally {
    await host.close();
    await resident.close();
  }
};

const expectSame = (actual: readonly Sampled[], expected: readonly Sampled[]): void => {
  for (const [i, sampled] of expected.entries()) {
    expect([...(actual[i]?.ids ?? [])]).toEqual([...sampled.ids]);
    expect([...(actual[i]?.versions ?? [])]).toEqual([...sampled.versions]);
    for (const [token, mu] of sampled.mu.entries()) {
      expect(actual[i]?.mu[token]).toBeCloseTo(mu, 4);
      expect(actual[i]?.entropies[token]).toBeCloseTo(sampled.entropies[token]!, 4);
    }
  }
};

it.each<readonly [string, Sampling]>([
  ["at temperature 1", { temperature: 1, topK: -1, topP: 1 }],
  ["at another temperature", { temperature: 0.7, topK: -1, topP: 1 }],
  ["greedily", { temperature: 0, topK: -1, topP: 1 }],
  ["truncated", { temperature: 1, topK: 5, topP: 0.9 }],
])("samples the same %s", async (_, sampling) => {
  const { actual, expected } = await playBoth(sampling, { slots: 8 });
  expectSame(actual, expected);
});

it("samples the same with an adapter, and another after its adoption", async () => {
  const config: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj", "o_proj", "up_proj"] } };
  const payload = (version: number): Payload => {
    const { flat } = randomWeights(trainedParameters(config), 30 + version);
    return { _tag: "adapter", buffer: flat.buffer };
  };
  const base = baseOf(config, shared(weightsOf(0)));
  const sampling: Sampling = { temperature: 1, topK: -1, topP: 1 };
  const start = <W>(model: GeneratorModel<W>) =>
    new GeneratorLoop(model, { version: 0, payload: payload(0) }, { ...loopOptions, slots: 8 });
  const [host, resident] = [start(await open(config, { base })), start(await openResident(config, cpu, base))];
  try {
    expectSame(await turns(resident, sampling, payload(1)), await turns(host, sampling, payload(1)));
  } finally {
    await host.close();
    await resident.close();
  }
});

it("takes an adapter's versions alone where it stands beside a base", async () => {
  const config: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj"] } };
  const model = await openResident(config, cpu, baseOf(config, shared(weightsOf(0))));
  expect(model.versions.payloadKinds).toEqual(["adapter"]);
  expect(() => model.weights(2, fullPayload(weightsOf(0).flat))).toThrow("version 2 is of the kind full, not adapter");
  await model.close();
});

/** The same model, on which rows are not arranged before other things have happened, as on a device. */
const slow = <W>(model: GeneratorModel<W>): GeneratorModel<W> => {
  if (!("sequences" in model)) return model;
  const sequences = (slots: number) => {
    const delayed = model.sequences(slots);
    const arrange: typeof delayed.arrange = async (...args) => {
      await new Promise((done) => setImmediate(done));
      return delayed.arrange(...args);
    };
    return new Proxy(delayed, {
      get: (target, key) => {
        if (key === "arrange") return arrange;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  return { ...model, sequences };
};

it("samples what it would alone, where a request is cancelled while rows are arranged and asked again", async () => {
  const sampling: Sampling = { temperature: 1, topK: -1, topP: 1 };
  const request = (sequence: number) =>
    requestOf(sequence, idsOf(9, sequence), {
      maxTokens: 5,
      sampling,
      key: { seed: 3, purpose: "sampling", counters: [sequence] },
    });
  const loop = loopOn(slow(await openResident(tiny)), { slots: 4 });
  const alone = loopOn(await openResident(tiny), { slots: 4 });
  try {
    void reply(loop, request(0));
    const other = reply(loop, request(1));
    await Promise.resolve();
    loop.cancel(0);
    const again = reply(loop, request(0));
    const [first, second] = await Promise.all([again, other]);
    expect([...first.ids]).toEqual([...(await reply(alone, request(0))).ids]);
    expect([...second.ids]).toEqual([...(await reply(alone, request(1))).ids]);
  } finally {
    await loop.close();
    await alone.close();
  }
});
