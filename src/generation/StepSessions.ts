/**
 * The sessions in which versions of the weights take their decode steps. Weights that are inputs share one session, and so do frozen weights
 * that are prepacked. Whole weights that are prepacked have one session for each version, which its first step opens.
 */
import { type Feeds, Session, type SessionOptions } from "../model/runtime/Session.ts";
import { type OnnxModel, withConstants } from "../model/tensor/Onnx.ts";

/** Makes constants of the inputs that `weights` has, in host memory; the runtime packs them for its products when it loads the model. */
const withPrepacked = (model: OnnxModel, weights: Feeds): OnnxModel => {
  const inputs = model.inputs.filter(({ name }) => weights[name] !== undefined);
  return withConstants(
    model,
    inputs.map(({ dtype, name }) => {
      const { data, dims } = weights[name]!;
      if (!ArrayBuffer.isView(data)) throw new TypeError(`the weights "${name}" are not in host memory`);
      return { name, dtype, dims, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
    }),
  );
};

export interface Prepacking {
  readonly prepacks: boolean;
  /** Frozen weights beside an adapter; undefined if whole versions are trained. */
  readonly frozen: Feeds | undefined;
}

/** Sessions over weights `W`, a version's inputs. */
export class StepSessions<W extends { readonly feeds: Feeds }> {
  readonly #model: OnnxModel;
  readonly #options: SessionOptions;
  /** The session of all versions; undefined if each has its own. */
  readonly #shared: Session | undefined;
  readonly #ofVersions = new Map<W, Promise<Session>>();

  private constructor(model: OnnxModel, options: SessionOptions, shared: Session | undefined) {
    this.#model = model;
    this.#options = options;
    this.#shared = shared;
  }

  /** Opens the session of all versions, unless each version has its own. Rejects if the runtime refuses the model. */
  static async open<W extends { readonly feeds: Feeds }>(
    model: OnnxModel,
    { frozen, prepacks }: Prepacking,
    options: SessionOptions,
  ): Promise<StepSessions<W>> {
    if (prepacks && frozen === undefined) return new StepSessions<W>(model, options, undefined);
    const shared = await Session.open(prepacks && frozen ? withPrepacked(model, frozen) : model, options);
    return new StepSessions<W>(model, options, shared);
  }

  /** Returns the session for a version's steps. */
  session(weights: W): Promise<Session> | Session {
    if (this.#shared !== undefined) return this.#shared;
    const opened =
      this.#ofVersions.get(weights) ?? Session.open(withPrepacked(this.#model, weights.feeds), this.#options);
    this.#ofVersions.set(weights, opened);
    return opened;
  }

  /** Closes the session of a version that is no longer used. */
  async forget(weights: W): Promise<void> {
    const opened = this.#ofVersions.get(weights);
    this.#ofVersions.delete(weights);
    const session = await opened?.catch(() => undefined);
    await session?.close();
  }

  async close(): Promise<void> {
    for (const weights of this.#ofVersions.keys()) await this.forget(weights);
    await this.#shared?.close();
  }
}
