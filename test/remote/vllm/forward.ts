/** Our own forward pass over a sequence, to hold a server's log-probabilities against. */

import { parametersOf } from "../../../src/model/graphs/Parameters.ts";
import { scoreModel } from "../../../src/model/graphs/Score.ts";
import { trainedParameters } from "../../../src/model/graphs/TrainedParameters.ts";
import type { Model } from "../../../src/model/Model.ts";
import { baseFeeds, baseOf, viewFeeds } from "../../../src/model/runtime/baseFeeds.ts";
import { float32, int64, Session } from "../../../src/model/runtime/Session.ts";

/** Log-probability of each id of `reply` behind `prompt`, under the trained parameters `flat` of the model. */
export const logProbabilities = async (
  { checkpoint }: Model,
  flat: Float32Array<ArrayBuffer>,
  prompt: Iterable<number>,
  reply: Int32Array,
  temperature = 1,
): Promise<Float32Array> => {
  const { config, parameters } = checkpoint;
  const before = Array.from(prompt);
  const ids = [...before, ...reply];
  await using session = await Session.open(scoreModel(config));
  const base = baseOf(config, parameters);
  using outputs = await session.run(
    {
      ...(base === undefined ? {} : baseFeeds(base)),
      ...viewFeeds(parametersOf(trainedParameters(config), flat)),
      ids: int64(BigInt64Array.from(ids, BigInt), [1, ids.length]),
      before: int64(
        BigInt64Array.from(reply, (_, i) => BigInt(before.length - 1 + i)),
        [reply.length],
      ),
      temperature: float32(Float32Array.of(temperature), []),
    },
    ["logp"],
  );
  return outputs.float32("logp").slice();
};

/** The largest distance of two lists. */
export const worst = (a: Float32Array, b: Float32Array): number =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - (b[i] ?? Number.NaN))), 0);
