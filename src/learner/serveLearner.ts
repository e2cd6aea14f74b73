/**
 * The inside of a learner's thread, wherever its networks compute: answers calls one at a time in the order they came; a scoring goes on between
 * them, pass by pass.
 * Invariant: a version is published between commands, never weights in the middle of an update.
 */
import type { Version } from "../domain/Episode.ts";
import { CallError, type Handlers, type Served, serve } from "../model/runtime/serve.ts";
import { Cloner } from "./Cloner.ts";
import { crossScores } from "./ContinuationScorer.ts";
import type { LearnerProtocol } from "./LearnerProtocol.ts";
import type { Trainer } from "./Trainer.ts";

/** A learner that has started. */
export interface StartedLearner {
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
  readonly #open: (request: Start) => Promise<StartedLearner>;
  #started: StartedLearner | undefined;
  #cloner: Cloner | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Commands of updates so far: what gives way to them looks here. */
  #updateCommands = 0;
  #closing = false;
  /** The scoring under way, or the last one. */
  #scoring: Promise<unknown> = Promise.resolve();

  constructor(open: (request: Start) => Promise<StartedLearner>) {
    this.#open = open;
  }

  get #running(): StartedLearner {
    if (this.#started === undefined) throw new CallError("not_started", "the learner was not started");
    return this.#started;
  }

  readonly #runInOrder = <A>(work: () => Promise<A>): Promise<A> => {
    const command = this.#last.then(work, work);
    this.#last = command;
    return command;
  };

  #runUpdateCommand<A>(work: (trainer: Trainer) => Promise<A>): Promise<A> {
    this.#updateCommands++;
    return this.#runInOrder(() => work(this.#running.trainer));
  }

  /** Runs a command and, where it made a new version, publishes it. */
  #runAndPublish<A>(command: (trainer: Trainer) => Promise<A>): Promise<A> {
    return this.#runUpdateCommand(async (trainer) => {
      const before = trainer.state.version;
      const result = await command(trainer);
      if (trainer.state.version !== before) this.#running.publish();
      return result;
    });
  }

  #clonerOf(trainer: Trainer): Cloner {
    this.#cloner ??= new Cloner(trainer);
    return this.#cloner;
  }

  async #start(request: Start): Promise<Version> {
    this.#started = await this.#open(request);
    return this.#started.trainer.state.version;
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
      runInOrder: this.#runInOrder,
      updateCommands: () => this.#updateCommands,
      isCancelled: () => cancelled || this.#closing,
      version: () => trainer.state.version,
      score: (prompt, continuations, temperature) =>
        trainer.networks.continuationLogProbs(prompt, continuations, temperature),
    });
    this.#scoring = scores;
    return scores;
  };

  get handlers(): Handlers<LearnerProtocol<Start, Event>> {
    return {
      start: (request) => this.#runInOrder(() => this.#start(request)),
      update: (window) => this.#runAndPublish((trainer) => trainer.train(window)),
      analyse: (tokens) => this.#runUpdateCommand((trainer) => trainer.analyse(tokens)),
      clone: ({ batch, lr }) => this.#runAndPublish((trainer) => this.#clonerOf(trainer).step(batch, lr)),
      cloningLoss: (batch) => this.#runUpdateCommand((trainer) => this.#clonerOf(trainer).loss(batch)),
      score: this.#score,
      lanes: (count) =>
        this.#runInOrder(async () => {
          this.#running.trainer.networks.lanes.setUsed(count);
          return null;
        }),
      save: (folder) => this.#runInOrder(() => this.#save(folder)),
      version: () => this.#runInOrder(async () => this.#running.trainer.state.version),
    };
  }

  async close(): Promise<void> {
    // A start that is under way opens threads and sessions still: what it opens is closed.
    if (this.#started === undefined) await this.#last.catch(() => undefined);
    this.#closing = true;
    await this.#scoring.catch(() => undefined);
    await this.#started?.close();
  }
}

/** Serves this thread's owner; `open` makes the learner that `start` asks for. */
export const serveLearner = <Start, Event = never>(
  open: (request: Start) => Promise<StartedLearner>,
): Served<LearnerProtocol<Start, Event>> => {
  const calls = new LearnerCalls<Start, Event>(open);
  return serve<LearnerProtocol<Start, Event>>(calls.handlers, () => calls.close());
};
