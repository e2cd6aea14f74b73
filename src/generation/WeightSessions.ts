/**
 * The sessions in which versions of the weights run a model. Weights that are inputs share one session, and so do frozen weights that are
 * prepacked. Whole weights that are prepacked have one session for each version, which its first run opens.
 */
import { type Feeds, Session, type SessionOptions } from "../model/runtime/Session.ts";
import { type OnnxModel, withConstants } from "../model/tensor/Onnx.ts";

/** Makes constants of inputs that `weights` has, in host memory; the runtime packs them for its products when it loads the model. */
const withPrepacked = (model: OnnxModel, weights: Feeds, isPrepacked: (name: string) => boolean): OnnxModel => {
  const inputs = model.inputs.filter(({ name }) => weights[name] !== undefined && isPrepacked(name));
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
  /** True for the weights that are prepacked; undefined if none is. */
  readonly isPrepacked: ((name: string) => boolean) | undefined;
  /** Frozen weights beside an adapter; undefined if whole versions are trained. */
  readonly frozen: Feeds | undefined;
}

/** Sessions over weights `W`, a version's inputs. */
export class WeightSessions<W extends { readonly feeds: Feeds }> {
  readonly #openVersion: (weights: W) => Promise<Session>;
  /** The session of all versions; undefined if each has its own. */
  readonly #shared: Session | undefined;
  readonly #ofVersions = new Map<W, Promise<Session>>();
  /** The sessions of versions that are open. */
  readonly #open = new Map<W, Session>();

  private constructor(shared: Session | undefined, openVersion: (weights: W) => Promise<Session>) {
    this.#shared = shared;
    this.#openVersion = openVersion;
  }

  /** Opens the session of all versions, unless each version has its own. Rejects if the runtime refuses the model. */
  static async open<W extends { readonly feeds: Feeds }>(
    model: OnnxModel,
    { frozen, isPrepacked }: Prepacking,
    options: SessionOptions,
  ): Promise<WeightSessions<W>> {
    const openWith = (weights: Feeds): Promise<Session> =>
      Session.open(isPrepacked === undefined ? model : withPrepacked(model, weights, isPrepacked), options);
    const isShared = isPrepacked === undefined || frozen !== undefined;
    const shared = isShared ? await openWith(frozen ?? {}) : undefined;
    return new WeightSessions<W>(shared, ({ feeds }) => openWith(feeds));
  }

  /** Returns the session that runs a version: a promise only while it opens. */
  session(weights: W): Session | Promise<Session> {
    return this.#shared ?? this.#open.get(weights) ?? this.#opening(weights);
  }

  async #opening(weights: W): Promise<Session> {
    const opened = this.#ofVersions.get(weights) ?? this.#openVersion(weights);
    this.#ofVersions.set(weights, opened);
    const session = await opened;
    // A version may be forgotten while its session opens.
    if (this.#ofVersions.get(weights) === opened) this.#open.set(weights, session);
    return session;
  }

  /** True if a session of this version's own is open: it holds the prepacked weights, and needs them no more. */
  holds(weights: W): boolean {
    return this.#open.has(weights);
  }

  /** Closes the session of a version that is no longer used. */
  async forget(weights: W): Promise<void> {
    const opened = this.#ofVersions.get(weights);
    this.#ofVersions.delete(weights);
    this.#open.delete(weights);
    const session = await opened?.catch(() => undefined);
    await session?.close();
  }

  async close(): Promise<void> {
    for (const weights of this.#ofVersions.keys()) await this.forget(weights);
    await this.#shared?.close();
  }
}
