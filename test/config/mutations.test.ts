/** Any change of a run file ends in a configuration or in one bounded message. */
import { readFileSync } from "node:fs";
import { Effect, Result } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { keyInfos } from "../../src/config/describe.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { resolve } from "../../src/config/resolve.ts";
import { setAll } from "../../src/config/Tree.ts";
import { assertProperty } from "../property.ts";
import { withConfigs } from "./configs.ts";

const longestMessage = 4_000;

const paths = keyInfos(RunConfig).map(({ key }) => key.replace("TAG", "CoordSokoban").split("."));

const oddNumber = fc.constantFrom(
  0,
  -0,
  -1,
  1,
  0.5,
  1e9,
  1e20,
  1e308,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
);
const oddText = fc.oneof(
  fc.constantFrom(
    "",
    "__proto__",
    "constructor",
    "../../x",
    "\u001b[31m",
    "$" + "{actor.lr}",
    "$" + "{run}",
    "~",
    "*a",
    "&a",
    "x".repeat(5_000),
  ),
  fc.string({ unit: "binary" }),
);
const value = fc.oneof(
  oddNumber,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  oddText,
  fc.array(fc.oneof(oddNumber, oddText), { maxLength: 20 }),
  fc.dictionary(oddText, fc.jsonValue({ depthSize: "medium" }), { maxKeys: 5 }),
);
const path = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...paths) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom("actor", "custom_envs", "es_manager", "nowhere"), fc.string({ minLength: 1 })),
  },
  { weight: 1, arbitrary: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 40 }) },
);

/** The end of reading `text` under `overrides`; whatever else is thrown fails the property. */
const ends = (text: string, overrides: readonly string[]): void => {
  const result = withConfigs({ run: text }, (dir) => Effect.runSync(Effect.result(resolve("run", overrides, dir))));
  if (Result.isSuccess(result)) return;
  expect(result.failure._tag).toBe("BadInput");
  expect(result.failure.message.length).toBeLessThanOrEqual(longestMessage);
  expect(result.failure.message.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
};

describe("a changed run file", () => {
  it("with other values and keys", () => {
    const property = fc.property(fc.array(fc.record({ path, value }), { minLength: 1, maxLength: 8 }), (changes) => {
      ends(stringify({ defaults: ["base"], ...setAll({}, changes) }), []);
    });
    assertProperty(property, { numRuns: 200, interruptAfterTimeLimit: 10_000 });
  });

  it("with characters put in, taken out and doubled", () => {
    const original = readFileSync(new URL("../../config/quickstart.yaml", import.meta.url), "utf8");
    const edit = fc.record({
      at: fc.nat(original.length),
      cut: fc.nat(20),
      put: fc.oneof(oddText, fc.constantFrom("[", "{", "- ", ": ", "\n  ", '"', "!!set ", "%YAML 1.1\n---\n")),
    });
    const property = fc.property(fc.array(edit, { minLength: 1, maxLength: 6 }), (edits) => {
      ends(
        edits.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), original),
        [],
      );
    });
    assertProperty(property, { numRuns: 200, interruptAfterTimeLimit: 10_000 });
  });

  it("with any overrides", () => {
    const written = fc.oneof(
      oddText,
      value.map((odd) => JSON.stringify(odd) ?? ""),
      fc.string(),
    );
    const override = fc.tuple(fc.constantFrom("", "+", "++", "~"), path, fc.constantFrom("=", "", "=="), written);
    const property = fc.property(fc.array(override, { minLength: 1, maxLength: 6 }), (overrides) => {
      ends(
        "defaults: [base]",
        overrides.map(([sign, words, between, text]) => `${sign}${words.join(".")}${between}${text}`),
      );
    });
    assertProperty(property, { numRuns: 200, interruptAfterTimeLimit: 10_000 });
  });
});
