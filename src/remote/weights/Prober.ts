/**
 * What each version makes of a fixed text: its scores of all tokens behind some beginnings of the text, to compare a server's log-probabilities with
 * after it has taken the version. The forward pass reads the weights where they lie. Invariant: one session, opened once.
 */
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";
import { logits, trunk } from "../../model/graphs/Decoder.ts";
import { policyInputs } from "../../model/graphs/Lora.ts";
import { parametersOf } from "../../model/graphs/Parameters.ts";
import { trainedParameters } from "../../model/graphs/Trained.ts";
import { type Base, baseFeeds, readable, viewFeeds } from "../../model/runtime/baseFeeds.ts";
import { type Feeds, int64, Session } from "../../model/runtime/Session.ts";
import { Graph } from "../../model/tensor/Graph.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";

/** A text, and the lengths of the beginnings that are asked about, each 1 at least. */
export interface Probe {
  readonly ids: Int32Array;
  readonly lengths: readonly number[];
}

/** Weights, ids [1, time] and before [targets] to the scores of all tokens behind each, [targets, vocabulary]. */
const rowsModel = (config: DecoderConfig): OnnxModel => {
  const graph = new Graph("probe");
  const weights = policyInputs(graph, config);
  const ids = graph.input("ids", "int64", ["batch", "time"]);
  const before = graph.input("before", "int64", ["targets"]);
  graph.output("scores", logits(weights, trunk(config, weights, ids, before)));
  return graph.toModel();
};

export class Prober implements AsyncDisposable {
  readonly #config: DecoderConfig;
  readonly #session: Session;
  /** What is the same for all versions. */
  readonly #fixed: Feeds;

  private constructor(config: DecoderConfig, session: Session, fixed: Feeds) {
    this.#config = config;
    this.#session = session;
    this.#fixed = fixed;
  }

  /** @param base what an adapter stands beside */
  static async open(config: DecoderConfig, base: Base | undefined, { ids, lengths }: Probe): Promise<Prober> {
    const session = await Session.open(rowsModel(config));
    const fixed: Feeds = {
      ...(base === undefined ? {} : baseFeeds(await readable(base))),
      ids: int64(BigInt64Array.from(ids, BigInt), [1, ids.length]),
      before: int64(
        BigInt64Array.from(lengths, (length) => BigInt(length - 1)),
        [lengths.length],
      ),
    };
    return new Prober(config, session, fixed);
  }

  /** Scores under the trained parameters `flat`, one row of the vocabulary's length for each beginning. */
  async scores(flat: Float32Array<ArrayBuffer>): Promise<Float32Array> {
    const weights = viewFeeds(parametersOf(trainedParameters(this.#config), flat));
    using outputs = await this.#session.run({ ...weights, ...this.#fixed });
    return outputs.float32("scores").slice();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
