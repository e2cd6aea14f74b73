/**
 * Carries out one step of a plan: runs it on the model, keeps what it made, samples the next token of each row and ends replies.
 * Invariant: a sequence that was cancelled or released while the step ran keeps nothing of it.
 */
import type { Finish, Version } from "../domain/Episode.ts";
import type { StopMatcher } from "../model/tokenizer/StopMatcher.ts";
import { CachedModel } from "./CachedModel.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import type { DecodeStep, Plan, PrefillStep, PrefixStep, Sequence } from "./Plan.ts";
import type { History, Reply } from "./Reply.ts";
import type { Scheduler } from "./Scheduler.ts";
import type { Draw, HistoryOf, SequenceModel, Token } from "./SequenceModel.ts";
import type { WeightSets } from "./WeightSets.ts";

/** A sequence that was opened and not released; `reply` is its open request's. */
export interface Entry {
  readonly sequence: Sequence;
  readonly history: History;
  reply: Reply | undefined;
}

export interface StepRunnerOptions {
  readonly slots: number;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /** Finds stop sequences; null without any. */
  readonly stops: StopMatcher | null;
}

/** What a step was planned for, as it was then: requests may be cancelled and sequences released before the model has made it. */
interface Planned {
  /** Open replies of the step's rows; undefined where none is. */
  readonly replies: readonly (Reply | undefined)[];
  readonly historyOf: HistoryOf;
}

/** The draw of a reply's next token; it takes the next number of the reply's stream. */
const drawOf = (reply: Reply): Draw => ({ sampling: reply.request.sampling, uniform: reply.uniform() });

export class StepRunner<W> {
  readonly #maxPositions: number;
  readonly #model: SequenceModel<W>;
  readonly #scheduler: Scheduler;
  readonly #entries: ReadonlyMap<number, Entry>;
  readonly #stopIds: ReadonlySet<number>;
  readonly #stops: StopMatcher | null;
  #sampledTokens = 0;
  #prefilledTokens = 0;
  #decodeSteps = 0;
  #replies = 0;

  /** `entries` is the engine's table; it changes between steps and while one runs. */
  constructor(
    model: GeneratorModel<W>,
    scheduler: Scheduler,
    entries: ReadonlyMap<number, Entry>,
    { slots, stopIds, stops }: StepRunnerOptions,
  ) {
    this.#maxPositions = model.shape.maxPositions;
    this.#model = "sequences" in model ? model.sequences(slots) : new CachedModel(model, slots);
    this.#scheduler = scheduler;
    this.#entries = entries;
    this.#stopIds = new Set(stopIds);
    this.#stops = stops;
  }

  get sampledTokens(): number {
    return this.#sampledTokens;
  }

  get prefilledTokens(): number {
    return this.#prefilledTokens;
  }

  get decodeSteps(): number {
    return this.#decodeSteps;
  }

  /** Replies ended. */
  get replies(): number {
    return this.#replies;
  }

  /** Moves rows as the plan says and runs its step. Rejects where the model does. */
  async run(plan: Plan, sets: WeightSets<W>): Promise<void> {
    const { step } = plan;
    if (step.kind === "none") return;
    const planned = this.#planned(step);
    await this.#model.arrange(plan, this.#scheduler.occupied);
    const weights = sets.get(step.version);
    if (step.kind === "prefix") await this.#feedPrefixes(step, weights, planned);
    else await this.#feed(step, weights, planned);
  }

  #planned({ chunks }: DecodeStep | PrefillStep | PrefixStep): Planned {
    const entries = new Map(chunks.map(({ sequence: { id } }) => [id, this.#entries.get(id)] as const));
    const historyOf: HistoryOf = ({ id }) => {
      const entry = entries.get(id);
      if (entry === undefined) throw new RangeError(`sequence ${id} is in a step and not open`);
      return entry.history.ids;
    };
    return { replies: chunks.map(({ sequence }) => entries.get(sequence.id)?.reply), historyOf };
  }

  async #feed(step: DecodeStep | PrefillStep, weights: W, { historyOf, replies }: Planned): Promise<void> {
    const { chunks, kind, version } = step;
    // Only the last token of a history is drawn after: a token that is fed again takes no number of the reply's stream.
    const draws = replies.map((reply, index) => (chunks[index]?.last === true ? reply && drawOf(reply) : undefined));
    const stepped =
      kind === "decode"
        ? await this.#model.decode(weights, step, historyOf, draws)
        : await this.#model.feed(weights, step, historyOf, draws);
    if (kind === "decode") this.#decodeSteps++;
    for (const [index, chunk] of chunks.entries()) {
      if (kind === "prefill") this.#prefilledTokens += chunk.count;
      const entry = this.#stillOpen(chunk.sequence, replies[index]);
      if (entry === undefined) continue;
      stepped.keep(index);
      if (kind === "decode") this.#scheduler.decoded(chunk);
      else this.#scheduler.fed(chunk);
      if (chunk.last) this.#sample(entry, stepped.token(index), version);
    }
  }

  async #feedPrefixes(step: PrefixStep, weights: W, { historyOf }: Planned): Promise<void> {
    await this.#model.feedPrefixes(weights, step, historyOf);
    for (const chunk of step.chunks) {
      this.#prefilledTokens += chunk.count;
      this.#scheduler.prefixFed(chunk);
    }
  }

  /** The entry, if the request that a step was run for is still open. */
  #stillOpen({ id }: Sequence, reply: Reply | undefined): Entry | undefined {
    const entry = this.#entries.get(id);
    return reply !== undefined && entry?.reply === reply ? entry : undefined;
  }

  #sample(entry: Entry, token: Token, version: Version): void {
    const { history, reply, sequence } = entry;
    if (reply === undefined) return;
    reply.push(token, version);
    history.writeOne(token.id, sequence.length);
    this.#scheduler.grown(sequence);
    this.#sampledTokens++;
    const finish = this.#finish(reply, sequence, token.id);
    if (finish === undefined) return;
    entry.reply = undefined;
    this.#replies++;
    this.#scheduler.finish(sequence);
    reply.callbacks.done(reply.sampled(finish));
  }

  #finish(reply: Reply, sequence: Sequence, id: number): Finish | undefined {
    if (this.#stopIds.has(id)) return "stop";
    if (this.#stops !== null) {
      const { matched, state } = this.#stops.advance(reply.stop, id);
      reply.stop = state;
      if (matched) return "stop";
    }
    return reply.full || sequence.length >= this.#maxPositions ? "length" : undefined;
  }
}
