/** Stop texts, as the endpoint cuts a reply's text and as a generator ends its ids: both must agree, or what a client reads is not what was sampled. */
import { join } from "node:path";
import { Effect } from "effect";
import { expect, it } from "vitest";
import type { AgentModel } from "../../../src/agents/session/AgentModel.ts";
import { agentModel } from "../../../src/agents/session/agentModelOf.ts";
import * as Model from "../../../src/model/Model.ts";
import * as StopMatcher from "../../../src/model/tokenizer/StopMatcher.ts";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { sampledOf } from "../../build/episodes.ts";
import { loadTokenizer } from "../../model/tokenizer/conversation/fixtures.ts";

const prefix = "<answer>";

const withModel = <A>(use: (model: AgentModel, loaded: Model.Model) => A): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const loaded = yield* Model.load(join(packageRoot, "config/models/nano"));
        return use(yield* agentModel(loaded, prefix), loaded);
      }),
    ),
  );

it.each([
  ["is cut in front of a stop text", "Up||Left", ["||"], "Up", "||"],
  ["is cut at the first of several", "Up||Left", ["Left", "p", "||"], "U", "p"],
  ["is whole where the stop text stands in its prefix alone", "Up", ["answer"], "Up", null],
  ["is whole where the stop text begins in its prefix", "Up", [">U"], "Up", null],
  ["is empty where it begins with the stop text", "Up", ["Up"], "", "Up"],
])("a reply %s", (_, text, stops, read, stop) =>
  withModel((model, { tokenizer }) => {
    const ids = tokenizer.encode(text);
    expect(tokenizer.decode(ids)).toBe(text);
    expect(model.read(sampledOf([...ids]), [], stops)).toMatchObject({ text: read, stop });
    const matcher = StopMatcher.make(stops, tokenizer.bytesOf);
    let state = matcher.start;
    const matches = [...ids].map((id) => {
      const match = matcher.advance(state, id);
      state = match.state;
      return match.matched;
    });
    expect(matches.includes(true)).toBe(stop !== null);
  }),
);

it.each([
  ["smollm2", false],
  ["r1-distill", false],
  ["qwen2.5", true],
  ["qwen3", true],
  ["llama3", true],
])("a model of the family %s has tools: %s", (family, hasTools) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const tokenizer = yield* loadTokenizer(family);
        const loaded = yield* Model.load(join(packageRoot, "config/models/nano"));
        expect((yield* agentModel(loaded, prefix)).toolsProblem).toBeUndefined();
        const { toolsProblem } = yield* agentModel({ ...loaded, tokenizer }, "");
        expect(toolsProblem === undefined).toBe(hasTools);
        if (!hasTools) expect(toolsProblem).toContain(`set model.path (${tokenizer.path}) to a model that has tools`);
      }),
    ),
  ),
);
