/**
 * The inside of a learner's thread, wherever its networks compute. It answers calls one at a time in the order received; a scoring runs
 * between them, pass by pass. Invariant: a version is published between commands, never in the middle of an update.
 */
import type { Version } from "../domain/Episode.ts";
import { CallError, type EventPort, type Handlers, serve } from "../model/runtime/serve.ts";
import { Cloner } from "./Cloner.ts";
import { crossScores } from "./ContinuationScorer.ts";
import type { LearnerProtocol } from "./LearnerProtocol.ts";
import type { Trainer } from "./Trainer.ts";

/** A started learner with what depends on where it computes. */
export interface StartedLearner {
  readonly trainer: Trainer;
  /** Sends the trainer's current version to the generators. */
  readonly publish: () => void;
  /** Writes a checkpoint into an existing folder. */
  readonly save: (folder: string) => Promise<void>;
  /** Closes everything, the trainer included. */
  readonly close: () => Promise<void>;
}

const refusal = (output: string): string =>
  `the weights are not saved, because ${output} are not finite under them; lower the learning rate`;

class LearnerCalls<Start, Event> {
  readonly #open: (request: Start) => Promise<StartedLearner>;
  #started: StartedLearner | undefined;
  #cloner: Cloner | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Update commands received so far; a scoring that gives way compares this number. */
  #updateCommands = 0;
  #closing = false;
  /** The current scoring, or the last one. */
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

  /** Runs a command and publishes the version if it made one. */
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
    // A start in progress still opens threads and sessions, so wait for it and close them.
    if (this.#started === undefined) await this.#last.catch(() => undefined);
    this.#closing = true;
    await this.#scoring.catch(() => undefined);
    await this.#started?.close();
  }
}

/** Serves this thread's owner; `open` makes the learner that `start` requests. */
export const serveLearner = <Start, Event = never>(
  open: (request: Start) => Promise<StartedLearner>,
): EventPort<LearnerProtocol<Start, Event>> => {
  const calls = new LearnerCalls<Start, Event>(open);
  return serve<LearnerProtocol<Start, Event>>(calls.handlers, () => calls.close());
};
