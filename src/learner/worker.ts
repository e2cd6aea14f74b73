/**
 * Entry of the learner's thread: holds the trainer and its mailboxes and answers calls one at a time in the order they came; a scoring goes on
 * between them, pass by pass.
 * Invariant: generators are sent snapshots taken between commands, never weights in the middle of an update.
 */
import { Effect } from "effect";
import type { Version } from "../domain/Episode.ts";
import { CheckpointError } from "../policy/checkpoint/CheckpointError.ts";
import type { DecoderConfig } from "../policy/model/Architecture.ts";
import { baseOf, readable } from "../policy/runtime/baseFeeds.ts";
import { useRuntime } from "../policy/runtime/Session.ts";
import { CallError, serve } from "../policy/runtime/serve.ts";
import { criticConfig } from "./Critic.ts";
import { type ModelFiles, restoreTrainer, saveTrainer } from "./checkpoint.ts";
import { Mailbox, Snapshot } from "./Mailbox.ts";
import type { LearnerProtocol, StartRequest } from "./protocol.ts";
import { crossScores } from "./Scoring.ts";
import { type Restored, Trainer } from "./Trainer.ts";

interface Started {
  readonly trainer: Trainer;
  /** What a checkpoint's folder holds beside the weights. */
  readonly files: ModelFiles;
  readonly mailboxes: readonly Mailbox[];
}

let started: Started | undefined;
const running = (): Started => {
  if (started === undefined) throw new CallError("not_started", "the learner was not started");
  return started;
};

let last: Promise<unknown> = Promise.resolve();
const inOrder = <A>(work: () => Promise<A>): Promise<A> => {
  const mine = last.then(work, work);
  last = mine;
  return mine;
};

/** Commands of updates so far: what gives way to them looks here. */
let demands = 0;
const ofUpdate = <A>(work: () => Promise<A>): Promise<A> => {
  demands++;
  return inOrder(work);
};

let closing = false;
/** The scoring under way, or the last one. */
let scoring: Promise<unknown> = Promise.resolve();

const restore = (folder: string, config: DecoderConfig, valued: DecoderConfig): Promise<Restored> =>
  Effect.runPromise(restoreTrainer(folder, config, valued)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });

const refusal = (unfit: string): string =>
  `the weights are not saved, because ${unfit} are not finite under them; lower the learning rate`;

/** Refuses to write a number that is not finite. */
const save = (folder: string, model: ModelFiles, { actor, critic, reference, state }: Trainer): Promise<void> =>
  Effect.runPromise(saveTrainer(folder, model, state, actor, critic, reference)).catch((error) => {
    const refused = error instanceof CheckpointError && error.reason === "not_finite";
    throw refused ? new CallError("not_finite", error.message) : error;
  });

const start = async (request: StartRequest): Promise<Version> => {
  const { parameters, ...files } = request.checkpoint;
  const { adapter, config } = files;
  useRuntime(request.options.runtime ?? "onnx");
  const given = baseOf(config, parameters);
  const base = given && (await readable(given));
  const valued = criticConfig(config, request.options.critic);
  const restored = request.restore === null ? undefined : await restore(request.restore, config, valued);
  const trainer = await Trainer.open(config, adapter?.parameters ?? parameters, request.options, restored, base);
  started = { trainer, files, mailboxes: request.ports.map((port) => new Mailbox(port)) };
  return trainer.state.version;
};

/** Runs a command and, where it made a new version, publishes it. */
const publishing = async <A>(command: (trainer: Trainer) => Promise<A>): Promise<A> => {
  const { files, mailboxes, trainer } = running();
  const before = trainer.state.version;
  const result = await command(trainer);
  const { version } = trainer.state;
  if (version !== before && mailboxes.length > 0) {
    const kind = files.adapter === undefined ? "full" : "adapter";
    const snapshot = new Snapshot({ version, kind }, trainer.actor.parameters.flat.slice(), mailboxes.length);
    for (const mailbox of mailboxes) mailbox.publish(snapshot);
  }
  return result;
};

serve<LearnerProtocol>(
  {
    start: (request) => inOrder(() => start(request)),
    prepare: (batch) => ofUpdate(() => running().trainer.prepare(batch)),
    update: ({ batch, unfiltered }) => ofUpdate(() => publishing((trainer) => trainer.update(batch, unfiltered))),
    analyse: (batches) => ofUpdate(() => running().trainer.analyse(batches)),
    clone: ({ batch, lr }) => ofUpdate(() => publishing((trainer) => trainer.clone(batch, lr))),
    cloningLoss: (batch) => ofUpdate(() => running().trainer.cloningLoss(batch)),
    score: (request, { onCancel }) => {
      const { trainer } = running();
      let cancelled = false;
      onCancel(() => {
        cancelled = true;
      });
      const scores = crossScores(request, {
        inTurn: inOrder,
        demands: () => demands,
        unwanted: () => cancelled || closing,
        version: () => trainer.state.version,
        behind: (prompt, continuations, temperature) => trainer.behind(prompt, continuations, temperature),
      });
      scoring = scores;
      return scores;
    },
    lanes: (count) =>
      inOrder(async () => {
        running().trainer.useLanes(count);
        return null;
      }),
    save: (folder) =>
      inOrder(async () => {
        const { files, trainer } = running();
        const unfit = await trainer.unfit();
        if (unfit !== null) throw new CallError("not_finite", refusal(unfit));
        await trainer.synchronise();
        await save(folder, files, trainer);
        return null;
      }),
    version: () => inOrder(async () => running().trainer.state.version),
  },
  async () => {
    // A start that is under way opens threads and sessions still: what it opens is closed.
    if (started === undefined) await last.catch(() => undefined);
    closing = true;
    await scoring.catch(() => undefined);
    for (const mailbox of started?.mailboxes ?? []) mailbox.close();
    await started?.trainer[Symbol.asyncDispose]();
  },
);
