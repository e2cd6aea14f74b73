import { describe, expect, it } from "vitest";
import { mergeGauges } from "../../src/generation/GeneratorThreads.ts";
import { idsOf, loopOn, reply, requestOf, withModel } from "./support.ts";

const ignored = { done: () => {}, fail: () => {} };

describe("the gauges of a generator thread", () => {
  it("count replies, requests without a row, and all of the thread's time as busy or starved", () =>
    withModel(async (model) => {
      const loop = loopOn(model, { slots: 2 });
      const replies = [0, 1, 2, 3, 4].map((id) => reply(loop, requestOf(id, idsOf(20, id))));
      expect(loop.gauges().threads).toMatchObject({ queue: 5, running: 0, items: 0, busyMs: 0, concurrency: 1 });
      await replies[0];
      expect(loop.gauges().threads).toMatchObject({ queue: 3, concurrency: 1 });
      await Promise.all(replies);
      await loop.whenIdle();
      const { blockedMs, busyMs, elapsedMs, queueMs, starvedMs, ...levels } = loop.gauges().threads;
      expect(levels).toMatchObject({ name: "generator", queue: 0, running: 0, blocked: 0, items: 5 });
      expect(busyMs).toBeGreaterThan(0);
      expect(queueMs).toBeGreaterThan(0);
      expect(busyMs + blockedMs + starvedMs).toBeCloseTo(elapsedMs, 6);
    }));

  it("forget a waiting request that is cancelled, released or failed", () =>
    withModel(async (model) => {
      const loop = loopOn({ ...model, prefill: () => Promise.reject(new Error("no memory")) }, { slots: 1 });
      for (const id of [0, 1, 2, 3, 4]) loop.generate(requestOf(id, idsOf(9, id), {}), ignored);
      loop.cancel(1);
      expect(loop.gauges().threads.queue).toBe(4);
      loop.release(2);
      expect(loop.gauges().threads.queue).toBe(3);
      await loop.whenIdle();
      expect(loop.gauges().threads).toMatchObject({ queue: 0, running: 0, items: 0 });
      loop.release(4);
      expect(loop.gauges().threads.queue).toBe(0);
    }));

  it("add up over threads", () =>
    withModel(async (model) => {
      const loop = loopOn(model);
      await Promise.all([0, 1, 2].map((id) => reply(loop, requestOf(id, idsOf(20, id)))));
      await loop.whenIdle();
      const one = loop.gauges();
      const other = { ...one, version: 3, adoptionMs: { last: 2, max: 4 } };
      const both = mergeGauges([one, other]);
      expect(both).toMatchObject({ version: 0, slots: 32, sampledTokens: 72, adoptionMs: { last: 2, max: 4 } });
      expect(both.threads).toMatchObject({ concurrency: 2, items: 6, busyMs: 2 * one.threads.busyMs });
      expect(both.threads.elapsedMs).toBe(one.threads.elapsedMs);
    }));
});

describe("a step that fails", () => {
  it("fails the request with what was thrown", () =>
    withModel(async (model) => {
      const thrown = new Error("no memory");
      const loop = loopOn({ ...model, prefill: () => Promise.reject(thrown) });
      const failure = await new Promise((resolve) =>
        loop.generate(requestOf(0, idsOf(9)), { done: resolve, fail: resolve }),
      );
      expect(failure).toEqual({ code: "session_failed", message: "no memory", cause: thrown });
    }));

  it("says so where the weights give no logits to draw from", () =>
    withModel(async (model) => {
      const prefill: typeof model.prefill = async (...given) => {
        const prefilled = await model.prefill(...given);
        return { ...prefilled, logits: prefilled.logits.fill(Number.NaN) };
      };
      const loop = loopOn({ ...model, prefill });
      const failure = await new Promise((resolve) =>
        loop.generate(requestOf(0, idsOf(9)), { done: resolve, fail: resolve }),
      );
      expect(failure).toMatchObject({ code: "not_finite", message: expect.stringContaining("logits are not finite") });
    }));
});
