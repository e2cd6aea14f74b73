/** Runs of an environment of tools: trained, validated, evaluated and shown as other environments are; refused where tools mean nothing. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Console, Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evaluate } from "../../pipelines/evaluate.ts";
import { type CustomModelContext, type CustomPolicy, start } from "../../pipelines/main.ts";
import { prompt } from "../../pipelines/prompt.ts";
import { serveEnv } from "../../pipelines/serveEnv.ts";
import { sft } from "../../pipelines/sft.ts";
import { validateEnv } from "../../pipelines/validateEnv.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { processCount } from "../../src/env/mcp/McpSession.ts";
import { openCount } from "../../src/env/mcp/Sessions.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { train } from "./tiny.ts";

/** Milliseconds on a machine that others use too. */
const patience = 240_000;

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "millrace-tools-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const env_type = join(packageRoot, "docs/examples/environment/till.ts");
const instruction = "What do these things cost together?";
const groups = { env_groups: 2, tags: ["Till"], n_groups: [2] };
const tillRun: Tree = {
  model: { path: join(packageRoot, "config/models/nano"), generator_threads: 1 },
  trainer: { total_training_steps: 2 },
  rollout: { template: "compact", enable_think: false, response_length: 40, max_model_len: 640, max_turn: 4 },
  es_manager: { train: groups, val: { ...groups, seed: 900_000 } },
  custom_envs: { Till: { env_type, env_instruction: instruction, max_actions_per_traj: 8 } },
};
const tillConfig = (changes: Tree = {}) => tinyConfig(dir, merge(tillRun, changes));

/** Trains, and returns the run's folder. */
const trained = async (name: string, changes: Tree = {}): Promise<string> => {
  const config = tillConfig(changes);
  await Effect.runPromise(train({ config: { ...config, run: { ...config.run, name } }, resume: null }));
  const runs = join(dir, "runs", name);
  return join(runs, readdirSync(runs).at(-1) ?? "");
};
const linesIn = (folder: string, file: string): readonly Tree[] =>
  readFileSync(join(folder, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>, lines: string[] = []) =>
  Effect.provideService(effect, Console.Console, {
    ...globalThis.console,
    log: (line: string) => void lines.push(line),
    error: (line: string) => void lines.push(line),
  });

describe("a training over tools", () => {
  it("has the same ids from the same seed, its steps inline and in threads alike", { timeout: patience }, async () => {
    const sync: Tree = { pipeline: { mode: "sync" } };
    const [threads, inline] = [
      await trained("threads", sync),
      await trained("inline", merge(sync, { pipeline: { step_inline: true } })),
    ];
    const records = linesIn(threads, "trajectories.jsonl");
    expect(linesIn(inline, "trajectories.jsonl")).toEqual(records);
    const [first] = records;
    expect(first?.messages).toEqual(
      expect.arrayContaining([{ role: "user", content: expect.stringMatching(/^[a-z]+ [a-z]+$/) }]),
    );
    const metrics = linesIn(threads, "metrics.jsonl").at(-1);
    const names = JSON.stringify(metrics);
    for (const name of ["unread_calls", "refused_calls"]) expect(names).toContain(`train/Till/traj_sum/${name}`);
  });

  it("is evaluated, its chat written out as it was shown", { timeout: patience }, async () => {
    const lines: string[] = [];
    await Effect.runPromise(
      Effect.provide(quietly(evaluate({ config: tillConfig(), resume: null }), lines), Stop.layerWithoutSignals),
    );
    const folder = join(dir, "runs", "tiny-evaluate");
    const [episode] = linesIn(join(folder, readdirSync(folder).at(-1) ?? ""), "episodes.jsonl");
    const messages = (episode?.messages ?? []) as readonly Tree[];
    expect(messages.slice(0, 2)).toEqual([
      { role: "system", content: `till\n${instruction}` },
      { role: "user", content: expect.stringMatching(/^[a-z]+ [a-z]+$/) },
    ]);
  });
});

describe("cloning over tools", () => {
  it("shows the adviser's calls in the ids that a rollout has, and takes its steps", {
    timeout: patience,
  }, async () => {
    const lines: string[] = [];
    const config = tillConfig({
      sft: {
        sources: [{ tag: "Till", episodes: 12 }],
        steps: 1,
        init: join(packageRoot, "config/models/nano"),
        batch_size: 4,
      },
    });
    await Effect.runPromise(Effect.provide(quietly(sft({ config }), lines), Stop.layerWithoutSignals));
    expect(lines.join("\n")).toMatch(/; \d+ demonstrations of Till/);
    expect(lines.join("\n")).not.toContain("failed");
  });
});

describe("a training over an MCP server", () => {
  const notes = join(packageRoot, "test/env/mcp/fixtures/notes.ts");
  const notesRun = (env_config: Tree = {}): Tree => ({
    es_manager: {
      train: { ...groups, tags: ["Notes"] },
      val: { env_groups: 8, n_groups: [8], tags: ["Notes"], seed: 900_000 },
    },
    custom_envs: { Notes: { env_type: notes, env_instruction: "use notes", env_config } },
  });

  /** Reads the note, copies it, and says what it says; half of the episodes answer at once. */
  const copier = (): CustomPolicy => {
    let context: CustomModelContext | undefined;
    const textOf = (prompt: ArrayLike<number>): string => context?.decode(Array.from(prompt)) ?? "";
    const replyTo = (prompt: string, isHasty: boolean): string => {
      const [, word = "", other = ""] = /copy (\w+) to (\w+)/.exec(prompt) ?? [];
      const results = prompt.split("<|user|>").slice(2);
      const [secret = ""] = results[0]?.split("<|assistant|>") ?? [];
      if (results.length === 0) return isHasty ? "no" : `read(${word})`;
      return results.length === 1 ? `write(${JSON.stringify(other)}, ${JSON.stringify(secret)})` : secret;
    };
    return {
      start: (given) => {
        context = given;
      },
      // The weights decide nothing.
      adopt: () => undefined,
      generate: ({ prompt, random }) => {
        const text = replyTo(textOf(prompt), random() < 0.4);
        const ids = [...(context?.encode(`${text}</answer>`) ?? []), context?.stopIds[0] ?? 0];
        return { ids, logProbs: ids.map(() => -1) };
      },
    };
  };

  it("plays episodes in sessions of their own, and leaves none behind", { timeout: patience }, async () => {
    const config = tillConfig(notesRun());
    const named = { ...config, run: { ...config.run, name: "notes" } };
    const run = await start(named, { signals: false, policy: copier() });
    await run.ended;
    const records = linesIn(run.folder, "trajectories.jsonl");
    const episodes = records.map(({ outcome, reward, turns }) => ({
      outcome,
      reward,
      actions: (turns as readonly Tree[]).flatMap(({ actions }) => actions as readonly string[]),
    }));
    const copied = episodes.filter(({ reward }) => reward === 1);
    expect(copied.length).toBeGreaterThan(0);
    for (const { actions, outcome } of copied) {
      expect(outcome).toEqual({ _tag: "Done", success: true });
      expect(actions.map((action) => action.replace(/\W.*/, ""))).toEqual(["read", "write", actions[2]]);
    }
    const hasty = episodes.filter(({ reward }) => reward !== 1);
    expect(hasty.map(({ actions }) => actions)).toEqual(hasty.map(() => ["no"]));
    expect([openCount(), processCount()]).toEqual([0, 0]);
  });

  it("shows the prompts of the example over its server", { timeout: patience }, async () => {
    const Stock = { env_type: join(packageRoot, "docs/examples/mcp/stock.ts"), env_instruction: "How many are there?" };
    const config = tillConfig({ custom_envs: { Stock } });
    const actions = ['stock({"thing":"hats"})', "no"];
    const lines = await Effect.runPromise(prompt({ config, tag: "Stock", seed: 1, actions, json: true }));
    const [first, second, end] = lines.map((line) => JSON.parse(line));
    expect(first.text).toMatch(
      /^<\|system\|>stock\nHow many are there\?\nstock\(thing\): how many of a thing are in stock<\|user\|>/,
    );
    expect(second.text).toMatch(/^<\|user\|>\d<\|assistant\|><answer>$/);
    expect(end).toMatchObject({ outcome: { _tag: "Done", success: false } });
    expect([openCount(), processCount()]).toEqual([0, 0]);
  });

  it("does not begin where the server does not come up", { timeout: patience }, async () => {
    const run = quietly(train({ config: tillConfig(notesRun({ mode: "--broken" })), resume: null }));
    expect(await Effect.runPromise(Effect.flip(run))).toMatchObject({
      _tag: "BadInput",
      message: expect.stringMatching(/^custom_envs\.Notes: .*notesServer\.ts --broken: .*no licence/s),
    });
  });
});

describe("the commands for an environment of tools", () => {
  it("validate it", async () => {
    const { isKept, lines } = await Effect.runPromise(
      validateEnv({ config: tillConfig(), tag: "Till", json: false, width: 100 }),
    );
    expect(isKept).toBe(true);
    expect(lines.join("\n")).toContain("Till: 16 passed, 0 failed, 3 do not apply");
  });

  it("name the tools that random play leaves out", async () => {
    const path = join(dir, "lists.ts");
    writeFileSync(
      path,
      `import { defineEnvironment } from "millrace/env";
      const parameters = { type: "object", properties: { items: { type: "array" } }, required: ["items"] };
      export default defineEnvironment({
        type: "lists",
        reset: (_config, random) => ({ wanted: random.int(1000) }),
        render: (_config, { wanted }) => \`say \${wanted} twice\`,
        tools: [{ name: "sum", description: "sums", parameters, run: (_config, state) => ({ state, text: "0" }) }],
        answer: (_config, { wanted }, text) => ({ reward: text === \`\${wanted} \${wanted}\` ? 1 : 0 }),
      });`,
    );
    const config = tillConfig({ custom_envs: { Lists: { env_type: path, env_instruction: "go" } } });
    const { lines } = await Effect.runPromise(validateEnv({ config, tag: "Lists", json: true, width: 100 }));
    expect(lines.join("")).toContain("random play of Lists calls no sum");
  });

  it("show its prompts after given replies and after the adviser's", async () => {
    const shown = (actions: readonly string[]) =>
      Effect.runPromise(prompt({ config: tillConfig(), tag: "Till", seed: 1, actions, json: true }));
    const promptsOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));
    const advised = promptsOf(await shown([]));
    expect(advised.map(({ text }) => text)).toEqual([
      `<|system|>till\n${instruction}\nprice(thing): the price of a thing\nadd(a, b): the sum of two numbers<|user|>dates bread<|assistant|><answer>`,
      "<|user|>4<|assistant|><answer>",
      "<|user|>8<|assistant|><answer>",
      "<|user|>12<|assistant|><answer>",
      undefined,
    ]);
    expect(advised.at(-1)).toMatchObject({ kind: "end", why: "success" });
    const given = promptsOf(await shown(['price({"thing":"milk"})', "3"]));
    expect(given.map(({ reply }) => reply?.text)).toEqual([
      "price(milk)</answer><|im_end|>",
      "3</answer><|im_end|>",
      undefined,
    ]);
    expect(given[1]?.text).toBe("<|user|>no milk here<|assistant|><answer>");
  });
});

/** A model's folder without weights, whose chat template shows no tools. */
const toolless = (): string => {
  const folder = mkdtempSync(join(dir, "model-"));
  const root = join(packageRoot, "test/fixtures");
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
    copyFileSync(join(root, "chat-templates/smollm2", file), join(folder, file));
  }
  const config = JSON.parse(readFileSync(join(root, "qwen2-tiny/config.json"), "utf8"));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, vocab_size: 200_000 }));
  return folder;
};

describe("an environment of tools is refused", () => {
  const promptUnder = (changes: Tree) =>
    Effect.runPromise(
      Effect.flip(prompt({ config: tillConfig(changes), tag: "Till", seed: 1, actions: [], json: true })),
    );

  it.each<[string, Tree, RegExp]>([
    [
      "a short context",
      { rollout: { context: "single_turn" } },
      /^rollout\.context: single_turn: Till offers tools, .*; nearest: full$/,
    ],
    [
      "dropped turns",
      { rollout: { overflow: "drop" } },
      /^rollout\.overflow: drop: Till offers tools, .*; nearest: end$/,
    ],
    ["a separator of actions", { rollout: { action_sep: ";" } }, /^rollout\.action_sep: ";": .*; nearest: "\|\|"$/],
    [
      "a penalty of coordinates",
      { es_manager: { think_coord_fmt_penalty: 0.1 }, rollout: { enable_think: true } },
      /^es_manager\.think_coord_fmt_penalty: 0\.1: Till offers tools/,
    ],
  ])("with %s", async (_, changes, message) => {
    expect(await promptUnder(changes)).toMatchObject({ _tag: "BadInput", message: expect.stringMatching(message) });
  });

  it("by a model whose chat template shows no tools", async () => {
    expect(await promptUnder({ model: { path: toolless() } })).toMatchObject({
      _tag: "BadInput",
      message: expect.stringMatching(
        /^custom_envs\.Till: it offers tools to the model of model\.path: tools cannot be offered/,
      ),
    });
  });

  it("by a server of environments and by a chat endpoint", async () => {
    const refusal = (effect: Effect.Effect<unknown, unknown, Stop.Stop>) =>
      Effect.runPromise(Effect.provide(quietly(Effect.flip(effect)), Stop.layerWithoutSignals));
    const limits = {
      maxConnections: 4,
      maxMessageBytes: 1000,
      maxBufferedBytes: 1000,
      maxSessions: 1,
      requestMs: 1_000,
      idleMs: 1_000,
      maxSteps: 9,
    };
    const served = serveEnv({
      ...limits,
      config: tillConfig(),
      tag: "Till",
      host: "127.0.0.1",
      port: 0,
      allowedHosts: [],
      allowedOrigins: [],
      tokenFile: null,
    });
    expect(await refusal(served)).toMatchObject({ message: expect.stringMatching(/^Till offers tools/) });
    const endpoint = { kind: "openai", base_url: "http://127.0.0.1:9", model: "none" };
    const evaluated = evaluate({ config: tillConfig({ evaluation: { endpoint } }), resume: null });
    expect(await refusal(evaluated)).toMatchObject({
      message: expect.stringMatching(/^evaluation\.endpoint: Till offers tools/),
    });
  });
});
