/**
 * The endpoint of agents under 10 000 hostile requests while episodes play: nothing hangs, nothing leaks, no answer is a failure of ours, and the
 * episodes hold exactly what was sampled. MILLRACE_CHAOS_SEED draws other requests.
 */
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Schedule } from "effect";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import { callsOf } from "../../src/agents/tree/CallTree.ts";
import type { Message } from "../../src/domain/Conversation.ts";
import { failed } from "../../src/domain/Episode.ts";
import { stream } from "../../src/domain/Random.ts";
import { Policy } from "../../src/generation/Policy.ts";
import * as Model from "../../src/model/Model.ts";
import { earned, modeAt, openAgents, type TestAgent } from "../agents/playedAgents.ts";
import { wireClient, wireNames } from "../agents/wireForms.ts";
import { promptOf } from "../build/groups.ts";
import { rollout } from "../rollout/fakes.ts";
import { checkRows, isMarker, markers } from "./agentRows.ts";
import { type Attack, spelledText } from "./attacks.ts";
import { attackNames, drawAttack } from "./hostileRequests.ts";
import { type Exchange, exchange } from "./rawConnection.ts";
import { recordingPolicy } from "./recordingPolicy.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const requests = 10_000;
const requestsAtOnce = 64;
const groupsAtOnce = 4;
/** Milliseconds within which every connection ends. The server gives the head of a request 5 s. */
const patienceMs = 20_000;
const budget = { calls: 120, contextTokens: 640, replyTokens: 12 };
const mebibyte = 2 ** 20;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");
const heapBytes = (): number => {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

const openSockets = (): number => process.getActiveResourcesInfo().filter((name) => name.startsWith("TCP")).length;

/** Keys of the episodes, as strangers get to know them. */
interface Keys {
  readonly live: Set<string>;
  readonly ended: string[];
}

/** An agent that converses by itself while strangers use its key. It ends or gives up while their calls are under way. */
const honestAgent =
  ({ ended, live }: Keys, onStart: () => void): TestAgent =>
  async ({ apiKey, endpoint, group, member }) => {
    const random = stream({ seed, purpose: "play", counters: [1, group, member] });
    const ask = wireClient(endpoint, apiKey);
    live.add(apiKey);
    onStart();
    try {
      let messages: readonly Message[] = [{ role: "system", text: "frozen_lake" }];
      const turns = 3 + random.int(12);
      for (let turn = 0; turn < turns; turn++) {
        await setTimeout(random.int(100));
        messages = [...messages, { role: "user", text: random.int(3) === 0 ? spelledText(random) : `turn ${turn}` }];
        const call = { messages, isStreamed: random.int(2) === 0, maxTokens: 6 };
        // A client that gives a call up, and makes it again.
        if (random.int(3) === 0) await ask("chat", call, AbortSignal.timeout(random.int(8))).catch(() => undefined);
        const names = random.int(4) === 0 ? wireNames : [random.pick(wireNames)];
        const answers = await Promise.all(names.map((name) => ask(name, call)));
        const { reply } = random.pick(answers);
        messages = [...messages, reply];
      }
      if (random.int(6) === 0) throw new Error("this agent gives up");
      return earned(1);
    } finally {
      live.delete(apiKey);
      ended.push(apiKey);
    }
  };

/** The ends of all requests: how many had each status, and those that should not be. */
class Tally {
  readonly counts = new Map<string, number>();
  readonly wrong: string[] = [];

  add(number: number, attack: Attack, { isHung, statuses }: Exchange): void {
    const isSilent = statuses.length === 0 && attack.mayBeSilent !== true;
    if (isHung || isSilent || statuses.some((status) => !attack.statuses.includes(status))) {
      const ending = isHung ? "hung" : statuses.join(" ") || "no answer";
      this.wrong.push(`request ${number} (${attack.name}): ${ending}`);
    }
    for (const status of statuses.length === 0 ? ["none"] : statuses) {
      const name = `${attack.name}: ${status}`;
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    }
  }
}

describe("the endpoint of agents", () => {
  it.live(`outlives ${requests} hostile requests while episodes play (MILLRACE_CHAOS_SEED=${seed})`, () =>
    Effect.gen(function* () {
      const model = yield* Model.loadWithoutWeights(new URL("../../config/models/nano", import.meta.url).pathname);
      const ids = Array.from({ length: model.tokenizer.vocabSize }, (_, id) => id).filter((id) => !isMarker(id));
      const policy = recordingPolicy({ endId: markers.end, ids }, 8);
      const keys: Keys = { live: new Set(), ended: [] };
      const tally = new Tally();
      const totals = { calls: 0, whole: 0, given: 0, warmHeap: 0 };
      const isPlaying = yield* Deferred.make<void>();
      const isAttacked = yield* Deferred.make<void>();

      yield* Effect.gen(function* () {
        const agents = yield* openAgents(
          honestAgent(keys, () => Deferred.doneUnsafe(isPlaying, Effect.void)),
          {
            budget,
            model: yield* agentModel(model, ""),
            onPlayed: (episode, { tree }) => {
              const calls = callsOf(tree.roots);
              checkRows(episode, calls, policy.replies);
              totals.calls += calls.length;
              if (failed(episode)) totals.given++;
              else totals.whole++;
            },
          },
        );
        const port = Number(new URL(agents.url).port);
        let group = 0;
        const playing = Effect.gen(function* () {
          while (!(yield* Deferred.isDone(isAttacked))) {
            yield* agents.play(rollout(), modeAt(1), promptOf(group++, 2));
          }
        });
        const attack = async (number: number): Promise<void> => {
          // Caches and compiled code have their size by now.
          if (number === requests / 4) totals.warmHeap = heapBytes();
          const random = stream({ seed, purpose: "noise", counters: [8, number] });
          const drawn = drawAttack(random, { live: [...keys.live], ended: keys.ended });
          tally.add(number, drawn, await exchange(port, drawn, patienceMs));
        };
        const attacking = Deferred.await(isPlaying).pipe(
          Effect.andThen(
            Effect.forEach(Array(requests).keys(), (number) => Effect.promise(() => attack(number)), {
              concurrency: requestsAtOnce,
              discard: true,
            }),
          ),
          Effect.ensuring(Deferred.succeed(isAttacked, undefined)),
        );
        const players = Array.from({ length: groupsAtOnce }, () => playing);
        yield* Effect.all([attacking, ...players], { concurrency: "unbounded", discard: true });
        expect(agents.sessions.size).toBe(0);
      }).pipe(Effect.provideService(Policy, policy.service), Effect.scoped);

      expect(tally.wrong).toEqual([]);
      expect([...policy.open]).toEqual([]);
      expect(policy.running()).toBe(0);
      expect(policy.mostAtOnce()).toBe(1);
      // The pool of `fetch` closes its ends of closed connections on its own.
      const left = yield* Effect.repeat(Effect.sync(openSockets), {
        until: (count) => count === 0,
        times: 50,
        schedule: Schedule.spaced("100 millis"),
      });
      expect(left).toBe(0);
      expect(heapBytes()).toBeLessThan(totals.warmHeap + 16 * mebibyte);
      // Every kind of attack was made, and episodes of both ends played meanwhile.
      expect(new Set(Array.from(tally.counts.keys(), (name) => name.split(":")[0]))).toEqual(new Set(attackNames));
      expect(totals.whole).toBeGreaterThan(20);
      expect(totals.given).toBeGreaterThan(0);
    }).pipe(Effect.scoped),
  );
});
