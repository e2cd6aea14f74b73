/** Environments of tools: their actions as texts, their checks, their defaults, and the promises that they keep as others do. */
import { describe, expect, it } from "@effect/vitest";
import { Schema } from "effect";
import * as fc from "fast-check";
import till from "../../../../docs/examples/environment/till.ts";
import type { Tool } from "../../../../src/domain/Conversation.ts";
import { stream } from "../../../../src/domain/Random.ts";
import { bind } from "../../../../src/env/contract/BoundEnvironment.ts";
import { defineEnvironment } from "../../../../src/env/contract/defineEnvironment.ts";
import { IllegalAction } from "../../../../src/env/contract/IllegalAction.ts";
import { callCheck, toolsProblem } from "../../../../src/env/contract/tools/checkCall.ts";
import { readAction, toolAnswer, toolCall } from "../../../../src/env/contract/tools/ToolAction.ts";
import { callDrawer } from "../../../../src/env/validate/drawCall.ts";
import { randomAction } from "../../../../src/env/validate/players.ts";
import { assertProperty } from "../../../property.ts";
import { wrapped } from "../../wrappers/wrapped.ts";
import { contract } from "../contract.ts";

const random = stream({ seed: 1, purpose: "instance", counters: [] });
const tool = (name: string, properties: Readonly<Record<string, unknown>>, more = {}): Tool => ({
  name,
  description: name,
  parameters: { type: "object", properties, ...more },
});
const move = tool(
  "move",
  { way: { enum: ["up", "down"] }, steps: { type: "integer", minimum: 1, maximum: 3 }, fast: { type: "boolean" } },
  { required: ["way", "steps"], additionalProperties: false },
);

describe("an action of tools", () => {
  it("is read back as the call that was written", () => {
    assertProperty(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (values) => {
        const written = JSON.parse(JSON.stringify(values));
        const read = readAction(toolCall("move", values), [move]);
        expect(read).toEqual({ _tag: "Call", name: "move", arguments: written });
      }),
    );
  });

  it("is read back as the answer that was given, whatever its text", () => {
    const texts = fc.oneof(fc.string(), fc.constantFrom('"a"', "move({})", "move(1)", "move()", '"', "other({})", ""));
    assertProperty(
      fc.property(texts, (text) => {
        expect(readAction(toolAnswer(text, [move]), [move])).toEqual({ _tag: "Answer", text });
      }),
    );
  });

  it("is an answer where it calls no tool that is offered, and unreadable where its arguments are no object", () => {
    expect(readAction('other({"a":1})', [move])).toEqual({ _tag: "Answer", text: 'other({"a":1})' });
    expect(readAction("move()", [move])).toEqual({ _tag: "Call", name: "move", arguments: {} });
    expect(readAction("move(up, 2)", [move])).toEqual({ _tag: "Unreadable", name: "move" });
  });
});

describe("a check of calls", () => {
  it.each([
    [{ way: "up", steps: 1 }, null],
    [{ way: "left", steps: 1 }, 'way: expected "up" | "down"'],
    [{ way: "up", steps: 4, fast: 1 }, "fast: expected boolean; steps: expected a value less than or equal to 3"],
    [{ way: "up" }, "steps: missing key"],
    [{ way: "up", steps: 1, a: 1 }, "a: expected no excess property"],
    [[], "expected object"],
  ])("of %j says %j", (values, said) => {
    const found = callCheck([move])("move", values);
    expect(found?.split("; ").sort().join("; ") ?? null).toBe(said);
  });

  it("says which tools there are", () => {
    expect(callCheck([move])("jump", {})).toBe('there is no tool "jump"; the tools are move');
  });

  it("takes any object where a schema has keywords that it does not know", () => {
    const odd = tool("odd", { a: { type: "string" } }, { dependentRequired: { a: ["b"] } });
    expect([callCheck([odd])("odd", { a: 1 }), callCheck([odd])("odd", 1)]).toEqual([
      null,
      "the arguments are no JSON object",
    ]);
    expect(toolsProblem([odd])).toMatch(/^the tool odd: its parameters cannot be used: .*"dependentRequired"/);
  });

  it.each([
    [[], "the list of tools is empty"],
    [[move, move], "two tools are called move"],
    [[{ ...move, name: "-2" }], /^tool 1 has the name "-2"/],
    [[{ ...move, parameters: { type: "string" } }], /^the tool move: its parameters are no JSON Schema of an object/],
  ])("refuses tools %#", (tools, said) => {
    expect(toolsProblem(tools)).toMatch(said);
  });
});

/** Counts by a tool; an answer guesses the count, and "more" is no end. */
const counting = defineEnvironment({
  type: "counting",
  reset: () => ({ count: 0 }),
  render: (_config, { count }) => `${count}`,
  tools: [
    {
      name: "count",
      description: "Counts.",
      parameters: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] },
      run: (_config, { count }, { by }) => ({ state: { count: count + by }, text: `now ${count + by}`, reward: by }),
    },
  ],
  answer: (_config, { count }, text) =>
    text === "more" ? { terminated: false, state: { count: count + 1 } } : { reward: text === `${count}` ? 1 : 0 },
});
const config = Schema.decodeUnknownSync(counting.config)({});
const stepsOf = (...actions: readonly string[]) => {
  const transitions = [];
  let state = counting.reset(config, random, "train");
  for (const action of actions) {
    const transition = counting.step(config, state, action, random);
    transitions.push(transition);
    state = transition.state;
  }
  return transitions;
};

describe("a defined environment of tools", () => {
  it("lists its tools without their functions, and no actions", () => {
    const bound = bind(counting, config);
    expect(bound.tools).toEqual([expect.objectContaining({ name: "count", description: "Counts." })]);
    expect(structuredClone(bound.tools)).toEqual(bound.tools);
    expect(bound.actions(bound.reset(random, "train"))).toBeNull();
  });

  it("answers calls by their texts, and an answer that goes on by the state's", () => {
    const [called, going, ended] = stepsOf(toolCall("count", { by: 2 }), "more", "3");
    expect(called).toMatchObject({ result: "now 2", reward: 2, terminated: false, info: { success: false } });
    expect(going).toMatchObject({ result: "3", reward: 0, terminated: false });
    expect(ended).toMatchObject({ reward: 1, terminated: true, info: { success: true } });
    expect(stepsOf("7")[0]).toMatchObject({ reward: 0, terminated: true, info: { success: false } });
  });

  it("changes nothing after its end", () => {
    const [ended, after] = stepsOf("0", toolCall("count", { by: 1 }));
    expect(after).toMatchObject({ state: ended?.state, reward: 0, terminated: true });
  });

  it("throws at calls that do not fit their tool", () => {
    const wrong = () => stepsOf(toolCall("count", { by: "x" }));
    expect(wrong).toThrow(IllegalAction);
    expect(wrong).toThrow('counting: count({"by":"x"}): by: expected number');
    expect(() => stepsOf("count(1)")).toThrow(IllegalAction);
  });

  it("ends without a reward at an answer that nothing judges", () => {
    const silent = defineEnvironment({
      type: "silent",
      reset: () => 0,
      render: () => "go",
      tools: [{ ...move, run: (_config, state: number) => ({ state, text: "done" }) }],
    });
    const start = silent.reset({}, random, "train");
    expect(silent.step({}, start, "anything", random)).toMatchObject({ terminated: true, info: { success: false } });
  });

  it("is refused where its tools cannot be offered", () => {
    const define = (name: string) =>
      defineEnvironment({
        type: "bad",
        reset: () => 0,
        render: () => "go",
        tools: [{ ...move, name, run: (_config, state: number) => ({ state, text: "" }) }],
      });
    expect(() => define("with space")).toThrow('bad: tool 1 has the name "with space"');
  });
});

describe("a random player", () => {
  it("draws calls that fit, and leaves tools of other arguments out", () => {
    const list = tool("list", { items: { type: "array" } }, { required: ["items"] });
    const { draw, undrawn } = callDrawer([move, list]);
    expect(undrawn).toEqual(["list"]);
    const drawn = Array.from({ length: 50 }, () => readAction(draw(["a"], random) ?? "", [move, list]));
    const check = callCheck([move]);
    expect(drawn.every((action) => action._tag === "Call" && check(action.name, action.arguments) === null)).toBe(true);
    expect(new Set(drawn.map((action) => JSON.stringify(action))).size).toBeGreaterThan(6);
  });

  it("plays alike from the same stream", () => {
    const environment = bind(till, Schema.decodeUnknownSync(till.config)({}));
    const state = environment.reset(random, "train");
    const actionsOf = (seed: number) => {
      const choices = stream({ seed, purpose: "play", counters: [] });
      const act = randomAction(environment);
      return Array.from({ length: 20 }, () => act(state, choices));
    };
    expect(actionsOf(3)).toEqual(actionsOf(3));
    expect(actionsOf(3)).not.toEqual(actionsOf(4));
  });
});

describe("a wrapped environment of tools", () => {
  const environment = bind(till, Schema.decodeUnknownSync(till.config)({}));
  const start = () => stream({ seed: 1, purpose: "instance", counters: [] });

  it("keeps its tools and their results, which a rewrite rewrites", () => {
    const rewritten = wrapped(environment, {
      type: "observation_rewrite",
      replacements: [{ pattern: "\\d+", replacement: "N" }],
    });
    const state = rewritten.reset(start(), "train");
    expect(rewritten.tools).toEqual(environment.tools);
    expect(rewritten.step(state, 'price({"thing":"egg"})', random).result).toBe("N");
  });

  it("offers the tools that a filter lets through, and takes no other", () => {
    const filtered = wrapped(environment, { type: "action_filter", deny: ["Price"] });
    expect(filtered.tools?.map(({ name }) => name)).toEqual(["add"]);
    const state = filtered.reset(start(), "train");
    expect(filtered.step(state, 'price({"thing":"egg"})', random)).toMatchObject({
      result: "there is no tool price",
      info: { action_is_valid: false },
    });
    expect(filtered.step(state, 'add({"a":1,"b":2})', random).result).toBe("3");
    expect(filtered.step(state, "3", random).terminated).toBe(true);
  });
});

contract("the till of the examples", {
  environment: bind(till, Schema.decodeUnknownSync(till.config)({ things: 3 })),
  actions: 20,
});
