/**
 * Measures how many rollout workers one learner's process carries: null workers in a process of their own over a real
 * nats-server, with as many groups in flight as 100 000 episodes are. The figures are the rate beside what the workers
 * could play, what a group costs in messages and bytes, and the lag of the main loop. From the cost of a group it then
 * simulates more workers than the machine has, in virtual time.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Group, Prompt } from "../src/domain/Group.ts";
import { toRecord } from "../src/domain/metrics/Metrics.ts";
import { Environments } from "../src/env/contract/Environments.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as GroupCodec from "../src/remote/workers/GroupCodec.ts";
import { LeaseTable } from "../src/remote/workers/LeaseTable.ts";
import { open } from "../src/remote/workers/nats/NatsLearner.ts";
import * as RemoteGroups from "../src/remote/workers/RemoteGroups.ts";
import { checkResult } from "../src/remote/workers/reading/checkResult.ts";
import * as Reader from "../src/remote/workers/reading/ResultReader.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import { freePortAbove } from "../src/support/http/freePort.ts";
import { Heap } from "../src/tools/simulation/Heap.ts";
import { promptOf } from "../test/build/groups.ts";
import type { Bench, Figure } from "./Bench.ts";
import * as NullModel from "./nullModel.ts";
import { configFor } from "./nullRun.ts";

const SIZE = 16;
const TURNS = 5;
const EPISODES = 100_000;
const MOST_WORKERS = 64;
/** Groups that each worker holds: all workers together have the episodes. */
const GROUPS = Math.ceil(EPISODES / SIZE / MOST_WORKERS);
const PLAY_MS = 10_000;
const LEASE_MS = 10_000;
const WARM_MS = 18_000;
const MEASURED_MS = 12_000;
const EPOCH = "bench";
const RUN = "bench";
const RESOLUTION = 2;

/** All of one seed: every worker answers with the same group. */
const promptFor = (group: number): Prompt => promptOf(group, SIZE, { tag: "Null", seed: 0 });

const noWait = () => Effect.void;
const services = <A, E>(effect: Effect.Effect<A, E, Policy | Environments>): Effect.Effect<A, E> =>
  effect.pipe(
    Effect.provideService(Policy, NullModel.policy(noWait)),
    Effect.provideService(Environments, NullModel.environments(noWait)),
  );

const config = (): RunConfig => {
  const run = configFor({
    mode: "async",
    order: "completion",
    maxStaleness: 1,
    groups: 1,
    groupSize: SIZE,
    turns: TURNS,
    windows: 1,
    slots: 16,
    step: () => 0,
    update: 0,
  });
  const rollout = { ...run.rollout, ...NullModel.rollout(TURNS).limits };
  const workers = { ...run.pipeline.workers, url: "nats://bench", lease_ms: LEASE_MS, local: false };
  return { ...run, rollout, pipeline: { ...run.pipeline, workers } };
};

/** The group that every worker answers with: of a member's five turns, without a model. */
const nullGroup: Effect.Effect<Group> = services(
  Effect.orDie(GroupProgram.play(NullModel.rollout(TURNS), NullModel.mode, promptFor(0))),
);

interface Load {
  readonly workers: number;
  /** Groups a second, and of what the workers could play. */
  readonly rate: number;
  readonly share: number;
  readonly lag: number;
  /** Share of time that the main loop works, or waits for a core while it has work. */
  readonly busy: number;
  /** Milliseconds of a core that a group costs the main thread. */
  readonly cpu: number;
  readonly bytes: number;
}

const startWorkers = (url: string, count: number, file: string): ChildProcess =>
  spawn(
    process.execPath,
    [join(import.meta.dirname, "nullWorkers.ts"), url, RUN, `${count}`, `${GROUPS}`, `${PLAY_MS}`, EPOCH, file],
    { stdio: ["ignore", "inherit", "inherit"] },
  );

const ended = (child: ChildProcess): Promise<void> => new Promise((resolve) => child.once("close", () => resolve()));

/** One number of workers, from their start to their end. */
const measure = Effect.fnUntraced(function* (url: string, workers: number, file: string) {
  const broker = yield* open({
    url,
    run: RUN,
    epoch: EPOCH,
    leaseMs: LEASE_MS,
    credentials: {},
    tls: { ca: "", cert: "", key: "" },
    tell: () => undefined,
  });
  const reader = yield* Reader.make({ limits: config().rollout, vocabulary: 1_000 });
  let tickets = 0;
  const groups = yield* RemoteGroups.make({
    config: config(),
    epoch: EPOCH,
    broker,
    readResult: reader.read,
    newestVersion: () => 0,
    drawTicket: () => `${workers}-${tickets++}`,
    tell: () => undefined,
    announceShutOut: () => Effect.void,
  });
  let next = 0;
  let done = 0;
  const rollout = NullModel.rollout(TURNS);
  const player = Effect.forever(
    Effect.gen(function* () {
      const group = yield* services(Effect.orDie(groups.play(rollout, NullModel.mode, promptFor(next++))));
      yield* groups.confirmFinished(group);
      done++;
    }),
  );
  for (let i = 0; i < GROUPS * MOST_WORKERS + MOST_WORKERS; i++) yield* Effect.forkScoped(player);
  const child = startWorkers(url, workers, file);
  yield* Effect.addFinalizer(() =>
    Effect.promise(() => {
      child.kill("SIGKILL");
      return ended(child);
    }),
  );
  yield* Effect.sleep(WARM_MS);
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
  const bytesOf = () => toRecord(groups.metrics())["workers/result_bytes"] ?? 0;
  const [from, begun, before, used] = [done, performance.now(), bytesOf(), performance.eventLoopUtilization()];
  const computed = process.threadCpuUsage();
  monitor.enable();
  yield* Effect.sleep(MEASURED_MS);
  monitor.disable();
  const rate = (1_000 * (done - from)) / (performance.now() - begun);
  const { system, user } = process.threadCpuUsage(computed);
  const load: Load = {
    workers,
    rate,
    share: rate / ((1_000 * workers * GROUPS) / PLAY_MS),
    lag: Math.max(0, monitor.percentile(99) / 1e6 - RESOLUTION),
    busy: performance.eventLoopUtilization(used).utilization,
    cpu: (system + user) / 1_000 / Math.max(1, done - from),
    bytes: (bytesOf() - before) / Math.max(1, done - from),
  };
  return load;
}, Effect.scoped);

/** Messages that the server has taken in and given out so far. */
const messagesOf = async (port: number): Promise<number> => {
  const answer: unknown = await (await fetch(`http://127.0.0.1:${port}/varz`)).json();
  const count = (name: string): number =>
    typeof answer === "object" && answer !== null && name in answer ? Number(Reflect.get(answer, name)) : Number.NaN;
  return count("in_msgs") + count("out_msgs");
};

const measured = async (): Promise<readonly (Load & { readonly messages: number })[]> => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-workers-"));
  const port = (await freePortAbove("127.0.0.1", 24_000)) ?? 24_000;
  const monitor = (await freePortAbove("127.0.0.1", port + 1)) ?? port + 1;
  const words = ["-js", "-sd", folder, "-a", "127.0.0.1", "-p", `${port}`, "-m", `${monitor}`];
  const server = spawn("nats-server", words, { stdio: "ignore" });
  try {
    const file = join(folder, "group");
    writeFileSync(file, await Effect.runPromise(Effect.flatMap(nullGroup, GroupCodec.encode)));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const loads: (Load & { readonly messages: number })[] = [];
    for (const workers of [1, 8, MOST_WORKERS]) {
      const before = await messagesOf(monitor);
      const begun = performance.now();
      const load = await Effect.runPromise(measure(`nats://127.0.0.1:${port}`, workers, file));
      const seconds = (performance.now() - begun) / 1_000;
      const perSecond = ((await messagesOf(monitor)) - before) / seconds;
      loads.push({ ...load, messages: perSecond / (load.rate * (1 - PLAY_MS / 2_000 / seconds)) });
    }
    return loads;
  } finally {
    server.kill("SIGKILL");
    await ended(server);
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * Groups a second in virtual time, of what the workers could play: the lease book gives groups to workers that are `latency` away, and the learner
 * takes `cost` for each, one after the other.
 */
export const simulated = (workers: number, latency: number, cost: number): number => {
  const book = new LeaseTable("now", Number.MAX_SAFE_INTEGER);
  const ends = new Heap<{
    readonly at: number;
    readonly worker: number;
    readonly group: number;
    readonly ticket: string;
  }>((a, b) => a.at - b.at || a.group - b.group);
  const room = new Array<number>(workers).fill(GROUPS + 1);
  let [next, tickets, free, done] = [0, 0, 0, 0];
  const span = 10 * PLAY_MS;
  const give = (now: number, worker: number): void => {
    book.admit(promptFor(next++));
    const placement = book.offer(`t${tickets++}`, now);
    if (placement === undefined) throw new Error("nothing waits");
    const { group, ticket } = placement.offer;
    const play = PLAY_MS * (0.5 + ((group * 7919) % 1_000) / 1_000);
    // The worker plays no episode of its spare group before another group has ended.
    const wait = (PLAY_MS * 1) / GROUPS;
    ends.push({ at: now + latency + wait + play + latency, worker, group, ticket });
  };
  for (const [worker, groups] of room.entries()) for (let i = 0; i < groups; i++) give(0, worker);
  for (let end = ends.pop(); end !== undefined && end.at < span; end = ends.pop()) {
    const { at, group, ticket, worker } = end;
    const lease = { epoch: "now", group, ticket, delivery: 1 };
    if (book.check(lease)._tag !== "Accepted") throw new Error(`group ${group} is not accepted`);
    book.accept(lease, `${worker}`);
    free = Math.max(free, at) + cost;
    book.close(group);
    done++;
    give(free, worker);
  }
  return done / ((span / PLAY_MS) * workers * GROUPS);
};

const figuresOf = (loads: Awaited<ReturnType<typeof measured>>): readonly Figure[] => {
  const real = loads.flatMap(({ busy, bytes, cpu, lag, messages, rate, share, workers }): readonly Figure[] => [
    {
      name: `${workers} workers: groups a second`,
      value: rate,
      unit: "groups/s",
      note: `${GROUPS} groups of ${SIZE} each`,
    },
    { name: `${workers} workers: of what they could play`, value: share, unit: "", target: { atLeast: 0.9 } },
    { name: `${workers} workers: lag of the main loop, p99`, value: lag, unit: "ms", target: { atMost: 20 } },
    { name: `${workers} workers: share of time the main loop works`, value: busy, unit: "" },
    { name: `${workers} workers: time of a core that a group costs the main thread`, value: cpu, unit: "ms" },
    { name: `${workers} workers: messages in and out of the server, a group`, value: messages, unit: "messages" },
    { name: `${workers} workers: bytes of a result`, value: bytes, unit: "bytes" },
  ]);
  const last = loads.at(-1);
  // Milliseconds of the main loop that a group costs.
  const cost = last === undefined ? 0 : (1_000 * last.busy) / last.rate;
  const virtual = [1, 16, 64, 128, 256].map(
    (workers): Figure => ({
      name: `virtual time, ${workers} workers 20 ms away: of what they could play`,
      value: simulated(workers, 20, cost),
      unit: "",
    }),
  );
  return [...real, { name: "main loop's time of a group", value: cost, unit: "ms" }, ...virtual];
};

/** A reply as a model of billions of parameters writes it. */
const LONG = 200;
const long = ({ prompt, episodes }: Group): Group => ({
  prompt,
  episodes: episodes.map((episode) => ({
    ...episode,
    sequences: episode.sequences.map(({ turns }) => ({
      turns: turns.map((turn, at) => ({
        ...turn,
        reply: "four of them ".repeat(LONG / 3),
        prompt: Int32Array.from({ length: 60 }, (_, i) => (i * 31 + at) % 1_000),
        sampled: {
          ids: Int32Array.from({ length: LONG }, (_, i) => (i * 7_919 + at) % 1_000),
          mu: Float32Array.from({ length: LONG }, (_, i) => -Math.log(2 + i + at)),
          entropies: Float32Array.from({ length: LONG }, (_, i) => Math.sin(i) ** 2),
          versions: new Int32Array(LONG),
          finish: "stop" as const,
        },
      })),
    })),
  })),
});

/** Milliseconds of a core for each call. */
const costOf = (work: () => unknown, calls = 200): number => {
  for (let i = 0; i < calls; i++) work();
  const before = process.threadCpuUsage();
  for (let i = 0; i < calls; i++) work();
  const { system, user } = process.threadCpuUsage(before);
  return (system + user) / 1_000 / calls;
};

/** Measures what reading a result costs its thread, and what remains for the main thread. */
const reading = async (): Promise<readonly Figure[]> => {
  const group = await Effect.runPromise(nullGroup);
  const limits = { ...config().rollout, response_length: LONG, max_model_len: 10_000 };
  const rules = { limits, vocabulary: 1_000 };
  const figures: Figure[] = [];
  for (const [name, sampleGroup] of [
    ["short", group],
    [`${LONG} tokens a reply`, long(group)],
  ] as const) {
    const bytes = await Effect.runPromise(GroupCodec.encode(sampleGroup));
    const result = { bytes, prompt: sampleGroup.prompt, newestVersion: 0 };
    const answer = checkResult(result, rules);
    if (answer._tag !== "Passed") throw new Error("the group is refused");
    const apart = costOf(() => checkResult(result, rules));
    const here = costOf(() => Reader.readingFrom(answer, sampleGroup.prompt));
    figures.push(
      { name: `reading a group, ${name}: its thread`, value: apart, unit: "ms of a core" },
      { name: `reading a group, ${name}: the main thread`, value: here, unit: "ms of a core" },
    );
  }
  return figures;
};

export const bench: Bench = {
  question: "how many rollout workers does one learner's process carry, and what does a group cost?",
  parts: [
    async () => {
      const figures = await reading();
      return () => figures;
    },
    async () => {
      if (spawnSync("nats-server", ["--version"]).status !== 0) return () => [];
      const loads = await measured();
      return () => figuresOf(loads);
    },
  ],
};
