/** Opens what plays a run's groups beside its process: workers that join by a broker. A run without the address of one does not load this. */
import { randomBytes } from "node:crypto";
import process from "node:process";
import type { MessagePort } from "node:worker_threads";
import { Context, Effect, Schema, type Scope } from "effect";
import { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { BadInput, type PolicyError } from "../../domain/Errors.ts";
import { isRestarting } from "../../domain/RunOutcome.ts";
import type { ReportServer } from "../../domain/Server.ts";
import { Servers } from "../../flow/Servers.ts";
import type { Model } from "../../model/Model.ts";
import { CurrentGroupPlayer } from "../../rollout/GroupPlayer.ts";
import { version as program } from "../../support/files/packageRoot.ts";
import type { BrokerError, LearnerBroker } from "./Broker.ts";
import * as LearnerFiles from "./LearnerFiles.ts";
import * as Messages from "./Messages.ts";
import * as RemoteGroups from "./RemoteGroups.ts";
import * as ResultReader from "./reading/ResultReader.ts";

export interface GroupPlayers {
  /** Holds `CurrentGroupPlayer` if workers play too; else empty. */
  readonly context: Context.Context<never>;
  /** Ports that receive the learner's weights beside this process's generators. */
  readonly ports: readonly MessagePort[];
  readonly died: Effect.Effect<never, PolicyError>;
}

const badUrl = ({ message }: BrokerError): BadInput => new BadInput({ message: `pipeline.workers.url: ${message}` });

/** Announces each version once it is on disk. */
const announceVersions = (broker: LearnerBroker, { publisher }: LearnerFiles.LearnerFiles, epoch: string) =>
  Effect.gen(function* () {
    let announced: Version = -1;
    for (;;) {
      const { version } = yield* publisher.awaitNewer(announced);
      yield* broker.announce(Messages.weightsAnnouncement.encode({ epoch, version }));
      announced = version;
    }
  });

const variable = (name: string): string | undefined => process.env[name] || undefined;

/** Opens the run's broker. Fails with BadInput if none answers, or it refuses. */
const openBroker = Effect.fnUntraced(function* (
  { pipeline: { workers }, run }: RunConfig,
  epoch: string,
  tell: ReportServer,
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

/** Opens the players of a run that continues from `model` at `version`. */
export const openGroupPlayers = Effect.fnUntraced(function* (
  config: RunConfig,
  model: Model,
  version: Version,
): Effect.fn.Return<GroupPlayers, BadInput | PolicyError, Scope.Scope> {
  const { workers } = config.pipeline;
  const { report: tell } = yield* Servers;
  const epoch = randomBytes(8).toString("hex");
  const broker = yield* openBroker(config, epoch, tell);
  const files = yield* LearnerFiles.serve(config, model, version, epoch);
  const reader = yield* ResultReader.make({ limits: config.rollout, vocabulary: model.checkpoint.config.vocabSize });
  const describe = (ended: boolean, shutOut: readonly string[] = []): Uint8Array =>
    Messages.runDescription.encode({
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
    readResult: reader.read,
    newestVersion: () => files.publisher.current().version,
    drawTicket: () => randomBytes(12).toString("hex"),
    tell,
    announceShutOut: (names) => Effect.ignore(broker.describe(describe(false, names))),
  }).pipe(Effect.mapError(badUrl));
  yield* Effect.mapError(broker.announce(Messages.weightsAnnouncement.encode({ epoch, version })), badUrl);
  yield* Effect.mapError(broker.describe(describe(false)), badUrl);
  yield* Effect.addFinalizer((exit) => {
    // A run that is opened again describes itself anew, and its workers wait for that.
    const tellEnd = isRestarting(exit) ? Effect.void : broker.describe(describe(true));
    return Effect.ignore(Effect.timeout(Effect.andThen(tellEnd, broker.clear), "2 seconds"));
  });
  yield* Effect.forkScoped(Effect.ignore(announceVersions(broker, files, epoch)));
  return {
    context: Context.make(CurrentGroupPlayer, groups),
    ports: [files.publisher.port],
    died: Effect.raceAllFirst([groups.died, files.died, reader.died]),
  };
});
