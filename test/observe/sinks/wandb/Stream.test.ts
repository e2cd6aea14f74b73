import { describe, it } from "@effect/vitest";
import { Effect, Fiber, Redacted } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import { Client } from "../../../../src/observe/sinks/wandb/Client.ts";
import type { Decoded } from "../../../../src/observe/sinks/wandb/decode.ts";
import { Counts } from "../../../../src/observe/sinks/wandb/FileStream.ts";
import { Latest } from "../../../../src/observe/sinks/wandb/Json.ts";
import { FINISH_MS, Stream } from "../../../../src/observe/sinks/wandb/Stream.ts";
import { KEY, StandIn } from "./support.ts";

const run = { id: "r", entity: "", project: "p", group: "", name: "n", tags: [], host: "h", config: "{}" };
const history = (step: number): Decoded => ({ _tag: "History", step, items: [{ path: ["_step"], json: `${step}` }] });

/** A stream of entries in memory: offset n is behind the first n. At most two come at once. */
const started = (server: StandIn, entries: readonly Decoded[], warn: (message: string) => void = () => undefined) => {
  const sent: number[] = [];
  const stream = Stream.start({
    client: new Client({ baseUrl: "http://127.0.0.1:9", apiKey: Redacted.make(KEY), http: server.http }),
    source: {
      read: (offset) =>
        Effect.sync(() => {
          const end = Math.min(offset + 2, entries.length);
          return { entries: entries.slice(offset, end), end };
        }),
      file: () => Effect.succeed(null),
      sent: (offset) => Effect.sync(() => void sent.push(offset)),
    },
    from: { offset: 0, counts: new Counts(), summary: new Latest() },
    run: () => run,
    started: 0,
    jitter: () => 0.5,
    warn: (message) => Effect.sync(() => warn(message)),
  });
  return { stream, sent };
};

describe("the end of a stream", () => {
  it.effect("comes after its deadline where the server never answers", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      server.fault = () => "hang";
      const { stream } = started(server, [history(1)]);
      const finishing = yield* Effect.forkChild((yield* stream).finish(0));
      yield* TestClock.adjust(FINISH_MS - 1);
      expect(finishing.pollUnsafe()).toBeUndefined();
      yield* TestClock.adjust(1);
      expect(yield* Fiber.join(finishing)).toEqual({ _tag: "Part", reason: "the server is slow" });
    }),
  );

  it.effect("says what the server last said, where it fails to the end", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      server.fault = () => ({ status: 502 });
      const warnings: string[] = [];
      const { stream } = started(server, [history(1)], (message) => void warnings.push(message));
      const finishing = yield* Effect.forkChild((yield* stream).finish(0));
      yield* TestClock.adjust(FINISH_MS);
      expect(yield* Fiber.join(finishing)).toEqual({ _tag: "Part", reason: "HTTP 502" });
      expect(warnings).toEqual(["http://127.0.0.1:9: HTTP 502; the run goes on, and what waits is sent later"]);
      const tries = server.requests.length;
      expect(tries).toBeGreaterThan(5);
      // Nothing goes on behind the end.
      yield* TestClock.adjust(600_000);
      expect(server.requests.length).toBe(tries);
    }),
  );

  it.effect("brings all that waits, a batch at a time, without a wait between", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const { sent, stream } = started(
        server,
        [0, 1, 2, 3, 4].map((step) => history(step)),
      );
      expect(yield* (yield* stream).finish(1)).toEqual({ _tag: "Whole" });
      expect(server.history).toEqual([0, 1, 2, 3, 4]);
      expect(sent).toEqual([2, 4, 5]);
      expect(server.exitCode).toBe(1);
      expect(server.wrong).toEqual([]);
    }),
  );
});

describe("a stream", () => {
  it.effect("asks at most once in 15 s, however much waits", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const { stream } = started(
        server,
        [0, 1, 2, 3].map((step) => history(step)),
      );
      yield* stream;
      yield* TestClock.adjust(14_999);
      expect(server.history).toEqual([0, 1]);
      yield* TestClock.adjust(1);
      expect(server.history).toEqual([0, 1, 2, 3]);
    }),
  );
});

describe("a file of a run", () => {
  it.effect("that cannot be uploaded holds up no line, and is told of at the end", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      server.fault = (_, { method }) => (method === "PUT" ? { status: 403 } : "ok");
      const entries: readonly Decoded[] = [{ _tag: "Files", paths: ["media/table/a.json"] }, history(1)];
      const stream = yield* Stream.start({
        client: new Client({ baseUrl: "http://127.0.0.1:9", apiKey: Redacted.make(KEY), http: server.http }),
        source: {
          read: (offset) => Effect.succeed({ entries: entries.slice(offset), end: entries.length }),
          file: () => Effect.succeed(new Uint8Array(3)),
          sent: () => Effect.void,
        },
        from: { offset: 0, counts: new Counts(), summary: new Latest() },
        run: () => run,
        started: 0,
        jitter: () => 0,
        warn: () => Effect.void,
      });
      expect(yield* stream.finish(0)).toEqual({ _tag: "Part", reason: "a file could not be uploaded" });
      expect(server.history).toEqual([1]);
      expect(server.exitCode).toBe(0);
    }),
  );
});
