import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Scheduler, type SchedulerOptions } from "../../src/generation/Scheduler.ts";
import type { Sequence, StepPlan } from "../../src/generation/StepPlan.ts";
import { assertProperty } from "../property.ts";

const options: SchedulerOptions = {
  slots: 3,
  prefillTokens: 128,
  prefillRows: 2,
  prefillPatience: 2,
  refeeding: "exact",
};

/** Drives a scheduler as the generator loop does: every sampled token ends a reply after `left` more. */
class Driver {
  readonly scheduler: Scheduler;
  readonly left = new Map<Sequence, number>();
  readonly finished: number[] = [];
  readonly admitted: number[] = [];
  readonly #held = new Set<number>();

  constructor(given: SchedulerOptions = options) {
    this.scheduler = new Scheduler(given, 0);
  }

  request(id: number, tokens: number, reply: number, prefixLength = 0): Sequence {
    const sequence =
      this.scheduler.sequence(id) ??
      this.scheduler.open({ id, pin: null, prefixKey: prefixLength === 0 ? "" : `p${prefixLength}`, prefixLength });
    this.scheduler.request(sequence, tokens);
    this.left.set(sequence, reply);
    return sequence;
  }

  step(): StepPlan {
    const active = this.scheduler.occupied.filter(({ phase }) => phase === "active");
    const plan = this.scheduler.plan();
    for (const sequence of active) expect(sequence.row, "an active sequence keeps a row").toBeGreaterThanOrEqual(0);
    const rows = this.scheduler.occupied.map(({ row }) => row);
    expect(new Set(rows).size, "no row has two owners").toBe(rows.length);
    for (const { id, phase, row } of this.scheduler.occupied) {
      expect(row).toBeLessThan(options.slots);
      if (phase === "active" && !this.#held.has(id)) {
        this.#held.add(id);
        this.admitted.push(id);
      }
    }
    const { step } = plan;
    if (step.kind === "prefix") for (const chunk of step.chunks) this.scheduler.recordPrefixFed(chunk);
    if (step.kind === "prefill")
      for (const chunk of step.chunks) {
        expect(chunk.count).toBeLessThanOrEqual(options.prefillTokens);
        this.scheduler.recordFed(chunk, step.version);
        if (chunk.isLast) this.#sampled(chunk.sequence);
      }
    if (step.kind === "decode")
      for (const chunk of step.chunks) {
        expect(chunk.count).toBe(1);
        expect(chunk.sequence.row).toBeGreaterThanOrEqual(step.from);
        expect(chunk.sequence.row).toBeLessThan(step.to);
        this.scheduler.recordDecoded(chunk, step.version);
        if (chunk.isLast) this.#sampled(chunk.sequence);
      }
    return plan;
  }

  rest(): void {
    while (this.step().step.kind !== "none");
  }

  #sampled(sequence: Sequence): void {
    this.scheduler.recordSampled(sequence);
    const left = this.left.get(sequence)! - 1;
    this.left.set(sequence, left);
    if (left > 0) return;
    this.scheduler.finish(sequence);
    this.#held.delete(sequence.id);
    this.finished.push(sequence.id);
  }
}

const request = fc.record({
  kind: fc.constant("request" as const),
  id: fc.nat(7),
  tokens: fc.integer({ min: 1, max: 300 }),
  reply: fc.integer({ min: 1, max: 6 }),
});
const event = fc.oneof(
  { weight: 3, arbitrary: request },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("step" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), id: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), id: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("adopt" as const), recompute: fc.boolean() }) },
);

describe("Scheduler", () => {
  it("keeps rows exclusive and active, and completes every request, whatever happens in whatever order", () => {
    assertProperty(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const driver = new Driver();
        const { scheduler } = driver;
        const open = new Map<number, Sequence>();
        let version = 0;
        for (const event of events) {
          const sequence = "id" in event ? scheduler.sequence(event.id) : undefined;
          if (event.kind === "request") {
            if (sequence === undefined || sequence.phase === "idle")
              open.set(
                event.id,
                driver.request(event.id, event.tokens, event.reply, event.id < 4 && event.tokens > 9 ? 9 : 0),
              );
          } else if (event.kind === "release") {
            scheduler.release(event.id);
            open.delete(event.id);
          } else if (event.kind === "cancel") {
            if (sequence !== undefined && sequence.phase !== "idle" && sequence.cached > 0)
              scheduler.finish(sequence, sequence.cached);
          } else if (event.kind === "adopt") scheduler.adopt(++version, event.recompute);
          else driver.step();
        }
        driver.rest();
        expect(scheduler).toMatchObject({ active: 0, waiting: 0 });
        for (const sequence of open.values()) expect(sequence.phase).toBe("idle");
      }),
      { numRuns: 200 },
    );
  });

  it("gives rows to waiting sequences in the order of their requests", () => {
    const driver = new Driver();
    for (const id of [5, 2, 9, 1, 7, 3]) driver.request(id, 10, 3);
    driver.rest();
    expect(driver.admitted).toEqual([5, 2, 9, 1, 7, 3]);
  });

  it("evicts the idle sequence that ended longest ago, never an active one", () => {
    const driver = new Driver();
    driver.request(0, 4, 1);
    driver.rest();
    driver.request(1, 4, 1);
    driver.rest();
    const active = driver.request(2, 4, 50);
    driver.step();
    driver.request(3, 4, 1);
    driver.step();
    expect(driver.scheduler.sequence(0)!.row).toBe(-1);
    expect(driver.scheduler.sequence(1)!.row).toBeGreaterThanOrEqual(0);
    expect(active.row).toBeGreaterThanOrEqual(0);
  });

  it("counts tokens fed again after an eviction", () => {
    const driver = new Driver({ ...options, slots: 1 });
    driver.request(0, 20, 1);
    driver.request(1, 20, 1);
    driver.rest();
    driver.request(0, 5, 1);
    driver.rest();
    expect(driver.scheduler.refedTokens).toBe(20);
  });

  /** Returns the feeds of sequence 0, as [form, tokens], in its last turn. The other sequences are evicted for it or decode beside it. */
  const feedAgain = (refeeding: SchedulerOptions["refeeding"]) => {
    const driver = new Driver({ ...options, slots: 2, refeeding });
    const first = driver.request(0, 20, 3);
    driver.rest();
    driver.request(0, 5, 2);
    driver.rest();
    driver.request(1, 4, 1);
    driver.request(2, 4, 50);
    driver.step();
    expect(first.row).toBe(-1);
    driver.request(0, 7, 1);
    const fed: (readonly [form: string, tokens: number])[] = [];
    const company: number[] = [];
    while (first.phase !== "idle") {
      const { step } = driver.step();
      if (step.kind === "none") break;
      if (step.kind === "prefix") continue;
      const firstChunk = step.chunks.find(({ sequence }) => sequence === first);
      if (firstChunk === undefined) continue;
      fed.push([step.kind, firstChunk.count]);
      if (step.kind === "decode") company.push(step.chunks.length);
    }
    return { fed, company, refilled: driver.scheduler.refedTokens };
  };

  it("feeds a sequence again as it was fed: prompts by prefills, replies by steps beside others that decode", () => {
    const { company, fed, refilled } = feedAgain("exact");
    expect(fed).toEqual([
      ["prefill", 20],
      ["decode", 1],
      ["decode", 1],
      ["prefill", 6],
      ["decode", 1],
      ["prefill", 8],
    ]);
    expect(company).toEqual([2, 2, 2]);
    expect(refilled).toBe(20 + 2 + 6 + 1);
  });

  it("feeds a sequence again by one prefill where feeding again is fast", () => {
    const { fed, refilled } = feedAgain("fast");
    expect(fed).toEqual([["prefill", 20 + 2 + 6 + 1 + 8]]);
    expect(refilled).toBe(20 + 2 + 6 + 1);
  });

  it("feeds a shared prefix once and again for a new version", () => {
    const driver = new Driver();
    const prefixSteps = (): number => {
      let steps = 0;
      for (;;) {
        const { kind } = driver.step().step;
        if (kind === "prefix") steps++;
        if (kind === "none") return steps;
      }
    };
    for (const id of [0, 1, 2]) driver.request(id, 30, 2, 20);
    expect(prefixSteps()).toBe(1);
    driver.request(3, 30, 2, 20);
    expect(prefixSteps()).toBe(0);
    driver.scheduler.adopt(1, false);
    driver.request(4, 30, 2, 20);
    expect(prefixSteps()).toBe(1);
  });

  it("cuts a long prompt into the same chunks whoever shares the steps", () => {
    const cuts = (others: number): readonly number[] => {
      const driver = new Driver();
      for (let id = 1; id <= others; id++) driver.request(id, 20 * id, 4);
      const sequence = driver.request(0, 300, 1);
      const seen: number[] = [];
      for (;;) {
        const { step } = driver.step();
        if (step.kind === "none") return seen;
        if (step.kind === "prefill")
          for (const chunk of step.chunks) if (chunk.sequence === sequence) seen.push(chunk.count);
      }
    };
    expect(cuts(0)).toEqual([128, 128, 44]);
    expect(cuts(2)).toEqual([128, 128, 44]);
  });

  it("lets a prefill wait for company, but not for long", () => {
    const driver = new Driver();
    driver.request(0, 4, 20);
    driver.step();
    driver.request(1, 4, 20);
    const kinds = Array.from({ length: 4 }, () => driver.step().step.kind);
    expect(kinds).toEqual(["decode", "decode", "prefill", "decode"]);
  });

  it("decodes between the chunks of other prompts, however many wait", () => {
    const driver = new Driver();
    driver.request(0, 4, 20);
    driver.step();
    driver.request(1, 300, 20);
    driver.request(2, 300, 20, 200);
    const kinds = Array.from({ length: 8 }, () => driver.step().step.kind);
    expect(kinds.filter((kind) => kind !== "decode").length).toBeGreaterThan(3);
    const following = kinds.filter((_, at) => at > 0 && kinds[at - 1] !== "decode");
    expect(new Set(following)).toEqual(new Set(["decode"]));
  });
});

describe("sequences of several versions", () => {
  const roomy: SchedulerOptions = { ...options, slots: 16 };

  /** Decodes one token of every version in turn: versions in the order in which they were served. */
  const served = (versions: readonly number[], steps: number): readonly number[] => {
    const scheduler = new Scheduler(roomy, Math.max(...versions));
    for (const [id, pin] of versions.entries()) {
      scheduler.request(scheduler.open({ id, pin, prefixKey: "", prefixLength: 0 }), 4);
    }
    const decoded: number[] = [];
    while (decoded.length < steps) {
      const { step } = scheduler.plan();
      if (step.kind === "prefill") {
        for (const chunk of step.chunks) {
          scheduler.recordFed(chunk, step.version);
          scheduler.recordSampled(chunk.sequence);
        }
      }
      if (step.kind !== "decode") continue;
      decoded.push(step.version);
      // Until the prefills are done, the first version may be alone.
      if (decoded.length > 2 * versions.length) expect(step.isSplit).toBe(new Set(versions).size > 1);
      for (const chunk of step.chunks) {
        expect(chunk.sequence.pin).toBe(step.version);
        scheduler.recordDecoded(chunk, step.version);
        scheduler.recordSampled(chunk.sequence);
      }
    }
    return decoded;
  };

  it("take turns, so that none starves", () => {
    assertProperty(
      fc.property(fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 6 }), (versions) => {
        // Prefills of other versions come between the first steps.
        const decoded = served(versions, 8 * versions.length).slice(2 * versions.length);
        for (let from = 0; from + versions.length <= decoded.length; from++) {
          expect(new Set(decoded.slice(from, from + versions.length))).toEqual(new Set(versions));
        }
      }),
    );
  });
});
