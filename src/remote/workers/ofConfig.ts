/**
 * Who plays a run's groups, as its run file has it: this process alone, or workers too. Invariant: without an address of a broker nothing is
 * started and no broker's client is loaded.
 */
import { randomBytes } from "node:crypto";
import process from "node:process";
import type { MessagePort } from "node:worker_threads";
import { Context, Effect, Schema, type Scope } from "effect";
import { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { BadInput, type PolicyError } from "../../domain/Errors.ts";
import type { TellServer } from "../../domain/Server.ts";
import { Servers } from "../../flow/Servers.ts";
import type { Model } from "../../model/Model.ts";
import { Groups } from "../../rollout/Groups.ts";
import { version as program } from "../../support/files/packageRoot.ts";
import type { BrokerError, LearnerBroker } from "./Broker.ts";
import * as FilesOfRun from "./FilesOfRun.ts";
import * as Messages from "./Messages.ts";
import * as RemoteGroups from "./RemoteGroups.ts";
import * as Reader from "./reading/Reader.ts";

export interface Players {
  /** With `Groups`, where they are not played by this process alone. */
  readonly context: Context.Context<never>;
  /** For the learner: who takes its weights beside the generators of this process. */
  readonly ports: readonly MessagePort[];
  readonly died: Effect.Effect<never, PolicyError>;
}

const alone: Players = { context: Context.empty(), ports: [], died: Effect.never };

const badUrl = ({ message }: BrokerError): BadInput => new BadInput({ message: `pipeline.workers.url: ${message}` });

/** Announces each version that is on disk, the newest first. */
const announcing = (broker: LearnerBroker, { publisher }: FilesOfRun.FilesOfRun, epoch: string) =>
  Effect.gen(function* () {
    let told: Version = -1;
    for (;;) {
      const { version } = yield* publisher.newer(told);
      yield* broker.announce(Messages.announced.encode({ epoch, version }));
      told = version;
    }
  });

const variable = (name: string): string | undefined => process.env[name] || undefined;

/** Opens the run's broker. Fails with BadInput where there is none, or it refuses. */
const brokerOf = Effect.fnUntraced(function* (
  { pipeline: { workers }, run }: RunConfig,
  epoch: string,
  tell: TellServer,
) {
  const { open } = yield* Effect.promise(() => import("./nats/NatsLearner.ts"));
  const { lease_ms: leaseMs, password_env, tls, token_env, url, user_env } = workers;
  const credentials = {
    user: variable(user_env),
    password: variable(password_env),
    token: variable(token_env),
  };
  return yield* Effect.mapError(open({ url, run: run.name, epoch, leaseMs, credentials, tls, tell }), badUrl);
});

/** The players of a run that goes on from `model` at `version`. */
export const players = Effect.fnUntraced(function* (
  config: RunConfig,
  model: Model,
  version: Version,
): Effect.fn.Return<Players, BadInput | PolicyError, Scope.Scope> {
  const { workers } = config.pipeline;
  if (workers.url === "") return alone;
  const { tell } = yield* Servers;
  const epoch = randomBytes(8).toString("hex");
  const broker = yield* brokerOf(config, epoch, tell);
  const files = yield* FilesOfRun.serve(config, model, version, epoch);
  const reader = yield* Reader.make({ limits: config.rollout, vocabulary: model.checkpoint.config.vocabSize });
  const about = (ended: boolean, shutOut: readonly string[] = []): Uint8Array =>
    Messages.about.encode({
      protocol: Messages.PROTOCOL,
      program,
      run: config.run.name,
      epoch,
      ended,
      config: Schema.encodeSync(RunConfig)(config, { disableChecks: true }),
      files: files.url,
      kind: model.checkpoint.adapter === undefined ? "full" : "adapter",
      leaseMs: workers.lease_ms,
      shutOut,
    });
  const groups = yield* RemoteGroups.make({
    config,
    epoch,
    broker,
    read: reader.read,
    newest: () => files.publisher.current().version,
    ticket: () => randomBytes(12).toString("hex"),
    tell,
    shutOut: (names) => Effect.ignore(broker.describe(about(false, names))),
  }).pipe(Effect.mapError(badUrl));
  yield* Effect.mapError(broker.announce(Messages.announced.encode({ epoch, version })), badUrl);
  yield* Effect.mapError(broker.describe(about(false)), badUrl);
  yield* Effect.addFinalizer(() =>
    Effect.ignore(Effect.timeout(Effect.andThen(broker.describe(about(true)), broker.clear), "2 seconds")),
  );
  yield* Effect.forkScoped(Effect.ignore(announcing(broker, files, epoch)));
  return {
    context: Context.make(Groups, groups),
    ports: [files.publisher.port],
    died: Effect.raceAllFirst([groups.died, files.died, reader.died]),
  };
});
