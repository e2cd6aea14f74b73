/** The client against a server that misbehaves: its retries, its reports, and gradients that never count twice. */
import { describe, it } from "@effect/vitest";
import { Clock, Effect, Fiber, Redacted } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { ServerChange } from "../../../src/domain/Server.ts";
import * as Connection from "../../../src/remote/tinker/Connection.ts";
import type { TinkerError } from "../../../src/remote/tinker/TinkerError.ts";
import { datumOf } from "../../../src/remote/tinker/wire/Data.ts";
import { trainerOptions } from "../../learner/model.ts";
import { HOUR_MS, steppedClock } from "../../steppedClock.ts";
import { fakeTinker, json, type Script } from "./FakeTinker.ts";
import { clientAt, modelAt } from "./remote.ts";

const { actor } = trainerOptions;
const ids = Int32Array.of(3, 5, 7, 9, 11, 13);
const data = [datumOf(ids)];
const trained = () => [
  {
    ...data[0]!,
    tensors: { ...data[0]!.tensors, logprobs: new Float32Array(5).fill(-2), advantages: new Float32Array(5).fill(1) },
  },
];

/** Real sockets under a clock that is moved on until the work is done. */
const hurried = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect);
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2)));
      yield* TestClock.adjust("250 millis");
    }
    return yield* Fiber.join(fiber);
  });

/** The first answers to a path are the script's, then the server's own. */
const first =
  (path: string, ...answers: readonly Script[]): Script =>
  (request, response) =>
    request.path === path && (answers[request.nth]?.(request, response) ?? false);

const status =
  (code: number, body: unknown = { detail: "no" }): Script =>
  (_, response) =>
    json(response, code, body);
const cut: Script = (_, response) => {
  response.destroy();
  return true;
};
const nonsense: Script = (_, response) => {
  response.writeHead(200, { "content-type": "text/html" });
  response.end("<html>maintenance</html>");
  return true;
};

const reasonOf = <A>(effect: Effect.Effect<A, TinkerError>) => Effect.map(Effect.flip(effect), ({ reason }) => reason);

describe("a result is waited for", () => {
  it.effect.each([
    ["408", [status(408), status(408)]],
    ["try_again", [status(200, { type: "try_again", queue_state: "active" })]],
    ["429", [status(429)]],
    ["500", [status(500), status(502)]],
    ["a broken connection", [cut, cut]],
    ["nonsense", [nonsense]],
    ["402", [status(402)]],
    ["400 once", [status(400)]],
  ] as const)("through %s", ([_, answers]) =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor });
      const { model } = yield* hurried(modelAt(server.url));
      const before = server.requestsTo("retrieve_future").length;
      const script = first("retrieve_future", ...answers);
      let nth = 0;
      const bad = yield* fakeTinker({
        actor,
        script: (request, response) =>
          request.path === "retrieve_future" && script({ ...request, nth: nth++ }, response),
      });
      const { model: other } = yield* hurried(modelAt(bad.url));
      const [logp] = yield* hurried(other.forward(data));
      const [expected] = yield* hurried(model.forward(data));
      expect(logp).toEqual(expected);
      expect(server.requestsTo("retrieve_future").length).toBe(before + 1);
      expect(bad.requestsTo("retrieve_future").length).toBe(2 + answers.length);
    }),
  );
});

describe("a gradient", () => {
  it.effect.each([
    ["is cut", cut],
    ["answers 500", status(500)],
  ] as const)("whose request %s is not sent again to a server that would count it twice", ([_, fault]) =>
    Effect.gen(function* () {
      const script: Script = (request, response) =>
        request.path === "forward_backward" && request.nth === 0 && fault(request, response);
      const server = yield* fakeTinker({ actor, script });
      const { model } = yield* hurried(modelAt(server.url));
      yield* hurried(model.detectResending(data));
      expect(model.canResend).toBe(false);
      expect(yield* hurried(reasonOf(model.backward(trained(), "importance_sampling")))).toBe("uncertain");
      expect(server.requestsTo("forward_backward")).toHaveLength(1);
    }),
  );

  it.effect("is sent again under its number to a server that knows it, and counts once", () =>
    Effect.gen(function* () {
      // The server takes the request, and its answer is lost.
      let lost = 0;
      const script: Script = (request, response) => {
        if (request.path !== "forward_backward" || lost++ > 0) return false;
        response.end = (() => {
          response.destroy();
          return response;
        }) as typeof response.end;
        return false;
      };
      const server = yield* fakeTinker({ actor, idempotent: true, script });
      const { model } = yield* hurried(modelAt(server.url));
      yield* hurried(model.detectResending(data));
      expect(model.canResend).toBe(true);
      yield* hurried(model.backward(trained(), "importance_sampling"));
      expect(server.requestsTo("forward_backward").map(({ body }) => body.seq_id)).toEqual([2, 2]);
      expect(server.counts().backward).toBe(1);
    }),
  );

  it.effect("whose result expired fails the update where it may have counted", () =>
    Effect.gen(function* () {
      let sent = false;
      const script: Script = ({ path }, response) => {
        sent ||= path === "forward_backward";
        return sent && path === "retrieve_future" && json(response, 410, { detail: "expired" });
      };
      const server = yield* fakeTinker({ actor, script });
      const { model } = yield* hurried(modelAt(server.url));
      expect(yield* hurried(reasonOf(model.backward(trained(), "importance_sampling")))).toBe("uncertain");
      expect(server.requestsTo("forward_backward")).toHaveLength(1);
    }),
  );

  it.effect("is asked for again where the server was busy: it has not taken the request", () =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, script: first("forward_backward", status(429), status(429)) });
      const { model } = yield* hurried(modelAt(server.url));
      yield* hurried(model.backward(trained(), "importance_sampling"));
      expect(server.counts().backward).toBe(1);
    }),
  );
});

describe("a server", () => {
  it.effect("is told of while it is retried, when it is up again, and by no key", () =>
    Effect.gen(function* () {
      const changes: ServerChange[] = [];
      const server = yield* fakeTinker({ actor, script: first("forward", status(503), status(503)) });
      const reporting = { tell: (change: ServerChange) => changes.push(change), key: Redacted.make("tml-secret") };
      const { model } = yield* hurried(modelAt(server.url, {}, reporting));
      yield* hurried(model.forward(data));
      expect(changes.map(({ state }) => state._tag)).toEqual(["Up", "Retrying", "Retrying", "Up"]);
      const [, one, two] = changes;
      expect(one).toMatchObject({ role: "learner", name: server.url, state: { attempt: 1, why: "status 503: no" } });
      expect(two?.state).toMatchObject({ attempt: 2 });
      expect(server.requestsTo("forward")[0]?.headers["x-api-key"]).toBe("tml-secret");
      expect(JSON.stringify(changes)).not.toContain("secret");
    }),
  );

  it.effect("hears a heartbeat at once and every ten seconds, and its loss ends the session", () =>
    Effect.gen(function* () {
      const changes: ServerChange[] = [];
      const server = yield* fakeTinker({ actor });
      const client = clientAt(server.url, { tell: (change) => changes.push(change), outageMs: 20_000 });
      const { died } = yield* Connection.open(client);
      yield* hurried(Effect.sleep("31 seconds"));
      expect(server.requestsTo("session_heartbeat")).toHaveLength(4);
      yield* Effect.promise(server.die);
      expect(yield* hurried(reasonOf(died))).toBe("outage");
      expect(changes.at(-1)?.state._tag).toBe("Lost");
    }).pipe(Effect.scoped),
  );

  it.effect.each([
    ["as it is", 0],
    ["set back an hour", -HOUR_MS],
    ["set forward an hour", HOUR_MS],
  ] as const)("is given up after the same time and attempts with a wall clock that is %s", ([_, stepMs]) =>
    Effect.gen(function* () {
      const time = yield* Clock.Clock;
      const { clock, step } = steppedClock(time);
      const script: Script = (request, response) => {
        if (request.nth === 2) step(stepMs);
        return status(503)(request, response);
      };
      const changes: ServerChange[] = [];
      const server = yield* fakeTinker({ actor, script });
      const client = clientAt(server.url, { tell: (change) => changes.push(change), outageMs: 20_000 });
      const opening = reasonOf(Effect.scoped(Connection.open(client)));
      expect(yield* hurried(Effect.provideService(opening, Clock.Clock, clock))).toBe("outage");
      expect(server.received).toHaveLength(6);
      const since = changes.flatMap(({ state }) => (state._tag === "Retrying" ? [state.since] : []));
      expect(since.length).toBeGreaterThan(1);
      expect(new Set(since).size).toBe(1);
      expect(time.currentTimeMillisUnsafe()).toBeLessThan(60_000);
    }),
  );

  it.effect.each([
    ["a session that is none", first("create_session", status(200, { id: 7 })), "nonsense"],
    [
      "a session with an error",
      first("create_session", status(200, { session_id: "s", error_message: "too old" })),
      "rejected",
    ],
    ["a wrong key", first("create_session", status(401)), "unauthorised"],
    ["a model it does not have", first("create_model", status(404)), "gone"],
  ] as const)("that answers with %s is refused", ([_, script, reason]) =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, script });
      expect(yield* hurried(Effect.scoped(reasonOf(modelAt(server.url) as never)))).toBe(reason);
    }),
  );
});
