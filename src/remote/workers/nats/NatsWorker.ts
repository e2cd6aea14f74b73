/**
 * A worker's side of a run on a NATS server: it fetches leases from the shared queue, stores results under its own name, and follows the
 * learner's messages. It needs no permission that `permissions.ts` does not grant.
 */
import { type JsMsg, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { Effect, type Scope } from "effect";
import { BrokerError, type DeliveredLease, type WorkerBroker } from "../Broker.ts";
import * as Messages from "../Messages.ts";
import { type ConnectOptions, connect, type LiveConnection } from "./connect.ts";
import { DISCOVERY_SUBJECT, inboxPrefix, type NatsNames, namesOf } from "./names.ts";
import { requestOnce, requestUntilDone } from "./request.ts";

export interface NatsWorkerOptions extends Omit<ConnectOptions, "name" | "inbox"> {
  /** Null joins the only run that is trained there. */
  readonly run: string | null;
  readonly worker: string;
}

/** A request for a lease is repeated after so many milliseconds. */
const FETCH_MS = 30_000;
const ACK_MS = 5_000;

/** Names of the runs that are trained on the server. */
const runsOn = (connection: NatsConnection): Effect.Effect<readonly string[]> =>
  Effect.promise(async () => {
    const runs = new Set<string>();
    try {
      const replies = await connection.requestMany(DISCOVERY_SUBJECT, "", { strategy: "timer", maxWait: 1_000 });
      for await (const reply of replies)
        if (reply.data.length > 0) runs.add(Messages.runPresence.decode(reply.data).run);
    } catch {
      // No answer means that nobody trains here.
    }
    return [...runs].sort();
  });

/** Chooses the run to join. Fails if there is none, or several. */
const chooseRun = Effect.fnUntraced(function* (connection: NatsConnection, { run, url }: NatsWorkerOptions) {
  if (run !== null) return run;
  const runs = yield* runsOn(connection);
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return only;
  const what =
    only === undefined
      ? "no run is trained there; start one with pipeline.workers.url, or name the one to wait for"
      : `several runs are trained there: ${runs.join(", ")}; name one`;
  return yield* new BrokerError({ message: `${url}: ${what}: --run NAME` });
});

const deliveredLease = (message: JsMsg): DeliveredLease => ({
  bytes: message.data,
  delivery: message.info.deliveryCount,
  keepAlive: Effect.sync(() => message.working()),
  // The end is confirmed: if it were lost, another worker would play the group for nothing.
  end: Effect.ignore(requestOnce("lease", () => message.ackAck({ timeout: ACK_MS }))),
  giveBack: Effect.sync(() => message.nak()),
});

/** Requests one lease. Null if none came in time, or the connection was renewed meanwhile. */
const fetchLease = (names: NatsNames, { connection, reconnected }: LiveConnection) =>
  Effect.gen(function* () {
    const messages = yield* requestOnce("lease", async () => {
      const consumer = await jetstream(connection).consumers.get(names.workStream, names.workersConsumer);
      return consumer.fetch({ max_messages: 1, expires: FETCH_MS });
    });
    const first = requestOnce("lease", async () => {
      for await (const message of messages) return message;
      return null;
    });
    return yield* Effect.ensuring(
      Effect.raceFirst(first, Effect.as(reconnected, null)),
      Effect.sync(() => messages.stop()),
    );
  });

const followTopics = (names: NatsNames, connected: LiveConnection): WorkerBroker["follow"] =>
  Effect.fnUntraced(function* (on) {
    const { connection } = connected;
    const { about, weights } = names.subjects;
    const topics = [
      [about, on.about],
      [weights, on.weights],
    ] as const;
    for (const [subject, receive] of topics) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) receive(message.data);
        },
      });
      yield* Effect.addFinalizer(() => Effect.sync(() => subscription.unsubscribe()));
    }
    // Reads the messages that were sent before, or while the connection was away.
    const newest = Effect.forEach(topics, ([subject, receive]) =>
      Effect.map(
        requestOnce(subject, () =>
          connection.request(`$JS.API.DIRECT.GET.${names.stateStream}.${subject}`, "", { timeout: ACK_MS }),
        ),
        ({ data, headers }) => (headers?.code === 404 ? undefined : receive(data)),
      ).pipe(Effect.ignore),
    );
    yield* newest;
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(connected.reconnected, newest)));
  });

export interface NatsWorker extends WorkerBroker {
  readonly run: string;
}

export const open = Effect.fnUntraced(function* (
  options: NatsWorkerOptions,
): Effect.fn.Return<NatsWorker, BrokerError, Scope.Scope> {
  const { worker } = options;
  const connected = yield* connect({ ...options, name: `worker ${worker}`, inbox: inboxPrefix(worker) });
  const { connection } = connected;
  const run = yield* chooseRun(connection, options);
  const names = namesOf(run);
  const client = jetstream(connection);
  const next: WorkerBroker["nextLease"] = Effect.suspend(() =>
    Effect.flatMap(fetchLease(names, connected), (message) =>
      message === null ? next : Effect.succeed(deliveredLease(message)),
    ),
  );
  return {
    run,
    mostBytes: Math.min(connection.info?.max_payload ?? 2 ** 20, 2 ** 20) - 1_024,
    follow: followTopics(names, connected),
    nextLease: next,
    store: (bytes, msgID) =>
      Effect.asVoid(
        requestUntilDone("result", connected, () =>
          client.publish(names.subjects.result(worker), bytes, { msgID, timeout: ACK_MS }),
        ),
      ),
    sendGauges: (gauges) =>
      Effect.ignore(requestOnce("gauges", async () => connection.publish(names.subjects.gauges(worker), gauges))),
  };
});
