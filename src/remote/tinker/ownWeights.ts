/**
 * Whether a server's model is the one in a folder here, told by what both make of a text. It settles what a text alone cannot: a model that was trained on
 * one narrow task gives plain words less than chance.
 */
import { Effect } from "effect";
import { readCheckpoint, readModelConfig } from "../../model/checkpoint/HuggingFaceFolder.ts";
import { elementCount, parameters } from "../../model/graphs/Architecture.ts";
import { changeable } from "../../model/graphs/Parameters.ts";
import { distance } from "../generation/probe.ts";
import { Prober } from "../weights/Prober.ts";

/** Weights beyond this are not read for it: those of large models have seen plain words. */
const MOST_PARAMETERS = 2 ** 29;
/** Mean distance of log-probabilities, in nats, that formats of few digits stay below; those of other weights are several apart. */
const TOLERANCE = 0.25;

/** How far the server's log-probabilities `logp` of the ids but the first lie from those of the folder's weights. */
const distanceTo = Effect.fnUntraced(function* (folder: string, ids: Int32Array, logp: Float32Array) {
  const sizes = parameters((yield* readModelConfig(folder)).config).map(({ shape }) => elementCount(shape));
  if (sizes.reduce((sum, size) => sum + size, 0) > MOST_PARAMETERS) return Number.POSITIVE_INFINITY;
  const { config, parameters: weights } = yield* readCheckpoint(folder);
  const lengths = Array.from(logp, (_, i) => i + 1);
  const rows = yield* Effect.promise(async () => {
    await using prober = await Prober.open(config, undefined, { ids, lengths });
    return await prober.scores(changeable(weights).flat);
  });
  const theirs = Array.from(logp, (value, i) => new Map([[ids[i + 1] ?? 0, value]]));
  return distance(rows, theirs, 1);
});

/** Whether log-probabilities `logp` of the ids but the first are of the weights in `folder`; false where it has none that can be read. */
export const hasWeightsOf = (folder: string, ids: Int32Array, logp: Float32Array): Effect.Effect<boolean> =>
  Effect.match(distanceTo(folder, ids, logp), { onFailure: () => false, onSuccess: (off) => off < TOLERANCE });
