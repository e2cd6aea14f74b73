/**
 * Entry of a lane's thread. It opens models once; each pass brings a copy of the weights, runs micro-batches and returns their results.
 * Invariant: no weights are kept between passes.
 */
import { parametersOf } from "../../model/graphs/Parameters.ts";
import { readableBase } from "../../model/runtime/baseFeeds.ts";
import { type Feeds, useRuntime } from "../../model/runtime/Session.ts";
import { serve } from "../../model/runtime/serve.ts";
import { Lane, type MicroResult, weightFeeds } from "./Lane.ts";
import type { LaneProtocol } from "./LaneProtocol.ts";

let lane: Lane | undefined;
let pass: Promise<{ readonly model: number; readonly weights: Feeds }> | undefined;

/** Returns the buffers to transfer; shared ones cannot be. */
const buffers = ({ gradients, rows, sums }: MicroResult): readonly ArrayBuffer[] =>
  [...gradients, ...Object.values(sums), ...Object.values(rows)].flatMap(({ buffer }) =>
    buffer instanceof ArrayBuffer ? [buffer] : [],
  );

serve<LaneProtocol>(
  {
    open: ({ model, runtime, threads }) => {
      useRuntime(runtime);
      lane ??= new Lane(threads);
      return lane.open(model);
    },
    begin: ({ base, model, weights: { flat, specs } }) => {
      pass = (async () => ({
        model,
        weights: weightFeeds(parametersOf(specs, flat), base && (await readableBase(base))),
      }))();
      return null;
    },
    run: async (micro, { transfer }) => {
      if (lane === undefined || pass === undefined) throw new Error("no pass has begun");
      const { model, weights } = await pass;
      const result = await lane.run(model, weights, micro);
      transfer(buffers(result));
      return result;
    },
    end: () => {
      pass = undefined;
      return null;
    },
  },
  async () => lane?.[Symbol.asyncDispose](),
);
