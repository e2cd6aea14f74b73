/**
 * Entry of the learner's thread: holds the trainer and its mailboxes and answers calls one at a time in the order they came.
 * Invariant: generators are sent snapshots taken between commands, never weights in the middle of an update.
 */
import { Effect } from "effect";
import type { Version } from "../domain/Episode.ts";
import { CheckpointError } from "../policy/checkpoint/CheckpointError.ts";
import type { Checkpoint } from "../policy/checkpoint/HuggingFaceFolder.ts";
import type { Qwen2Config } from "../policy/model/Architecture.ts";
import { CallError, serve } from "../policy/runtime/serve.ts";
import { criticConfig } from "./Critic.ts";
import { restoreTrainer, saveTrainer } from "./checkpoint.ts";
import { Mailbox } from "./Mailbox.ts";
import type { LearnerProtocol, StartRequest } from "./protocol.ts";
import { type Restored, Trainer } from "./Trainer.ts";

interface Started {
  readonly trainer: Trainer;
  readonly request: StartRequest;
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

const restore = (folder: string, config: Qwen2Config, valued: Qwen2Config): Promise<Restored> =>
  Effect.runPromise(restoreTrainer(folder, config, valued)).catch((error) => {
    throw error instanceof CheckpointError ? new CallError("bad_checkpoint", error.message) : error;
  });

const refusal = (unfit: string): string =>
  `the weights are not saved, because ${unfit} are not finite under them; lower the learning rate`;

/** Refuses to write a number that is not finite. */
const save = (folder: string, model: Checkpoint, { actor, critic, reference, state }: Trainer): Promise<void> =>
  Effect.runPromise(saveTrainer(folder, model, state, actor, critic, reference)).catch((error) => {
    const refused = error instanceof CheckpointError && error.reason === "not_finite";
    throw refused ? new CallError("not_finite", error.message) : error;
  });

const start = async (request: StartRequest): Promise<Version> => {
  const { config, parameters } = request.checkpoint;
  const valued = criticConfig(config, request.options.critic);
  const restored = request.restore === null ? undefined : await restore(request.restore, config, valued);
  const trainer = await Trainer.open(config, parameters, request.options, restored);
  started = { trainer, request, mailboxes: request.ports.map((port) => new Mailbox(port)) };
  return trainer.state.version;
};

/** Runs a command and, where it made a new version, publishes it. */
const publishing = async <A>(command: (trainer: Trainer) => Promise<A>): Promise<A> => {
  const { trainer, mailboxes } = running();
  const before = trainer.state.version;
  const result = await command(trainer);
  const { version } = trainer.state;
  if (version !== before && mailboxes.length > 0) {
    const snapshot = { version, parameters: trainer.actor.parameters.flat.slice() };
    for (const mailbox of mailboxes) mailbox.publish(snapshot);
  }
  return result;
};

serve<LearnerProtocol>(
  {
    start: (request) => inOrder(() => start(request)),
    prepare: (batch) => inOrder(() => running().trainer.prepare(batch)),
    update: (batch) => inOrder(() => publishing((trainer) => trainer.update(batch))),
    clone: ({ batch, lr }) => inOrder(() => publishing((trainer) => trainer.clone(batch, lr))),
    cloningLoss: (batch) => inOrder(() => running().trainer.cloningLoss(batch)),
    lanes: (count) =>
      inOrder(async () => {
        running().trainer.useLanes(count);
        return null;
      }),
    save: (folder) =>
      inOrder(async () => {
        const { trainer, request } = running();
        const unfit = await trainer.unfit();
        if (unfit !== null) throw new CallError("not_finite", refusal(unfit));
        await save(folder, request.checkpoint, trainer);
        return null;
      }),
    version: () => inOrder(async () => running().trainer.state.version),
  },
  async () => {
    // A start that is under way opens threads and sessions still: what it opens is closed.
    if (started === undefined) await last.catch(() => undefined);
    for (const mailbox of started?.mailboxes ?? []) mailbox.close();
    await started?.trainer[Symbol.asyncDispose]();
  },
);
