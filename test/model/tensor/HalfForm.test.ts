/** Models of generation with matrices and caches in float16: what they compute, and that no matrix and no cache is made float32 on the way. */
import { expect, it } from "vitest";
import type { DecoderConfig } from "../../../src/model/graphs/Architecture.ts";
import {
  arrangeModel,
  cacheOutputNames,
  decodeModel,
  feedModel,
  inFloat16,
} from "../../../src/model/graphs/DeviceDecode.ts";
import { Session } from "../../../src/model/runtime/Session.ts";
import { differences, feedsOf } from "../../webgpu/compared.ts";
import { decoders, tiny } from "../tiny.ts";
import { withFloats } from "./withFloats.ts";

const adapted: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj", "down_proj"] } };
const configs = [...decoders, ["a model with an adapter", adapted] as const];
const models = [decodeModel, feedModel] as const;

it.each(configs)("%s has the logits and caches of float32, up to the rounding of float16", async (_, config) => {
  for (const model of models) {
    const feeds = feedsOf(model(config), config.vocabSize);
    await using whole = await Session.open(model(config));
    await using halved = await Session.open(withFloats(inFloat16(config, model(config))));
    using expected = await whole.run(feeds);
    using actual = await halved.run(feeds);
    const apart = differences(expected, actual);
    for (const name of ["logits", ...cacheOutputNames(config)]) {
      expect(apart[name], name).toBeLessThan(2e-2);
      // else nothing was rounded
      expect(apart[name], name).toBeGreaterThan(1e-6);
    }
  }
});

it("moves caches without changing a bit of them", async () => {
  const feeds = feedsOf(arrangeModel(tiny), tiny.vocabSize);
  await using whole = await Session.open(arrangeModel(tiny));
  await using halved = await Session.open(withFloats(inFloat16(tiny, arrangeModel(tiny))));
  using expected = await whole.run(feeds);
  using actual = await halved.run(feeds);
  // half a unit of float16's last place, once
  for (const difference of Object.values(differences(expected, actual)))
    expect(difference).toBeLessThanOrEqual(2 ** -11);
});

it.each(configs)("%s reads matrices and caches in float16 alone", (_, config) => {
  for (const model of [...models, arrangeModel]) {
    const { half = new Set(), nodes } = inFloat16(config, model(config));
    const cast = nodes.filter(({ inputs, type }) => type === "Cast" && inputs.some((name) => half.has(name)));
    expect(cast).toEqual([]);
  }
});
