/**
 * Tells if a server's model is the one in a local folder, by the scores of both for a text. The text alone cannot tell: a model that was
 * trained on one narrow task gives plain words less than chance.
 */
import { Effect } from "effect";
import { readCheckpoint, readModelConfig } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { elementCount, parameters } from "../../model/graphs/Architecture.ts";
import { writableParameters } from "../../model/graphs/Parameters.ts";
import { probeDistance } from "../generation/probeDistance.ts";
import { Prober } from "../weights/Prober.ts";

/** Models with more parameters are not read for this: large models have seen plain words. */
const MOST_PARAMETERS = 2 ** 29;
/** Mean distance of log-probabilities in nats. Low-precision formats stay below it; other weights are several nats away. */
const TOLERANCE = 0.25;

/** Mean distance of the server's log-probabilities `logp`, of all ids but the first, from those of the folder's weights. */
const distanceTo = Effect.fnUntraced(function* (folder: string, ids: Int32Array, logp: Float32Array) {
  const sizes = parameters((yield* readModelConfig(folder)).config).map(({ shape }) => elementCount(shape));
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_PARAMETERS) return Number.POSITIVE_INFINITY;
  const { config, parameters: weights } = yield* readCheckpoint(folder);
  const lengths = Array.from(logp, (_, i) => i + 1);
  const rows = yield* Effect.promise(async () => {
    await using prober = await Prober.open(config, undefined, { ids, lengths });
    return await prober.scores(writableParameters(weights).flat);
  });
  const theirs = Array.from(logp, (value, i) => new Map([[ids[i + 1] ?? 0, value]]));
  return probeDistance(rows, theirs, 1);
});

/**
 * True if the log-probabilities `logp`, of all ids but the first, are those of the weights in `folder`. False if the folder has no readable
 * weights.
 */
export const hasWeightsOf = (folder: string, ids: Int32Array, logp: Float32Array): Effect.Effect<boolean> =>
  Effect.match(distanceTo(folder, ids, logp), { onFailure: () => false, onSuccess: (off) => off < TOLERANCE });
