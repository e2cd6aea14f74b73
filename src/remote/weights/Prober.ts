/**
 * What each version makes of a fixed text: its own log-probabilities, to compare a server's with after it has taken the version. The forward pass
 * reads the weights where they lie. Invariant: one session, opened once.
 */
import type { DecoderConfig } from "../../policy/model/Architecture.ts";
import { parametersOf } from "../../policy/model/Parameters.ts";
import { scoreModel } from "../../policy/model/Score.ts";
import { trainedParameters } from "../../policy/model/Trained.ts";
import { type Base, baseFeeds, readable, viewFeeds } from "../../policy/runtime/baseFeeds.ts";
import { type Feeds, float32, int64, Session } from "../../policy/runtime/Session.ts";

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
  static async open(config: DecoderConfig, base: Base | undefined, ids: Int32Array): Promise<Prober> {
    const session = await Session.open(scoreModel(config));
    const fixed: Feeds = {
      ...(base === undefined ? {} : baseFeeds(await readable(base))),
      ids: int64(BigInt64Array.from(ids, BigInt), [1, ids.length]),
      before: int64(
        BigInt64Array.from({ length: ids.length - 1 }, (_, i) => BigInt(i)),
        [ids.length - 1],
      ),
      temperature: float32(Float32Array.of(1), []),
    };
    return new Prober(config, session, fixed);
  }

  /** Log-probability of every id but the first, given those before it, under the trained parameters `flat`. */
  async scores(flat: Float32Array<ArrayBuffer>): Promise<Float32Array> {
    const weights = viewFeeds(parametersOf(trainedParameters(this.#config), flat));
    using outputs = await this.#session.run({ ...weights, ...this.#fixed }, ["logp"]);
    return outputs.float32("logp").slice();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
