import { Result } from "effect";
import { expect, it } from "vitest";
import { agentOverrides } from "../../pipelines/agentOverrides.ts";
import { agentForms } from "../../src/config/agentForms.ts";
import { resolving } from "../config/configs.ts";

const run =
  "defaults: [base]\nagent: { command: [python3, old.py], tasks: old.jsonl, tag: Old }\nes_manager: { train: { tags: [Old] } }";

it.each([
  ["./agent.ts", "path", expect.stringMatching(/agent\.ts$/)],
  ["http://localhost:3000/rollout", "url", "http://localhost:3000/rollout"],
  ["python3 agent.py", "command", ["python3", "agent.py"]],
  ["./agent.py", "command", ["./agent.py"]],
] as const)("%s takes the place of the run file's agent", (named, form, value) => {
  const { config } = Result.getOrThrow(resolving({ run }, "run", agentOverrides(named)));
  expect(agentForms(config.agent)).toEqual([form]);
  expect(config.agent[form]).toEqual(value);
  expect(config.agent.tasks === "").toBe(form !== "command");
  expect([config.es_manager.train.tags, config.es_manager.val.tags]).toEqual([["Agent"], ["Agent"]]);
});
