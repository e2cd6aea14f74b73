/** A policy loss alone in a session, run on sequences of targets. */
import { allSequences, boundsOf, type TokenBatch } from "../../../src/domain/Batch.ts";
import { lossModel } from "../../../src/learner/losses/lossModel.ts";
import type { PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";
import { float32, int64, Session } from "../../../src/model/runtime/Session.ts";
import type { Sequence } from "./direct.ts";

export interface Answer {
  readonly loss: number;
  /** Gradients of every target, sequence after sequence. */
  readonly dlogp: readonly number[];
  readonly dentropy: readonly number[];
}

const perTarget = ["logp", "entropy", "old", "advantages", "weights", "importance", "reference", "places"] as const;

type Columns = { readonly [Name in keyof Sequence]: ArrayLike<number> };

/** The sequences of a batch, from columns over all its positions. */
export const sequencesOf = ({ offsets }: Pick<TokenBatch, "offsets">, columns: Columns): readonly Sequence[] =>
  allSequences({ offsets }).map((sequence): Sequence => {
    const [from, to] = boundsOf({ offsets }, sequence);
    const slice = (column: ArrayLike<number>): readonly number[] => Array.from(column).slice(from, to);
    const { advantages, entropy, importance, logp, old, places, reference, weights } = columns;
    return {
      logp: slice(logp),
      entropy: slice(entropy),
      old: slice(old),
      advantages: slice(advantages),
      weights: slice(weights),
      importance: slice(importance),
      reference: slice(reference),
      ...(places === undefined ? {} : { places: slice(places) }),
    };
  });

export class Alone implements AsyncDisposable {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  static async open(options: PolicyLossOptions): Promise<Alone> {
    return new Alone(await Session.open(lossModel(options)));
  }

  /** `padding`: targets of weight 0 behind the others, with numbers that would be seen. */
  async run(sequences: readonly Sequence[], padding = 0): Promise<Answer> {
    const count = sequences.reduce((sum, { logp }) => sum + logp.length, 0);
    const dims = [count + padding];
    const feeds = perTarget.map((name) => {
      const filler = name === "weights" || name === "importance" || name === "advantages" ? 0 : -1.5;
      const values = [
        ...sequences.flatMap((sequence) => sequence[name] ?? sequence.logp.map(() => 0)),
        ...new Array<number>(padding).fill(filler),
      ];
      return [name, float32(Float32Array.from(values), dims)] as const;
    });
    const owners = [
      ...sequences.flatMap(({ logp }, i) => logp.map(() => BigInt(i))),
      ...new Array<bigint>(padding).fill(0n),
    ];
    const given = [...feeds, ["sequences", int64(BigInt64Array.from(owners), dims)] as const];
    const { inputs } = this.#session;
    using outputs = await this.#session.run(Object.fromEntries(given.filter(([name]) => inputs.includes(name))));
    const listed = (name: string): readonly number[] => [...outputs.float32(name)];
    return { loss: listed("loss")[0]!, dlogp: listed("dlogp"), dentropy: listed("dentropy") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
