import { describe, expect, it } from "vitest";
import { together } from "../../src/generation/together.ts";
import { engineOn, idsOf, reply, requestOf, withModel } from "./support.ts";

const ignored = { done: () => {}, fail: () => {} };

describe("the gauges of a generator thread", () => {
  it("count replies, requests without a row, and all of the thread's time as busy or starved", () =>
    withModel(async (model) => {
      const engine = engineOn(model, { slots: 2 });
      const replies = [0, 1, 2, 3, 4].map((id) => reply(engine, requestOf(id, idsOf(20, id))));
      expect(engine.gauges().threads).toMatchObject({ queue: 5, running: 0, items: 0, busyMs: 0, concurrency: 1 });
      await replies[0];
      expect(engine.gauges().threads).toMatchObject({ queue: 3, concurrency: 1 });
      await Promise.all(replies);
      await engine.settled();
      const { blockedMs, busyMs, elapsedMs, queueMs, starvedMs, ...levels } = engine.gauges().threads;
      expect(levels).toMatchObject({ name: "generator", queue: 0, running: 0, blocked: 0, items: 5 });
      expect(busyMs).toBeGreaterThan(0);
      expect(queueMs).toBeGreaterThan(0);
      expect(busyMs + blockedMs + starvedMs).toBeCloseTo(elapsedMs, 6);
    }));

  it("forget a waiting request that is cancelled, released or failed", () =>
    withModel(async (model) => {
      const engine = engineOn({ ...model, prefill: () => Promise.reject(new Error("no memory")) }, { slots: 1 });
      for (const id of [0, 1, 2, 3, 4]) engine.generate(requestOf(id, idsOf(9, id), {}), ignored);
      engine.cancel(1);
      expect(engine.gauges().threads.queue).toBe(4);
      engine.release(2);
      expect(engine.gauges().threads.queue).toBe(3);
      await engine.settled();
      expect(engine.gauges().threads).toMatchObject({ queue: 0, running: 0, items: 0 });
      engine.release(4);
      expect(engine.gauges().threads.queue).toBe(0);
    }));

  it("add up over threads", () =>
    withModel(async (model) => {
      const engine = engineOn(model);
      await Promise.all([0, 1, 2].map((id) => reply(engine, requestOf(id, idsOf(20, id)))));
      await engine.settled();
      const one = engine.gauges();
      const other = { ...one, version: 3, adoptionMs: { last: 2, max: 4 } };
      const both = together([one, other]);
      expect(both).toMatchObject({ version: 0, slots: 32, sampledTokens: 72, adoptionMs: { last: 2, max: 4 } });
      expect(both.threads).toMatchObject({ concurrency: 2, items: 6, busyMs: 2 * one.threads.busyMs });
      expect(both.threads.elapsedMs).toBe(one.threads.elapsedMs);
    }));
});

describe("a step that fails", () => {
  it("fails the request with what was thrown", () =>
    withModel(async (model) => {
      const thrown = new Error("no memory");
      const engine = engineOn({ ...model, prefill: () => Promise.reject(thrown) });
      const failure = await new Promise((resolve) =>
        engine.generate(requestOf(0, idsOf(9)), { done: resolve, fail: resolve }),
      );
      expect(failure).toEqual({ code: "session_failed", message: "no memory", cause: thrown });
    }));

  it("says so where the weights give no logits to draw from", () =>
    withModel(async (model) => {
      const prefill: typeof model.prefill = async (...given) => {
        const made = await model.prefill(...given);
        return { ...made, logits: made.logits.fill(Number.NaN) };
      };
      const engine = engineOn({ ...model, prefill });
      const failure = await new Promise((resolve) =>
        engine.generate(requestOf(0, idsOf(9)), { done: resolve, fail: resolve }),
      );
      expect(failure).toMatchObject({ code: "not_finite", message: expect.stringContaining("logits are not finite") });
    }));
});
