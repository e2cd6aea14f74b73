/**
 * The learner's side of a run on a NATS server with JetStream. Leases are a work queue, whose messages are delivered again after a lease
 * time of silence. Results are a queue that the learner empties; description and announcement are a stream of one message each. All lie on
 * the server's disk and survive its restart.
 */
import { type JetStreamManager, type JsMsg, jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { Effect, type Scope } from "effect";
import { BrokerError, type LearnerBroker } from "../Broker.ts";
import * as Messages from "../Messages.ts";
import { type ConnectOptions, connect, type LiveConnection } from "./connect.ts";
import { DISCOVERY_SUBJECT, type NatsNames, namesOf, senderOf } from "./names.ts";
import { requestOnce, requestUntilDone } from "./request.ts";

export interface NatsLearnerOptions extends Omit<ConnectOptions, "name" | "inbox"> {
  readonly run: string;
  readonly epoch: string;
  readonly leaseMs: number;
}

const nanos = (ms: number): number => ms * 1_000_000;
/** The server sends a result again that stays unacknowledged for so long. */
const RESULT_MS = 60_000;
/** A message that is sent twice within this time is stored once. */
const DUPLICATE_MS = 10 * 60_000;
/** Stored results that the learner has not received yet, bytes. */
const RESULT_BYTES = 2 ** 30;
const RESULTS_AHEAD = 64;
const MOST_UNACKNOWLEDGED = 65_536;

const streamsOf = ({ resultStream: results, stateStream: state, subjects, workStream: work }: NatsNames) => [
  { name: work, subjects: [subjects.work], retention: "workqueue" as const },
  {
    name: results,
    subjects: [subjects.result("*")],
    retention: "workqueue" as const,
    max_bytes: RESULT_BYTES,
    discard: "new" as const,
  },
  {
    name: state,
    subjects: [subjects.about, subjects.weights],
    retention: "limits" as const,
    max_msgs_per_subject: 1,
    allow_direct: true,
  },
];

const consumersOf = (
  { learnerConsumer: learner, resultStream: results, workStream: work, workersConsumer: workers }: NatsNames,
  leaseMs: number,
) => [
  { stream: work, durable_name: workers, ack_wait: nanos(leaseMs) },
  { stream: results, durable_name: learner, ack_wait: nanos(RESULT_MS) },
];

/** Creates missing streams and consumers, and updates those that differ. */
const prepare = async (manager: JetStreamManager, names: NatsNames, leaseMs: number): Promise<void> => {
  const existing = new Set<string>();
  for await (const name of manager.streams.names("millrace.>")) existing.add(name);
  for (const stream of streamsOf(names)) {
    const config = { ...stream, storage: "file" as const, duplicate_window: nanos(DUPLICATE_MS) };
    if (existing.has(stream.name)) await manager.streams.update(stream.name, config);
    else await manager.streams.add(config);
  }
  for (const { stream, ...consumer } of consumersOf(names, leaseMs)) {
    const config = { ...consumer, ack_policy: "explicit" as const, max_ack_pending: MOST_UNACKNOWLEDGED };
    // The consumer exists unless this is the run's first start.
    await manager.consumers
      .add(stream, config)
      .catch(() => manager.consumers.update(stream, consumer.durable_name, config));
  }
};

/** Fails if another process trains a run of this name on the server. */
const checkAlone = (
  connection: NatsConnection,
  { epoch, run, url }: NatsLearnerOptions,
): Effect.Effect<void, BrokerError> =>
  Effect.gen(function* () {
    const others = yield* Effect.promise(async () => {
      const present: Messages.RunPresence[] = [];
      try {
        const replies = await connection.requestMany(DISCOVERY_SUBJECT, "", { strategy: "timer", maxWait: 400 });
        for await (const reply of replies)
          if (reply.data.length > 0) present.push(Messages.runPresence.decode(reply.data));
      } catch {
        // No answer means that nobody trains here.
      }
      return present;
    });
    if (others.every((other) => other.run !== run || other.epoch === epoch)) return;
    return yield* new BrokerError({
      message: `${url}: another process trains ${JSON.stringify(run)} there; nearest: stop it, or name this run otherwise (run.name)`,
    });
  });

/** Answers workers that ask which run is trained here. */
const answerDiscovery = (connection: NatsConnection, { epoch, run }: NatsLearnerOptions): void => {
  const answer = Messages.runPresence.encode({ run, epoch });
  connection.subscribe(DISCOVERY_SUBJECT, {
    callback: (error, message) => {
      if (error === null) message.respond(answer);
    },
  });
};

const listenTo = (names: NatsNames, connected: LiveConnection): LearnerBroker["listen"] =>
  Effect.fnUntraced(function* (to) {
    const { connection } = connected;
    const gauges = connection.subscribe(names.subjects.gauges("*"), {
      callback: (error, message) => {
        if (error === null) to.gauges(senderOf(message.subject), message.data);
      },
    });
    yield* Effect.addFinalizer(() => Effect.sync(() => gauges.unsubscribe()));
    const take = (message: JsMsg): void =>
      to.result({
        worker: senderOf(message.subject),
        bytes: message.data,
        acknowledge: Effect.sync(() => message.ack()),
      });
    const consuming = requestUntilDone("results", connected, async () => {
      const consumer = await jetstream(connection).consumers.get(names.resultStream, names.learnerConsumer);
      return consumer.consume({ max_messages: RESULTS_AHEAD, callback: take });
    });
    yield* Effect.acquireRelease(consuming, (messages) => Effect.sync(() => messages.stop()));
  });

/** Connects, and prepares the run's streams without anything of an earlier start. */
export const open = Effect.fnUntraced(function* (
  options: NatsLearnerOptions,
): Effect.fn.Return<LearnerBroker, BrokerError, Scope.Scope> {
  const { leaseMs, run } = options;
  const names = namesOf(run);
  const connected = yield* connect({ ...options, name: `learner of ${run}` });
  // The server handles the messages of one connection in order, and stored leases would delay acknowledgements of results. Only the first
  // connection reports its state.
  const resultConnection = yield* connect({ ...options, name: `learner of ${run}, results`, tell: () => undefined });
  const { connection } = connected;
  yield* checkAlone(connection, options);
  const noJetStream = `${options.url}: JetStream is not there; start the server with it: nats-server -js -sd FOLDER`;
  const manager = yield* Effect.mapError(
    requestOnce("JetStream", () => jetstreamManager(connection)),
    ({ cause }) => new BrokerError({ message: noJetStream, cause }),
  );
  const clear = Effect.asVoid(
    requestOnce("clearing", async () => {
      await manager.streams.purge(names.workStream);
      await manager.streams.purge(names.resultStream);
    }),
  );
  yield* requestOnce("streams", () => prepare(manager, names, leaseMs));
  yield* clear;
  answerDiscovery(connection, options);
  const client = jetstream(connection);
  const publish = (what: string, subject: string, bytes: Uint8Array, msgID: string) =>
    requestUntilDone(what, connected, async () => (await client.publish(subject, bytes, { msgID })).seq);
  const replaceLatest = (what: string, subject: string) => (bytes: Uint8Array) =>
    Effect.asVoid(requestUntilDone(what, connected, () => client.publish(subject, bytes)));
  // A server that restarts with an empty disk has lost the streams.
  const prepareAgain = Effect.andThen(
    connected.reconnected,
    Effect.ignore(requestUntilDone("streams", connected, () => prepare(manager, names, leaseMs))),
  );
  yield* Effect.forkScoped(Effect.forever(prepareAgain));
  return {
    describe: replaceLatest("description", names.subjects.about),
    announce: replaceLatest("announcement", names.subjects.weights),
    offer: (work, id) => publish("lease", names.subjects.work, work, id),
    has: (messageNumber) =>
      Effect.map(
        requestUntilDone("lease", connected, () =>
          manager.streams.getMessage(names.workStream, { seq: messageNumber }),
        ),
        (message) => message !== null,
      ),
    withdraw: (messageNumber) =>
      Effect.asVoid(
        requestOnce("lease", () =>
          manager.streams.deleteMessage(names.workStream, messageNumber, false).catch(() => false),
        ),
      ),
    listen: listenTo(names, resultConnection),
    clear,
  };
});
