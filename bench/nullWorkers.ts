/**
 * Workers that compute nothing, many in one process, for the bench of workers: each takes leases up to its number, holds each for a while, and
 * answers with the same group every time. Started by bench/workers.ts, which is told the messages and bytes of their connections at the end.
 */
import { readFileSync } from "node:fs";
import { Effect, FiberSet, Schedule } from "effect";
import type { DeliveredLease } from "../src/remote/workers/Broker.ts";
import { EpisodeBudget } from "../src/remote/workers/EpisodeBudget.ts";
import * as Messages from "../src/remote/workers/Messages.ts";
import { open } from "../src/remote/workers/nats/NatsWorker.ts";
import * as Parts from "../src/remote/workers/ResultParts.ts";

const [url = "", run = "", count = "1", groups = "1", playMs = "1000", epoch = "", file = ""] = process.argv.slice(2);
const result = readFileSync(file);
const BEAT_MS = 1_000;
const LEASE_MS = 10_000;

const worker = Effect.fnUntraced(function* (name: string) {
  const tls = { ca: "", cert: "", key: "" };
  const broker = yield* open({ url, run, worker: name, credentials: {}, tls, tell: () => undefined });
  const room = new EpisodeBudget(Number(groups));
  const heldLeases = new Map<number, Messages.WorkerGauges["leases"][number]>();
  let reportedLeases = new Set<Messages.WorkerGauges["leases"][number]>();
  let beats = 0;
  // As a worker does: what is new, and everything once in the time of a lease.
  const say = Effect.suspend(() => {
    if (beats++ % (LEASE_MS / BEAT_MS) === 0) reportedLeases = new Set();
    const leases = [...heldLeases.values()].filter((lease) => !reportedLeases.has(lease));
    reportedLeases = new Set(heldLeases.values());
    const gauges = { epoch, slots: 16 * Number(groups), groups: Number(groups), version: 0, tokensPerSecond: 0 };
    return broker.sendGauges(
      Messages.workerGauges.encode({ ...gauges, playing: heldLeases.size, leases, leaves: false }),
    );
  });
  const playing = yield* FiberSet.make();
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(say, Effect.sleep(BEAT_MS))));
  const play = Effect.fnUntraced(function* (given: DeliveredLease) {
    const { prompt, ticket } = Messages.leaseMessage.decode(given.bytes);
    const lease = { epoch, group: prompt.group, ticket, delivery: given.delivery };
    heldLeases.set(prompt.group, lease);
    // From half to one and a half times the time, by the group: not all at once.
    yield* Effect.raceFirst(
      Effect.sleep(Number(playMs) * (0.5 + ((prompt.group * 7919) % 1_000) / 1_000)),
      Effect.andThen(Effect.repeat(given.keepAlive, Schedule.spaced(LEASE_MS / 3)), Effect.never),
    );
    for (const [i, part] of Parts.split(lease, result, broker.mostBytes).entries()) {
      yield* broker.store(part, `${epoch}.${ticket}.${i}`);
    }
    yield* given.end;
    heldLeases.delete(prompt.group);
    room.release(1);
  });
  for (;;) {
    yield* room.awaitRoom;
    const given = yield* broker.nextLease;
    room.acquire(1);
    yield* FiberSet.run(playing, play(given));
  }
}, Effect.scoped);

const names = Array.from({ length: Number(count) }, (_, i) => `null${i}`);
await Effect.runPromise(Effect.all(names.map(worker), { concurrency: "unbounded", discard: true }));
