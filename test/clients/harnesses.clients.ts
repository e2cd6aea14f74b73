/** Known harnesses, started as commands with the endpoint in their environment, play an episode to its end without a network. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlayedEpisode, type ScriptedEndpoint, startEndpoint } from "./endpoint.ts";
import { expectTrained, toolCall } from "./episode.ts";
import { offline, pythonCommands } from "./program.ts";

let endpoint: ScriptedEndpoint;
let folder = "";
beforeAll(async () => {
  endpoint = await startEndpoint();
  folder = mkdtempSync(join(tmpdir(), "millrace-harness-"));
});
afterAll(async () => {
  await endpoint.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command of Python's packages in the temporary folder, and returns its output. */
const run = async (command: string, { apiKey }: PlayedEpisode, args: readonly string[]): Promise<string> => {
  const env = {
    ...process.env,
    ...offline,
    OPENAI_BASE_URL: `${endpoint.url}/v1`,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: endpoint.url,
    ANTHROPIC_API_KEY: apiKey,
    MSWEA_CONFIGURED: "true",
    MSWEA_COST_TRACKING: "ignore_errors",
    MSWEA_GLOBAL_CONFIG_DIR: folder,
  };
  const running = promisify(execFile)(join(pythonCommands, command), args, { cwd: folder, env });
  running.child.stdin?.end();
  return (await running).stdout;
};

describe("mini-swe-agent", () => {
  it.each(["openai", "anthropic"])("runs commands in a folder and submits, by %s", async (provider) => {
    const episode = await endpoint.open(
      `I write it.\n${toolCall("bash", { command: `echo hello > ${provider}.txt && cat ${provider}.txt` })}`,
      toolCall("bash", { command: `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat ${provider}.txt` }),
    );
    const task = ["--model", `${provider}/policy`, "--task", "Write a greeting.", "--yolo", "--exit-immediately"];
    await run("mini", episode, [...task, "--output", "trajectory.json"]);
    expect(readFileSync(join(folder, `${provider}.txt`), "utf8")).toBe("hello\n");
    const { info } = JSON.parse(readFileSync(join(folder, "trajectory.json"), "utf8"));
    expect([info.exit_status, info.submission]).toEqual(["Submitted", "hello\n"]);
    expectTrained(episode, { calls: 2 });
    const prompts = episode.prompts.map(endpoint.decode);
    expect(prompts[0]).toContain("Please solve this issue: Write a greeting.");
    expect(prompts[1]).toContain('"output": "hello\\n"');
  });
});

describe("smolagents, which writes its replies anew in the messages that it sends back", () => {
  const model = ({ apiKey }: PlayedEpisode) => [
    "--model-type",
    "OpenAIModel",
    "--model-id",
    "policy",
    "--api-base",
    `${endpoint.url}/v1`,
    "--api-key",
    apiKey,
  ];

  it("calls tools up to its final answer", async () => {
    const episode = await endpoint.open(
      toolCall("python_interpreter", { code: "print(6 * 7)" }),
      toolCall("final_answer", { answer: "It is 42." }),
    );
    const action = ["--action-type", "tool_calling", "--tools", "python_interpreter"];
    const output = await run("smolagent", episode, ["What is 6 times 7?", ...model(episode), ...action]);
    expect(output).toContain("It is 42.");
    expectTrained(episode, { calls: 2, sequences: 2 });
    expect(episode.session.tree.roots.map(({ fork }) => fork)).toEqual([null, "edited"]);
    expect(endpoint.calls.map(({ call }) => call.isStreamed)).toEqual([true, true]);
    expect(endpoint.decode(episode.prompts[1] ?? [])).toContain("42");
  });

  it("runs the code of its replies up to its final answer", async () => {
    const episode = await endpoint.open(
      "Thought: I multiply.\n<code>\nproduct = 6 * 7\nprint(product)\n</code>",
      'Thought: I answer.\n<code>\nfinal_answer(f"It is {product}.")\n</code>',
    );
    const action = ["--action-type", "code", "--tools"];
    const output = await run("smolagent", episode, ["What is 6 times 7?", ...model(episode), ...action]);
    expect(output).toContain("It is 42.");
    expect(endpoint.calls[0]?.call.wishes.stop).toContain("</code>");
    expectTrained(episode, { calls: 2, sequences: 2 });
    expect(episode.session.tree.roots.map(({ fork }) => fork)).toEqual([null, "edited"]);
    expect(endpoint.decode(episode.prompts[1] ?? [])).toContain("42");
  });
});
