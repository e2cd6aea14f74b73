/**
 * Carries out one step of a plan: it runs the model, stores the results, samples the next token of each row and ends replies. Invariant: a
 * sequence that is cancelled or released during the step keeps nothing of it.
 */
import type { Finish, Version } from "../domain/Episode.ts";
import { CachedModel } from "./CachedModel.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import type { History, Reply } from "./Reply.ts";
import type { Scheduler } from "./Scheduler.ts";
import type { Draw, HistoryOf, SequenceModel, Token } from "./SequenceModel.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";
import type { WeightSets } from "./WeightSets.ts";

/** A sequence that is open, with the reply of its open request. */
export interface OpenSequence {
  readonly sequence: Sequence;
  readonly history: History;
  reply: Reply | undefined;
}

export interface StepRunnerOptions {
  readonly slots: number;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
}

/** Replies and histories at the start of a step, because requests may be cancelled and sequences released during it. */
interface StepContext {
  /** Open replies of the step's rows; undefined for a row without one. */
  readonly replies: readonly (Reply | undefined)[];
  readonly historyOf: HistoryOf;
}

/** Returns the draw of a reply's next token. It takes the next number of the reply's stream. */
const drawOf = (reply: Reply): Draw => ({ sampling: reply.request.sampling, uniform: reply.uniform() });

export class StepRunner<W> {
  readonly #maxPositions: number;
  readonly #model: SequenceModel<W>;
  readonly #scheduler: Scheduler;
  readonly #openSequences: ReadonlyMap<number, OpenSequence>;
  readonly #stopIds: ReadonlySet<number>;
  #sampledTokens = 0;
  #prefilledTokens = 0;
  #decodeSteps = 0;
  #splitSteps = 0;
  #replies = 0;

  /** `openSequences` is the loop's table; it changes between steps and during one. */
  constructor(
    model: GeneratorModel<W>,
    scheduler: Scheduler,
    openSequences: ReadonlyMap<number, OpenSequence>,
    { slots, stopIds }: StepRunnerOptions,
  ) {
    this.#maxPositions = model.shape.maxPositions;
    this.#model = "sequences" in model ? model.sequences(slots) : new CachedModel(model, slots);
    this.#scheduler = scheduler;
    this.#openSequences = openSequences;
    this.#stopIds = new Set(stopIds);
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

  /** Decode steps that served one of several versions that waited for one. */
  get splitSteps(): number {
    return this.#splitSteps;
  }

  /** Number of ended replies. */
  get replies(): number {
    return this.#replies;
  }

  /** Moves rows as the plan says and runs its step. Rejects if the model does. */
  async run(plan: StepPlan, sets: WeightSets<W>): Promise<void> {
    const { step } = plan;
    if (step.kind === "none") return;
    const context = this.#contextOf(step);
    await this.#model.arrange(plan, this.#scheduler.occupied);
    const weights = sets.get(step.version);
    if (step.kind === "prefix") await this.#feedPrefixes(step, weights, context);
    else await this.#feed(step, weights, context);
  }

  #contextOf({ chunks }: DecodeStep | PrefillStep | PrefixStep): StepContext {
    const openSequences = new Map(chunks.map(({ sequence: { id } }) => [id, this.#openSequences.get(id)] as const));
    const historyOf: HistoryOf = ({ id }) => {
      const open = openSequences.get(id);
      if (open === undefined) throw new RangeError(`sequence ${id} is in a step and not open`);
      return open.history.ids;
    };
    return { replies: chunks.map(({ sequence }) => openSequences.get(sequence.id)?.reply), historyOf };
  }

  async #feed(step: DecodeStep | PrefillStep, weights: W, { historyOf, replies }: StepContext): Promise<void> {
    const { chunks, kind, version } = step;
    // A token is drawn only after the last token of a history, so tokens that are fed again take no number of the reply's stream.
    const draws = replies.map((reply, index) => (chunks[index]?.isLast === true ? reply && drawOf(reply) : undefined));
    const results =
      kind === "decode"
        ? await this.#model.decode(weights, step, historyOf, draws)
        : await this.#model.feed(weights, step, historyOf, draws);
    if (kind === "decode") {
      this.#decodeSteps++;
      if (step.isSplit) this.#splitSteps++;
    }
    for (const [index, chunk] of chunks.entries()) {
      if (kind === "prefill") this.#prefilledTokens += chunk.count;
      const open = this.#stillOpen(chunk.sequence, replies[index]);
      if (open === undefined) continue;
      results.keep(index);
      if (kind === "decode") this.#scheduler.recordDecoded(chunk, version);
      else this.#scheduler.recordFed(chunk, version);
      if (chunk.isLast) this.#sample(open, results.token(index), version);
    }
  }

  async #feedPrefixes(step: PrefixStep, weights: W, { historyOf }: StepContext): Promise<void> {
    await this.#model.feedPrefixes(weights, step, historyOf);
    for (const chunk of step.chunks) {
      this.#prefilledTokens += chunk.count;
      this.#scheduler.recordPrefixFed(chunk);
    }
  }

  /** Returns the sequence if the request that the step was run for is still open. */
  #stillOpen({ id }: Sequence, reply: Reply | undefined): OpenSequence | undefined {
    const open = this.#openSequences.get(id);
    return reply !== undefined && open?.reply === reply ? open : undefined;
  }

  #sample(open: OpenSequence, token: Token, version: Version): void {
    const { history, reply, sequence } = open;
    if (reply === undefined) return;
    reply.push(token, version);
    history.writeOne(token.id, sequence.length);
    this.#scheduler.recordSampled(sequence);
    this.#sampledTokens++;
    const finish = this.#finish(reply, sequence, token.id);
    if (finish === undefined) return;
    open.reply = undefined;
    this.#replies++;
    this.#scheduler.finish(sequence);
    reply.callbacks.done(reply.sampled(finish, this.#scheduler.takeFills(sequence)));
  }

  #finish(reply: Reply, sequence: Sequence, id: number): Finish | undefined {
    if (this.#stopIds.has(id)) return "stop";
    if (reply.completesStop(id)) return "stop";
    return reply.isFull || sequence.length >= this.#maxPositions ? "length" : undefined;
  }
}
