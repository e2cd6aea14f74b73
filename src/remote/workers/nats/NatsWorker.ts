/**
 * A worker's side of a run on a NATS server: it asks for leases of the shared queue, stores results under its own name, and follows what
 * the learner announces. It asks for nothing that its permissions (`permissions.ts`) do not grant.
 */
import { type JsMsg, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { Effect, type Scope } from "effect";
import { BrokerError, type GivenLease, type WorkerBroker } from "../Broker.ts";
import * as Messages from "../Messages.ts";
import { type Connected, type ConnectOptions, connect } from "./connect.ts";
import { DISCOVERY, inboxOf, type Names, namesOf } from "./names.ts";
import { once, persistently } from "./request.ts";

export interface WorkerOptions extends Omit<ConnectOptions, "name" | "inbox"> {
  /** Null takes the one run that is trained there. */
  readonly run: string | null;
  readonly worker: string;
}

/** How long a request for a lease stands before it is made anew. */
const ASKING_MS = 30_000;
const ACK_MS = 5_000;

/** The runs that are trained on the server. */
const runsOn = (connection: NatsConnection): Effect.Effect<readonly string[]> =>
  Effect.promise(async () => {
    const found = new Set<string>();
    try {
      const replies = await connection.requestMany(DISCOVERY, "", { strategy: "timer", maxWait: 1_000 });
      for await (const reply of replies) if (reply.data.length > 0) found.add(Messages.present.decode(reply.data).run);
    } catch {
      // Nobody answers: nobody trains here.
    }
    return [...found].sort();
  });

/** The run to join. Fails where it is not clear which. */
const chosen = Effect.fnUntraced(function* (connection: NatsConnection, { run, url }: WorkerOptions) {
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

const leaseOf = (message: JsMsg): GivenLease => ({
  bytes: message.data,
  delivery: message.info.deliveryCount,
  alive: Effect.sync(() => message.working()),
  // Told twice: an end that is lost would give the lease to another worker for nothing.
  end: Effect.ignore(once("lease", () => message.ackAck({ timeout: ACK_MS }))),
  giveBack: Effect.sync(() => message.nak()),
});

/** One request for a lease; null where none came in its time, or the connection was made anew meanwhile. */
const asked = (names: Names, { connection, reconnected }: Connected) =>
  Effect.gen(function* () {
    const messages = yield* once("lease", async () => {
      const consumer = await jetstream(connection).consumers.get(names.work, names.workers);
      return consumer.fetch({ max_messages: 1, expires: ASKING_MS });
    });
    const first = once("lease", async () => {
      for await (const message of messages) return message;
      return null;
    });
    return yield* Effect.ensuring(
      Effect.raceFirst(first, Effect.as(reconnected, null)),
      Effect.sync(() => messages.stop()),
    );
  });

const following = (names: Names, connected: Connected): WorkerBroker["follow"] =>
  Effect.fnUntraced(function* (on) {
    const { connection } = connected;
    const { about, weights } = names.subjects;
    const heard = [
      [about, on.about],
      [weights, on.weights],
    ] as const;
    for (const [subject, tell] of heard) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) tell(message.data);
        },
      });
      yield* Effect.addFinalizer(() => Effect.sync(() => subscription.unsubscribe()));
    }
    // What was said before, or while the connection was away.
    const newest = Effect.forEach(heard, ([subject, tell]) =>
      Effect.map(
        once(subject, () =>
          connection.request(`$JS.API.DIRECT.GET.${names.state}.${subject}`, "", { timeout: ACK_MS }),
        ),
        ({ data, headers }) => (headers?.code === 404 ? undefined : tell(data)),
      ).pipe(Effect.ignore),
    );
    yield* newest;
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(connected.reconnected, newest)));
  });

export interface OpenedWorker extends WorkerBroker {
  readonly run: string;
}

/** Connects as `worker`. */
export const open = Effect.fnUntraced(function* (
  options: WorkerOptions,
): Effect.fn.Return<OpenedWorker, BrokerError, Scope.Scope> {
  const { worker } = options;
  const connected = yield* connect({ ...options, name: `worker ${worker}`, inbox: inboxOf(worker) });
  const { connection } = connected;
  const run = yield* chosen(connection, options);
  const names = namesOf(run);
  const client = jetstream(connection);
  const next: WorkerBroker["next"] = Effect.suspend(() =>
    Effect.flatMap(asked(names, connected), (message) => (message === null ? next : Effect.succeed(leaseOf(message)))),
  );
  return {
    run,
    mostBytes: Math.min(connection.info?.max_payload ?? 2 ** 20, 2 ** 20) - 1_024,
    follow: following(names, connected),
    next,
    stored: (bytes, msgID) =>
      Effect.asVoid(
        persistently("result", connected, () =>
          client.publish(names.subjects.result(worker), bytes, { msgID, timeout: ACK_MS }),
        ),
      ),
    say: (gauges) =>
      Effect.ignore(once("gauges", async () => connection.publish(names.subjects.gauges(worker), gauges))),
  };
});
