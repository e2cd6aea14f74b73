import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import { metricsFrom } from "../../src/domain/metrics/Metrics.ts";
import { weights } from "../../src/domain/metrics/run.ts";
import type { ServerChange } from "../../src/domain/Server.ts";
import * as Admitter from "../../src/flow/admission/Admitter.ts";
import * as Bus from "../../src/flow/Bus.ts";
import * as Servers from "../../src/flow/Servers.ts";
import * as StageRegistry from "../../src/flow/StageRegistry.ts";
import * as Stall from "../../src/flow/Stall.ts";
import { serverText } from "../../src/observe/sinks/View.ts";
import { sayingOf } from "../../src/observe/watch/page/line/Servers.ts";

const name = "http://127.0.0.1:8000";
const up: ServerChange = { role: "generator", name, state: { _tag: "Up" } };
const retrying = (attempt: number): ServerChange => ({
  role: "generator",
  name,
  state: { _tag: "Retrying", since: 1_000, attempt, nextAt: 3_000, why: "the connection is refused" },
});
const lost: ServerChange = { role: "worker", name: "w1", state: { _tag: "Lost", since: 0, why: "its lease ended" } };

describe("the servers of a run", () => {
  it.effect("are told to the bus, those known before it is attached and every change after", () =>
    Effect.gen(function* () {
      const board = Servers.make();
      const bus = yield* Bus.Bus;
      const events: Event[] = [];
      bus.onEvent((event) => void events.push(event));
      board.report(up);
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Servers.attach;
          board.report(retrying(1));
        }),
      ).pipe(Effect.provideService(Servers.Servers, board));
      board.report(up);
      expect(events).toEqual([
        { _tag: "ServerChanged", ...up },
        { _tag: "ServerChanged", ...retrying(1) },
      ]);
      expect(board.servers()).toEqual([up]);
    }).pipe(Effect.provide(Bus.layer())),
  );

  it("are counted by role and state in a step's metrics; a role without servers has none", () => {
    const board = Servers.make();
    for (const change of [up, { ...retrying(1), name: "b" }, lost]) board.report(change);
    expect(Object.fromEntries(board.metrics())).toEqual({
      "servers/generator/up": 1,
      "servers/generator/retrying": 1,
      "servers/generator/lost": 0,
      "servers/worker/up": 0,
      "servers/worker/retrying": 0,
      "servers/worker/lost": 1,
    });
  });

  it.effect("are measured for as long as who measures them lives", () =>
    Effect.gen(function* () {
      const board = Servers.make();
      const inside = yield* Effect.scoped(
        Effect.map(
          board.addMetrics(() => metricsFrom([weights.version, 7])),
          () => Object.fromEntries(board.metrics()),
        ),
      );
      expect(inside).toEqual({ "weights/version": 7 });
      expect(board.metrics().size).toBe(0);
    }),
  );

  it.effect("that do not answer come first in a stall's report", () =>
    Effect.gen(function* () {
      const board = Servers.make();
      for (const change of [retrying(4), lost]) board.report(change);
      const bus = yield* Bus.Bus;
      const lines: string[] = [];
      bus.onEvent((event) => void (event._tag === "Stalled" && lines.push(...event.lines)));
      yield* Effect.forkChild(Effect.provideService(Stall.watch(1000), Servers.Servers, board));
      yield* TestClock.adjust(1000);
      expect(lines.slice(0, 2)).toEqual([
        "generator http://127.0.0.1:8000 does not answer (the connection is refused); 4 attempts so far",
        "worker w1 is lost (its lease ended)",
      ]);
    }).pipe(
      Effect.provide(Admitter.layer({ mode: "sync", groups: 1, maxStaleness: 0, windows: 1 })),
      Effect.provide(StageRegistry.layer),
      Effect.provide(Bus.layer()),
    ),
  );

  it("are told to people in one line", () => {
    expect([up, retrying(1), lost].map(serverText)).toEqual([
      "generator http://127.0.0.1:8000: it answers",
      "generator http://127.0.0.1:8000: no answer (the connection is refused); asked again 2.0s later",
      "worker w1: lost (its lease ended)",
    ]);
  });

  it("say on the page since when they do not answer and when they are asked again", () => {
    expect([up, retrying(3), lost].map(({ state }) => sayingOf(state, 2_000))).toEqual([
      "",
      "the connection is refused; for 1.0 s, 3 attempts, again in 1.0 s",
      "its lease ended; for 2.0 s",
    ]);
  });
});
