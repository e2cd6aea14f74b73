/**
 * Entry of a lane's thread. It opens models once; each pass brings a copy of the weights, runs micro-batches and hands their results
 * over. Invariant: between passes no weights are held but frozen ones.
 */
import { parametersOf } from "../../policy/model/Parameters.ts";
import { type Feeds, useRuntime } from "../../policy/runtime/Session.ts";
import { serve } from "../../policy/runtime/serve.ts";
import { Lane, type MicroResult, weightFeeds } from "./Lane.ts";
import type { FrozenWeights, LaneProtocol, SentWeights } from "./protocol.ts";

let lane: Lane | undefined;
let pass: { readonly model: number; readonly weights: Feeds } | undefined;

const feedsOf = ({ flat, specs }: SentWeights): Feeds => weightFeeds(parametersOf(specs, flat));

const frozen = new Map<number, Feeds>();
const frozenFeeds = (given: FrozenWeights | null): Feeds | undefined => {
  if (given === null) return undefined;
  if (given.weights !== null) frozen.set(given.number, feedsOf(given.weights));
  return frozen.get(given.number);
};

/** Buffers of arrays that own theirs. */
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
    begin: ({ model, weights, frozen }) => {
      pass = { model, weights: { ...frozenFeeds(frozen), ...feedsOf(weights) } };
      return null;
    },
    run: async (micro, { transfer }) => {
      if (lane === undefined || pass === undefined) throw new Error("no pass has begun");
      const result = await lane.run(pass.model, pass.weights, micro);
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
