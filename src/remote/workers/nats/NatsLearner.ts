/**
 * The learner's side of a run on a NATS server with JetStream: leases are a work queue whose messages are given again when their holder is silent
 * for a lease, results a queue that the learner empties, the newest description and announcement a stream of one message each. All are
 * on disk there: a restart of the server loses none.
 */
import { type JetStreamManager, type JsMsg, jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { Effect, type Scope } from "effect";
import { BrokerError, type LearnerBroker } from "../Broker.ts";
import * as Messages from "../Messages.ts";
import { type Connected, type ConnectOptions, connect } from "./connect.ts";
import { DISCOVERY, type Names, namesOf, senderOf } from "./names.ts";
import { once, persistently } from "./request.ts";

export interface LearnerOptions extends Omit<ConnectOptions, "name" | "inbox"> {
  readonly run: string;
  readonly epoch: string;
  readonly leaseMs: number;
}

const nanos = (ms: number): number => ms * 1_000_000;
/** A result that the learner has taken in and not acknowledged for so long is sent to it again. */
const RESULT_MS = 60_000;
/** The same message sent twice within this time is stored once. */
const DUPLICATE_MS = 10 * 60_000;
/** Of results that the learner has not taken in yet. */
const RESULT_BYTES = 2 ** 30;
const AHEAD = 64;
const MOST_OUT = 65_536;

const streamsOf = ({ results, state, subjects, work }: Names) => [
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

const consumersOf = ({ learner, results, work, workers }: Names, leaseMs: number) => [
  { stream: work, durable_name: workers, ack_wait: nanos(leaseMs) },
  { stream: results, durable_name: learner, ack_wait: nanos(RESULT_MS) },
];

/** Makes what is missing, and sets what differs. */
const prepare = async (manager: JetStreamManager, names: Names, leaseMs: number): Promise<void> => {
  const known = new Set<string>();
  for await (const name of manager.streams.names("millrace.>")) known.add(name);
  for (const stream of streamsOf(names)) {
    const config = { ...stream, storage: "file" as const, duplicate_window: nanos(DUPLICATE_MS) };
    if (known.has(stream.name)) await manager.streams.update(stream.name, config);
    else await manager.streams.add(config);
  }
  for (const { stream, ...consumer } of consumersOf(names, leaseMs)) {
    const config = { ...consumer, ack_policy: "explicit" as const, max_ack_pending: MOST_OUT };
    // It exists already where this is not the run's first start.
    await manager.consumers
      .add(stream, config)
      .catch(() => manager.consumers.update(stream, consumer.durable_name, config));
  }
};

/** Fails where another process trains a run of this name on the server. */
const checkAlone = (
  connection: NatsConnection,
  { epoch, run, url }: LearnerOptions,
): Effect.Effect<void, BrokerError> =>
  Effect.gen(function* () {
    const others = yield* Effect.promise(async () => {
      const found: Messages.Present[] = [];
      try {
        const replies = await connection.requestMany(DISCOVERY, "", { strategy: "timer", maxWait: 400 });
        for await (const reply of replies) if (reply.data.length > 0) found.push(Messages.present.decode(reply.data));
      } catch {
        // Nobody answers: nobody trains here.
      }
      return found;
    });
    if (others.every((other) => other.run !== run || other.epoch === epoch)) return;
    return yield* new BrokerError({
      message: `${url}: another process trains ${JSON.stringify(run)} there; nearest: stop it, or name this run otherwise (run.name)`,
    });
  });

/** Tells whoever asks which run is trained here. */
const answerDiscovery = (connection: NatsConnection, { epoch, run }: LearnerOptions): void => {
  const answer = Messages.present.encode({ run, epoch });
  connection.subscribe(DISCOVERY, {
    callback: (error, message) => {
      if (error === null) message.respond(answer);
    },
  });
};

const listening = (names: Names, connected: Connected): LearnerBroker["listen"] =>
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
    const consuming = persistently("results", connected, async () => {
      const consumer = await jetstream(connection).consumers.get(names.results, names.learner);
      return consumer.consume({ max_messages: AHEAD, callback: take });
    });
    yield* Effect.acquireRelease(consuming, (messages) => Effect.sync(() => messages.stop()));
  });

/** Connects, and makes ready what the run needs there: nothing of an earlier start of the run is left. */
export const open = Effect.fnUntraced(function* (
  options: LearnerOptions,
): Effect.fn.Return<LearnerBroker, BrokerError, Scope.Scope> {
  const { leaseMs, run } = options;
  const names = namesOf(run);
  const connected = yield* connect({ ...options, name: `learner of ${run}` });
  // The server takes what comes over one connection one by one: leases that it stores would hold up what is said of results. It is told of once.
  const taking = yield* connect({ ...options, name: `learner of ${run}, results`, tell: () => undefined });
  const { connection } = connected;
  yield* checkAlone(connection, options);
  const started = `${options.url}: JetStream is not there; start the server with it: nats-server -js -sd FOLDER`;
  const manager = yield* Effect.mapError(
    once("JetStream", () => jetstreamManager(connection)),
    ({ cause }) => new BrokerError({ message: started, cause }),
  );
  const clear = Effect.asVoid(
    once("clearing", async () => {
      await manager.streams.purge(names.work);
      await manager.streams.purge(names.results);
    }),
  );
  yield* once("streams", () => prepare(manager, names, leaseMs));
  yield* clear;
  answerDiscovery(connection, options);
  const client = jetstream(connection);
  const publish = (what: string, subject: string, bytes: Uint8Array, msgID: string) =>
    persistently(what, connected, async () => (await client.publish(subject, bytes, { msgID })).seq);
  const latest = (what: string, subject: string) => (bytes: Uint8Array) =>
    Effect.asVoid(persistently(what, connected, () => client.publish(subject, bytes)));
  // A restart with an empty disk leaves nothing of the streams.
  const again = Effect.andThen(
    connected.reconnected,
    Effect.ignore(persistently("streams", connected, () => prepare(manager, names, leaseMs))),
  );
  yield* Effect.forkScoped(Effect.forever(again));
  return {
    describe: latest("description", names.subjects.about),
    announce: latest("announcement", names.subjects.weights),
    offer: (work, id) => publish("lease", names.subjects.work, work, id),
    has: (sequence) =>
      Effect.map(
        persistently("lease", connected, () => manager.streams.getMessage(names.work, { seq: sequence })),
        (message) => message !== null,
      ),
    withdraw: (sequence) =>
      Effect.asVoid(once("lease", () => manager.streams.deleteMessage(names.work, sequence, false).catch(() => false))),
    listen: listening(names, taking),
    clear,
  };
});
