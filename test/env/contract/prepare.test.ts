/** Every environment is asked what is missing on this machine; a question that fails counts as an answer. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import type { BaseEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { collectLacks, collectReports } from "../../../src/env/contract/prepare.ts";

type LackingEnvironment = Pick<BaseEnvironment, "lacks">;

describe("what environments lack", () => {
  it.effect("is every sentence of those that lack something, in the order of the tags", () =>
    Effect.gen(function* () {
      const lacking = (...sentences: readonly string[]): LackingEnvironment => ({ lacks: async () => sentences });
      const found = yield* collectLacks(
        new Map<string, LackingEnvironment>([
          ["Shop", lacking("no goods", "no server")],
          ["Words", lacking()],
          ["Pure", { lacks: null }],
          ["House", lacking("no java")],
        ]),
      );
      expect([...found]).toEqual([
        ["Shop", ["no goods", "no server"]],
        ["House", ["no java"]],
      ]);
    }),
  );

  it.effect("is why it cannot be told, where asking fails", () =>
    Effect.gen(function* () {
      const lacks = () => Promise.reject(new Error("no such folder"));
      expect(yield* collectLacks(new Map([["Shop", { lacks }]]))).toEqual(new Map([["Shop", ["no such folder"]]]));
    }),
  );
});

describe("what environments lack, where one of them never says", () => {
  it.effect("is that after a while", () =>
    Effect.gen(function* () {
      const lacks = () => new Promise<never>(() => undefined);
      const asking = yield* Effect.forkChild(collectLacks(new Map([["Shop", { lacks }]])), { startImmediately: true });
      yield* TestClock.adjust(15_000);
      expect([...(yield* Fiber.join(asking))]).toEqual([["Shop", ["it is not known after 15 s what is missing"]]]);
    }),
  );
});

describe("what there is to know of the data", () => {
  it.effect("is every sentence of those that have something to say", () =>
    Effect.gen(function* () {
      const saying = (...sentences: readonly string[]): Pick<BaseEnvironment, "report"> => ({
        report: async () => sentences,
      });
      const found = yield* collectReports(
        new Map([
          ["Goods", saying("12 rows have no price")],
          ["Words", saying()],
          ["Pure", { report: null }],
        ]),
      );
      expect([...found]).toEqual([["Goods", ["12 rows have no price"]]]);
    }),
  );

  it.effect("fails the run where it cannot be told", () =>
    Effect.gen(function* () {
      const report = () => Promise.reject(new Error("the file is empty"));
      const error = yield* Effect.flip(collectReports(new Map([["Goods", { report }]])));
      expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "Goods", message: "Goods: the file is empty" });
    }),
  );
});
