import { expect, it } from "vitest";
import { agentOverrides } from "../../pipelines/agentOverrides.ts";

/** The values that stand at the end, since a later override takes the place of an earlier one. */
const valuesOf = (agent: string) =>
  Object.fromEntries(
    agentOverrides(agent).map((override) => [
      override.slice(0, override.indexOf("=")),
      override.slice(override.indexOf("=") + 1),
    ]),
  );

const empty = { "agent.path": '""', "agent.url": '""', "agent.command": "[]" };

it.each([
  ["./agent.ts", { "agent.path": '"./agent.ts"' }],
  ["agent.mjs", { "agent.path": '"agent.mjs"' }],
  ["python3 agent.py", { "agent.command": '["python3","agent.py"]' }],
  ["./agent.py", { "agent.command": '["./agent.py"]' }],
  ["http://127.0.0.1:80/rollout", { "agent.url": '"http://127.0.0.1:80/rollout"' }],
])("%s takes the place of the agent that a run file names", (agent, named) => {
  expect(valuesOf(agent)).toMatchObject({ ...empty, ...named, "agent.tag": "Agent" });
});
