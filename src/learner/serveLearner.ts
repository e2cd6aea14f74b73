/**
 * The inside of a learner's thread, wherever its networks compute: answers calls one at a time in the order they came; a scoring goes on between
 * them, pass by pass.
 * Invariant: a version is published between commands, never weights in the middle of an update.
 */
import type { Version } from "../domain/Episode.ts";
import { CallError, type Handlers, type Served, serve } from "../model/runtime/serve.ts";
import { Cloning } from "./Cloning.ts";
import type { LearnerProtocol } from "./protocol.ts";
import { crossScores } from "./Scoring.ts";
import type { Trainer } from "./Trainer.ts";

/** A learner that has started. */
export interface Opened {
  readonly trainer: Trainer;
  /** Sends the version that the trainer has come to. */
  readonly publish: () => void;
  /** Writes a checkpoint into an existing folder. */
  readonly save: (folder: string) => Promise<void>;
  /** Lets go of all of it, the trainer too. */
  readonly close: () => Promise<void>;
}

const refusal = (output: string): string =>
  `the weights are not saved, because ${output} are not finite under them; lower the learning rate`;

class LearnerCalls<Start, Event> {
  readonly #open: (request: Start) => Promise<Opened>;
  #opened: Opened | undefined;
  #cloning: Cloning | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Commands of updates so far: what gives way to them looks here. */
  #demands = 0;
  #closing = false;
  /** The scoring under way, or the last one. */
  #scoring: Promise<unknown> = Promise.resolve();

  constructor(open: (request: Start) => Promise<Opened>) {
    this.#open = open;
  }

  get #running(): Opened {
    if (this.#opened === undefined) throw new CallError("not_started", "the learner was not started");
    return this.#opened;
  }

  readonly #inOrder = <A>(work: () => Promise<A>): Promise<A> => {
    const mine = this.#last.then(work, work);
    this.#last = mine;
    return mine;
  };

  #ofUpdate<A>(work: (trainer: Trainer) => Promise<A>): Promise<A> {
    this.#demands++;
    return this.#inOrder(() => work(this.#running.trainer));
  }

  /** Runs a command and, where it made a new version, publishes it. */
  #publishing<A>(command: (trainer: Trainer) => Promise<A>): Promise<A> {
    return this.#ofUpdate(async (trainer) => {
      const before = trainer.state.version;
      const result = await command(trainer);
      if (trainer.state.version !== before) this.#running.publish();
      return result;
    });
  }

  #cloningOf(trainer: Trainer): Cloning {
    this.#cloning ??= new Cloning(trainer);
    return this.#cloning;
  }

  async #start(request: Start): Promise<Version> {
    this.#opened = await this.#open(request);
    return this.#opened.trainer.state.version;
  }

  async #save(folder: string): Promise<null> {
    const { save, trainer } = this.#running;
    const output = await trainer.nonFiniteOutput();
    if (output !== null) throw new CallError("not_finite", refusal(output));
    await save(folder);
    return null;
  }

  readonly #score: Handlers<LearnerProtocol>["score"] = (request, { onCancel }) => {
    const { trainer } = this.#running;
    let cancelled = false;
    onCancel(() => {
      cancelled = true;
    });
    const scores = crossScores(request, {
      inTurn: this.#inOrder,
      demands: () => this.#demands,
      unwanted: () => cancelled || this.#closing,
      version: () => trainer.state.version,
      behind: (prompt, continuations, temperature) =>
        trainer.networks.continuationLogProbs(prompt, continuations, temperature),
    });
    this.#scoring = scores;
    return scores;
  };

  get handlers(): Handlers<LearnerProtocol<Start, Event>> {
    return {
      start: (request) => this.#inOrder(() => this.#start(request)),
      update: (window) => this.#publishing((trainer) => trainer.train(window)),
      analyse: (tokens) => this.#ofUpdate((trainer) => trainer.analyse(tokens)),
      clone: ({ batch, lr }) => this.#publishing((trainer) => this.#cloningOf(trainer).step(batch, lr)),
      cloningLoss: (batch) => this.#ofUpdate((trainer) => this.#cloningOf(trainer).loss(batch)),
      score: this.#score,
      lanes: (count) =>
        this.#inOrder(async () => {
          this.#running.trainer.networks.lanes.use(count);
          return null;
        }),
      save: (folder) => this.#inOrder(() => this.#save(folder)),
      version: () => this.#inOrder(async () => this.#running.trainer.state.version),
    };
  }

  async close(): Promise<void> {
    // A start that is under way opens threads and sessions still: what it opens is closed.
    if (this.#opened === undefined) await this.#last.catch(() => undefined);
    this.#closing = true;
    await this.#scoring.catch(() => undefined);
    await this.#opened?.close();
  }
}

/** Serves this thread's owner; `open` makes the learner that `start` asks for. */
export const serveLearner = <Start, Event = never>(
  open: (request: Start) => Promise<Opened>,
): Served<LearnerProtocol<Start, Event>> => {
  const calls = new LearnerCalls<Start, Event>(open);
  return serve<LearnerProtocol<Start, Event>>(calls.handlers, () => calls.close());
};
