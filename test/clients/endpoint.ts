/**
 * The endpoint with sessions whose policy answers from a script: real dialects, a real tokenizer and chat template, and no model. Each episode
 * has a script of its own.
 */

import { join } from "node:path";
import { Effect, Exit, Result, Scope } from "effect";
import type { Dialect, ModelCall } from "../../src/agents/dialects/Dialect.ts";
import { dialects } from "../../src/agents/dialects/main.ts";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import { serveEndpoint } from "../../src/agents/session/endpoint.ts";
import { episodeOf } from "../../src/agents/session/record.ts";
import type { Session } from "../../src/agents/session/Session.ts";
import { Sessions } from "../../src/agents/session/Sessions.ts";
import type { Episode, Sampled } from "../../src/domain/Episode.ts";
import { PolicyError } from "../../src/domain/Errors.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";
import * as Model from "../../src/model/Model.ts";
import * as ChatTemplate from "../../src/model/tokenizer/ChatTemplate.ts";
import * as Tokenizer from "../../src/model/tokenizer/Tokenizer.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { testSession } from "../agents/session/testSession.ts";
import { fakePolicy } from "../rollout/fakes.ts";

/** Stands in a script for a reply that never comes. */
export const never = Symbol("never");
/** Stands in a script for a failure of the generator. */
export const lost = Symbol("lost");

type ScriptedReply = string | typeof never | typeof lost;

/** A reply of a stream that comes once the stream has had a sign of life. */
export interface LateReply {
  readonly late: ScriptedReply;
}

export const late = (reply: ScriptedReply): LateReply => ({ late: reply });

export interface PlayedEpisode {
  readonly apiKey: string;
  readonly session: Session;
  /** Ids that the policy was shown before each reply, those of its sequence before left out. */
  readonly prompts: readonly Int32Array[];
  /** Replies as they were sampled. */
  readonly replies: readonly Sampled[];
  /** Resolves once a reply that never comes is waited for. */
  readonly waited: Promise<void>;
  /** Resolves once that wait was given up. */
  readonly interrupted: Promise<void>;
  /** Returns the finished episode, as it is trained. */
  readonly trained: () => Episode;
}

/** A call as a dialect read it. */
export interface ReadCall {
  readonly dialect: Dialect["name"];
  readonly call: ModelCall;
}

export interface ScriptedEndpoint {
  readonly url: string;
  readonly decode: (ids: Iterable<number>) => string;
  /** The keys of all requests since the last episode was opened. */
  readonly keys: readonly (string | null)[];
  /** The calls that were read since then. */
  readonly calls: readonly ReadCall[];
  /** Opens an episode whose replies are the script's, one after the other. A call beyond them is one beyond the budget. */
  readonly open: (...script: readonly (ScriptedReply | LateReply)[]) => Promise<PlayedEpisode>;
  readonly close: () => Promise<void>;
}

/** Qwen2.5's chat template over a small tokenizer; the sizes beside them are the embedded model's. */
const loadModel = Effect.gen(function* () {
  const nano = yield* Model.loadWithoutWeights(join(packageRoot, "config/models/nano"));
  const tokenizer = yield* Tokenizer.load(join(packageRoot, "test/fixtures/chat-templates/qwen2.5"));
  return { ...nano, tokenizer, chat: yield* ChatTemplate.make(tokenizer) };
});

/** The reply that a generator samples of these ids: it ends at the limit of tokens, and behind the token that completes a stop text. */
const sampledFrom = (
  ids: Int32Array,
  { maxTokens, stop = [] }: GenerateRequest,
  decode: ScriptedEndpoint["decode"],
): Sampled => {
  const ends = [...ids.keys()].find((at) => stop.some((text) => decode(ids.subarray(0, at + 1)).includes(text)));
  const whole = ends === undefined ? ids : ids.slice(0, ends + 1);
  const kept = whole.slice(0, maxTokens);
  return {
    ids: kept,
    mu: new Float32Array(kept.length).fill(-1),
    versions: new Int32Array(kept.length),
    entropies: new Float32Array(kept.length).fill(0.5),
    finish: kept.length < whole.length ? "length" : "stop",
  };
};

/** The dialects, which note what they are asked, and each sign of life. */
const noting = (keys: (string | null)[], calls: ReadCall[], onSign: () => void): readonly Dialect[] =>
  dialects.map((dialect) => ({
    ...dialect,
    get keepAlive() {
      onSign();
      return dialect.keepAlive;
    },
    keyOf: (headers) => {
      const key = dialect.keyOf(headers);
      keys.push(key);
      return key;
    },
    read: (body, recall) =>
      Result.map(dialect.read(body, recall), (call) => {
        calls.push({ dialect: dialect.name, call });
        return call;
      }),
  }));

const id = { group: 0, member: 0 };
/** Milliseconds between the signs of life of a stream. */
const silenceMs = 20;
const failure = new PolicyError({ reason: "thread_died", message: "the thread is gone" });

export const startEndpoint = async (): Promise<ScriptedEndpoint> => {
  const scope = Scope.makeUnsafe();
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Effect.runPromise(Scope.provide(effect, scope));
  const loaded = await run(loadModel);
  const model = await run(agentModel(loaded, ""));
  const { chat, tokenizer } = loaded;
  const sessions = new Sessions();
  const keys: (string | null)[] = [];
  const calls: ReadCall[] = [];
  let sign = Promise.withResolvers<void>();
  const { url } = await run(
    serveEndpoint(
      noting(keys, calls, () => sign.resolve()),
      sessions,
      { silenceMs },
    ),
  );

  const open: ScriptedEndpoint["open"] = async (...script) => {
    keys.length = 0;
    calls.length = 0;
    const prompts: Int32Array[] = [];
    const replies: Sampled[] = [];
    const waited = Promise.withResolvers<void>();
    const interrupted = Promise.withResolvers<void>();
    const left = script.values();
    const policy = fakePolicy((request) =>
      Effect.gen(function* () {
        const { value: next } = left.next();
        if (next === undefined) return yield* Effect.die(new Error("the script has no more replies"));
        sign = Promise.withResolvers();
        if (typeof next === "object") yield* Effect.promise(() => sign.promise);
        const reply = typeof next === "object" ? next.late : next;
        if (reply === lost) return yield* failure;
        if (reply === never) {
          waited.resolve();
          return yield* Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted.resolve()));
        }
        const ids = Int32Array.of(...tokenizer.encode(reply), chat.endId);
        const sampled = sampledFrom(ids, request, tokenizer.decode);
        prompts.push(request.append);
        replies.push(sampled);
        return sampled;
      }),
    );
    const session = testSession(await run(Effect.provide(Effect.service(Policy), policy.layer)), model, {
      calls: script.length,
      contextTokens: 100_000,
      replyTokens: 2_000,
    });
    return {
      apiKey: sessions.add(session),
      session,
      prompts,
      replies,
      waited: waited.promise,
      interrupted: interrupted.promise,
      trained: () => {
        const { limit, tree } = session;
        const ended = { id, tag: "Clients", seed: 0, roots: tree.roots, limit };
        return episodeOf(ended, model, { rewards: { whole: 1, calls: new Map() }, success: true, metrics: {} });
      },
    };
  };
  return { url, decode: tokenizer.decode, keys, calls, open, close: () => run(Scope.close(scope, Exit.void)) };
};
