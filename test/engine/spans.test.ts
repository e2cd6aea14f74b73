import { describe, it } from "@effect/vitest";
import { Effect, Option, Tracer } from "effect";
import { expect } from "vitest";
import { configOf, observed } from "./fakes.ts";

/** A tracer that keeps the names of every span and of the one around it. */
const recording = () => {
  const edges = new Set<string>();
  const tracer = Tracer.make({
    span: (options) => {
      const parent = Option.getOrNull(options.parent);
      edges.add(`${parent?._tag === "Span" ? parent.name : "-"} > ${options.name}`);
      return new Tracer.NativeSpan(options);
    },
  });
  return { edges, tracer };
};

describe("the spans of a run", () => {
  it.live("are a tree of groups, turns, replies and steps, and of updates", () =>
    Effect.gen(function* () {
      const { edges, tracer } = recording();
      yield* Effect.withTracer(observed({ config: configOf() }), tracer);
      expect([...edges].sort()).toEqual([
        "- > train",
        "group > turn",
        "train > group",
        "train > update",
        "turn > generate",
        "turn > step",
      ]);
    }),
  );
});
