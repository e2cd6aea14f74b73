/**
 * Scores a fixed text with each version of the weights, to compare a server's log-probabilities with ours after the server has adopted it.
 * The scores are those of all tokens behind some prefixes of the text. Invariant: one session serves all versions, and the forward pass
 * reads the weights without a copy.
 */
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";
import { logits, trunk } from "../../model/graphs/Decoder.ts";
import { policyInputs } from "../../model/graphs/Lora.ts";
import { parametersOf } from "../../model/graphs/Parameters.ts";
import { trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import { type Base, baseFeeds, readableBase, viewFeeds } from "../../model/runtime/baseFeeds.ts";
import { type Feeds, int64, int64Vector, Session } from "../../model/runtime/Session.ts";
import { Graph } from "../../model/tensor/Graph.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

/** A text, and the lengths of its prefixes to score behind, each at least 1. */
export interface Probe {
  readonly ids: Int32Array;
  readonly lengths: readonly number[];
}

/** Graph from weights, ids [1, time] and prefix ends [targets] to scores of all tokens behind each, [targets, vocabulary]. */
const probeGraph = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("probe");
  const weights = policyInputs(graph, config);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const positions = graph.input("before", "int64", ["targets"]);
  graph.output("scores", logits(weights, trunk(config, weights, ids, positions)));
  return graph.toModel();
};

export class Prober implements AsyncDisposable {
  readonly #config: DecoderConfig;
  readonly #session: Session;
  /** The inputs that do not change: base weights, ids and positions. */
  readonly #fixed: Feeds;

  private constructor(config: DecoderConfig, session: Session, fixed: Feeds) {
    this.#config = config;
    this.#session = session;
    this.#fixed = fixed;
  }

  /** @param base frozen weights under a LoRA adapter */
  static async open(config: DecoderConfig, base: Base | undefined, { ids, lengths }: Probe): Promise<Prober> {
    const session = await Session.open(probeGraph(config));
    const fixed: Feeds = {
      ...(base === undefined ? {} : baseFeeds(await readableBase(base))),
      ids: int64(BigInt64Array.from(ids, BigInt), [1, ids.length]),
      before: int64Vector(lengths.map((length) => length - 1)),
    };
    return new Prober(config, session, fixed);
  }

  /** Scores under the trained parameters `flat`: one row for each prefix, [prefixes, vocabulary]. */
  async scores(flat: Float32Array<ArrayBuffer>): Promise<Float32Array> {
    const weights = viewFeeds(parametersOf(trainedParameters(this.#config), flat));
    using outputs = await this.#session.run({ ...weights, ...this.#fixed });
    return outputs.float32("scores").slice();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
