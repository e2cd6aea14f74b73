/**
 * Measures the endpoint that agents call, over a policy that answers at once: what a call costs alone, beside 256 others and at 260 calls a second,
 * and what a prompt costs late in a conversation. The clients are a process of their own.
 */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Deferred, Effect, Fiber } from "effect";
import { agentModel } from "../src/agents/session/agentModelOf.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as Model from "../src/model/Model.ts";
import * as ConversationTemplate from "../src/model/tokenizer/conversation/ConversationTemplate.ts";
import * as Tokenizer from "../src/model/tokenizer/Tokenizer.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import { makeByteBudget } from "../src/support/http/ByteBudget.ts";
import type { Route } from "../src/support/http/Route.ts";
import { serve } from "../src/support/http/serve.ts";
import { earned, modeAt, openAgents } from "../test/agents/playedAgents.ts";
import { promptOf } from "../test/build/groups.ts";
import type { CallPlan, CallTimes } from "./agentCalls.ts";
import { type PromptCost, promptCost } from "./agentRendering.ts";
import type { Bench, Figure } from "./Bench.ts";
import { policy as nullPolicy, rollout } from "./nullModel.ts";
import { quantile } from "./samples.ts";

/** The amount that is measured; a test asks for the least. */
export interface Effort {
  /** Conversations of five calls, for each way of calling. */
  readonly conversations: number;
  /** Conversations at once where many call. */
  readonly lanes: number;
  /** Calls of the steady rate, as many on each lane, and how many of them begin in a second. */
  readonly steadyCalls: number;
  readonly perSecond: number;
  /** Milliseconds for which each prompt is made again and again. */
  readonly promptMs: number;
}

const usual: Effort = { conversations: 1_000, lanes: 256, steadyCalls: 5_120, perSecond: 260, promptMs: 400 };
const TURNS = 5;
/** Milliseconds of the monitor's timer; its delays include it. */
const RESOLUTION = 2;
const nano = join(packageRoot, "config/models/nano");
const smollm2 = join(packageRoot, "test/fixtures/chat-templates/smollm2");

const ask = (child: ChildProcess, plan: CallPlan): Promise<CallTimes> =>
  new Promise((resolve, reject) => {
    child.once("message", (message: CallTimes | { readonly error: string }) => {
      if ("error" in message) reject(new Error(message.error));
      else resolve(message);
    });
    child.send(plan);
  });

const client = Effect.acquireRelease(
  Effect.sync(() => fork(join(import.meta.dirname, "agentCalls.ts"), { execArgv: [] })),
  (child) => Effect.sync(() => child.kill("SIGKILL")),
);

/** A route that reads its body and answers a constant, as the endpoint would if it had nothing to do. */
const bare: Route = {
  method: "POST",
  path: "/bare",
  handle: ({ text }) =>
    Effect.map(text, () => ({
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ choices: [{ message: { content: "Go" } }] }),
    })),
};

const bareServer = serve({
  host: "127.0.0.1",
  port: 0,
  limits: {
    connections: 4_096,
    requestMs: 60_000,
    keepAliveMs: 60_000,
    body: { maxBytes: 2 ** 20, budget: makeByteBudget(2 ** 28) },
  },
  guard: { isPublic: false, hosts: [], origins: [], token: null },
  routes: [bare],
  renderError: ({ message, status }) => ({ status, body: message }),
});

/** One way of calling, as the clients and this thread saw it. */
interface Measurement {
  /** Milliseconds of a call, sorted. */
  readonly ms: readonly number[];
  readonly callsPerSecond: number;
  /** Milliseconds of this thread's time a call. */
  readonly cpu: number;
  /** Lag of this thread's loop, milliseconds. */
  readonly lag: (percentile: number) => number;
}

/** Runs a plan of the clients, and measures this thread meanwhile. */
const measured = async (child: ChildProcess, plan: CallPlan): Promise<Measurement> => {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION });
  monitor.enable();
  const before = process.threadCpuUsage();
  const { ms, seconds } = await ask(child, plan);
  const { system, user } = process.threadCpuUsage(before);
  monitor.disable();
  return {
    ms: ms.toSorted((a, b) => a - b),
    callsPerSecond: ms.length / seconds,
    cpu: (system + user) / 1_000 / ms.length,
    lag: (percentile) => Math.max(0, monitor.percentile(percentile) / 1e6 - RESOLUTION),
  };
};

/** Opens `count` episodes, gives their keys to `use`, and ends them behind it. */
const withEpisodes = <A>(count: number, use: (url: string, keys: readonly string[]) => Promise<A>) =>
  Effect.gen(function* () {
    const keys: string[] = [];
    const isOpen = yield* Deferred.make<void>();
    const released = Promise.withResolvers<void>();
    const model = yield* Model.load(nano);
    const agents = yield* openAgents(
      async ({ apiKey }) => {
        if (keys.push(apiKey) === count) Deferred.doneUnsafe(isOpen, Effect.void);
        await released.promise;
        return earned(0);
      },
      {
        model: yield* agentModel(model, ""),
        budget: { calls: 1_000, contextTokens: 1_024, replyTokens: 40 },
      },
    );
    const playing = yield* Effect.forkChild(agents.play(rollout(1), modeAt(1), promptOf(0, count)));
    yield* Deferred.await(isOpen);
    const result = yield* Effect.promise(() => use(agents.url, keys));
    released.resolve();
    const { episodes } = yield* Fiber.join(playing);
    const failed = episodes.find(({ outcome }) => outcome._tag === "Failed");
    if (failed !== undefined) return yield* Effect.die(new Error(JSON.stringify(failed.outcome)));
    return result;
  }).pipe(
    Effect.provideService(
      Policy,
      nullPolicy(() => Effect.void),
    ),
    Effect.scoped,
  );

const callFigures = (name: string, endpoint: Measurement, control: Measurement): readonly Figure[] => [
  { name: `${name}: a call, p50`, value: quantile(endpoint.ms, 0.5), unit: "ms" },
  { name: `${name}: a call, p99`, value: quantile(endpoint.ms, 0.99), unit: "ms" },
  { name: `${name}: a bare route, p50`, value: quantile(control.ms, 0.5), unit: "ms" },
  { name: `${name}: a bare route, p99`, value: quantile(control.ms, 0.99), unit: "ms" },
  { name: `${name}: calls a second`, value: endpoint.callsPerSecond, unit: "1/s" },
  { name: `${name}: the main thread's time a call`, value: endpoint.cpu, unit: "ms" },
  { name: `${name}: its time for a bare route`, value: control.cpu, unit: "ms" },
];

/** Calls of the endpoint and of a bare route, alone and many at once. */
export const measureCalls = (effort: Effort): Promise<readonly Figure[]> =>
  Effect.gen(function* () {
    const child = yield* client;
    const { url: bareUrl } = yield* bareServer;
    const figures: Figure[] = [];
    for (const lanes of [1, effort.lanes]) {
      const keys = Array.from({ length: effort.conversations }, () => "none");
      const plan = { path: bare.path, turns: TURNS, lanes, perSecond: null };
      const control = yield* Effect.promise(() => measured(child, { ...plan, url: bareUrl, keys }));
      const endpoint = yield* withEpisodes(effort.conversations, (url, keys) =>
        measured(child, { ...plan, url, keys, path: "/v1/chat/completions" }),
      );
      figures.push(...callFigures(lanes === 1 ? "alone" : `${lanes} at once`, endpoint, control));
    }
    return figures;
  }).pipe(Effect.scoped, Effect.runPromise);

/** The lag of the main loop while calls come at a steady rate. */
export const measureLag = ({ lanes, perSecond, steadyCalls }: Effort): Promise<readonly Figure[]> =>
  Effect.gen(function* () {
    const child = yield* client;
    const { url: bareUrl } = yield* bareServer;
    const conversations = Math.ceil(steadyCalls / TURNS);
    const plan = { path: bare.path, turns: TURNS, lanes, perSecond };
    const none = Array.from({ length: conversations }, () => "none");
    const control = yield* Effect.promise(() => measured(child, { ...plan, url: bareUrl, keys: none }));
    const endpoint = yield* withEpisodes(conversations, (url, keys) =>
      measured(child, { ...plan, url, keys, path: "/v1/chat/completions" }),
    );
    const name = `${perSecond} calls a second`;
    return [
      {
        name: `${name}: lag of the main loop, p99`,
        value: endpoint.lag(99),
        unit: "ms",
        target: { atMost: 20 },
        note: `${endpoint.ms.length} calls at ${endpoint.callsPerSecond.toFixed(0)} a second`,
      },
      { name: `${name}: lag beside a bare route, p99`, value: control.lag(99), unit: "ms" },
      { name: `${name}: lag, median`, value: endpoint.lag(50), unit: "ms" },
      { name: `${name}: a call, p99`, value: quantile(endpoint.ms, 0.99), unit: "ms" },
      { name: `${name}: share of a core`, value: (endpoint.cpu * endpoint.callsPerSecond) / 1_000, unit: "" },
    ] satisfies readonly Figure[];
  }).pipe(Effect.scoped, Effect.runPromise);

const promptFigures = (name: string, costs: readonly PromptCost[]): readonly Figure[] => {
  const [first, last] = [costs[0]!, costs.at(-1)!];
  return [
    ...costs.flatMap(({ reading, tokens, tree, turns, whole }) => [
      { name: `${name}, turn ${turns}: prompt by the tree`, value: tree, unit: "ms", note: `${tokens} ids in all` },
      { name: `${name}, turn ${turns}: the whole again`, value: whole, unit: "ms" },
      { name: `${name}, turn ${turns}: reading the body`, value: reading, unit: "ms" },
    ]),
    {
      name: `${name}: growth by the tree, turn ${first.turns} to ${last.turns}`,
      value: last.tree / first.tree,
      unit: "",
      target: { atMost: 2 },
    },
    { name: `${name}: growth of the whole`, value: last.whole / first.whole, unit: "" },
  ];
};

/** Prompts of early and late turns: the small model's until its context ends, ChatML and a folder's own template on and on. */
export const measurePrompts = ({ promptMs }: Effort): Promise<readonly Figure[]> =>
  Effect.gen(function* () {
    const small = yield* Tokenizer.load(nano);
    const large = yield* Tokenizer.load(smollm2);
    const cases = [
      { name: "nano's template", template: yield* ConversationTemplate.make(small), turns: [8, 24], words: 0 },
      { name: "ChatML", template: yield* ConversationTemplate.make(large, "chatml"), turns: [8, 128], words: 8 },
      { name: "SmolLM2's template", template: yield* ConversationTemplate.make(large), turns: [8, 128], words: 8 },
    ];
    const figures: Figure[] = [];
    for (const { name, template, turns, words } of cases) {
      const costs: PromptCost[] = [];
      for (const turn of turns) costs.push(yield* Effect.promise(() => promptCost(template, turn, words, promptMs)));
      figures.push(...promptFigures(name, costs));
    }
    return figures;
  }).pipe(Effect.scoped, Effect.runPromise);

const part = (measure: (effort: Effort) => Promise<readonly Figure[]>) => async () => {
  const figures = await measure(usual);
  return () => figures;
};

export const bench: Bench = {
  question: "what do calls of an agent cost the main thread?",
  parts: [part(measureCalls), part(measureLag), part(measurePrompts)],
};
