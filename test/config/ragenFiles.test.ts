/** RAGEN's own files, and the command lines of its run scripts: what applies is applied, the rest is set aside or refused by name. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { checkPresets } from "../../pipelines/presets.ts";
import { type Layer, layersOf } from "../../src/config/compose.ts";
import { type Resolution, remarks, resolveLayers } from "../../src/config/resolve.ts";

interface Run {
  readonly configs: readonly string[];
  /** The values of each key, as they are written on the command line. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
}

const fixture = <A>(name: string): A =>
  JSON.parse(readFileSync(new URL(`../fixtures/ragen/${name}.json`, import.meta.url), "utf8"));

const files = fixture<Readonly<Record<string, object>>>("files");
const runs = fixture<Readonly<Record<string, Run>>>("runs");

/** RAGEN's `config/`, written from its keys and values. */
const ragens = mkdtempSync(join(tmpdir(), "millrace-ragen-"));
for (const [name, tree] of Object.entries(files)) {
  if (name !== "ppo_trainer") writeFileSync(join(ragens, `${name}.yaml`), stringify(tree));
}
writeFileSync(join(ragens, "verl.yaml"), stringify({ defaults: ["base"], ...files.ppo_trainer }));
afterAll(() => rmSync(ragens, { recursive: true }));

const ours = new URL("../../config", import.meta.url).pathname;

const read = (file: string, dir: string): readonly Layer[] => Effect.runSync(layersOf(file, dir));
const resolving = (layers: readonly Layer[], overrides: readonly string[] = []) =>
  Effect.runSync(Effect.result(resolveLayers(layers, overrides)));

/** The keys that a run is refused for; none where it is accepted. */
const refusals = (result: ReturnType<typeof resolving>): readonly string[] =>
  Result.isSuccess(result) ? [] : result.failure.message.split("\n").map((line) => line.split(": ", 1).join(""));

const named = (name: string) => resolving(read(join(ragens, `${name}.yaml`), ragens));
const accepted = (name: string): Resolution => Result.getOrThrow(named(name));

describe("RAGEN's file", () => {
  const names = Object.keys(files).filter((name) => name !== "ppo_trainer");

  it.each(names)("%s loads unchanged", (name) => {
    expect(refusals(named(name))).toEqual([]);
  });

  it("base has RAGEN's values", () => {
    const { config } = accepted("base");
    expect(config).toMatchObject({
      run: { name: "test" },
      model: { path: "Qwen/Qwen2.5-3B-Instruct" },
      trainer: {
        total_training_steps: 200,
        test_freq: 10,
        save_freq: 100,
        validation_episodes: 20,
        empty_stop_steps: 5,
      },
      actor: { lr: 1e-6, ppo_mini_batch_size: 32, use_kl_loss: false, kl_loss_type: "k1", entropy_coeff: 0.001 },
      critic: { lr: 1e-5, cliprange_value: 0.5 },
      rollout: { template: "ragen", max_turn: 5, max_model_len: 3600, response_length: 400 },
      generation: { temperature: 1, prefill_tokens: 8192 },
      filter: { strategy: "top_p", value: 1, top_p_mode: "linear", include_zero: true },
      metrics: { sinks: ["console", "wandb", "jsonl"], wandb: { project: "ragen" } },
      es_manager: {
        train: { env_groups: 8, group_size: 16, seed: 10_000 },
        val: { env_groups: 512, temperature: 0.5 },
      },
    });
  });

  it("of a task changes what it names", () => {
    const { config } = accepted("_9_2048");
    expect(config.run.name).toBe("2048");
    expect(config.rollout).toMatchObject({ max_turn: 800, max_actions_per_turn: 1, max_model_len: 8192 });
    expect(config.es_manager.train).toMatchObject({ tags: ["game_2048"], n_groups: [8] });
    expect(accepted("_1_bandit").config.es_manager.val).toMatchObject({ n_groups: [256, 256] });
  });

  it("of an evaluation takes the weights of the checkpoint it resumes", () => {
    const { config, notes, isValidationOnly } = accepted("eval_webshop");
    expect(notes.join("\n")).toMatch(/global_step_200": its policy is taken/);
    expect([isValidationOnly, config.model.path]).toEqual([true, expect.stringMatching(/global_step_200$/)]);
    expect(config.trainer).toMatchObject({ save_freq: 0, test_freq: 0, val_before_train: false });
  });

  it("of presets binds every environment, the one with images too", async () => {
    const { config } = accepted("envs");
    await Effect.runPromise(checkPresets(config, Object.keys(config.custom_envs)));
    expect(Object.keys(config.custom_envs)).toHaveLength(23);
  });

  it("of verl's defaults names nothing that is unknown", () => {
    // verl's mini-batches are larger than RAGEN's windows.
    const layers = read(join(ragens, "verl.yaml"), ragens);
    const { config } = Result.getOrThrow(resolving(layers, ["es_manager.train.env_groups=16"]));
    expect(config).toMatchObject({
      trainer: { test_freq: 0, val_at_end: false, save_freq: 0 },
      actor: { ppo_mini_batch_size: 256, kl_loss_type: "k3", lr_decay: "constant", lr_warmup_steps: 0 },
      es_manager: { val: { temperature: 0 } },
    });
  });

  it("sets the same aside, in one message with the reasons", () => {
    const text = remarks(accepted("_7_lean"));
    expect(text?.split("\n", 1)[0]).toMatch(/^\d+ keys are set aside, as nothing here depends on them:$/);
    expect(text).toContain("trainer.n_gpus_per_node");
    expect(text).toContain("actor_rollout_ref.rollout.{name, load_format, enforce_eager, free_cache_engine}");
    expect(text?.match(/custom_envs/g)).toHaveLength(1);
  });
});

const pairs = ({ keys }: Run): readonly string[] =>
  Object.entries(keys).flatMap(([key, values]) => values.map((value) => `${key}=${value}`));

/** Command lines that together have every value of a script's keys. */
const lines = ({ keys }: Run): readonly (readonly string[])[] => {
  const most = Math.max(...Object.values(keys).map(({ length }) => length));
  return Array.from({ length: most }, (_, index) =>
    Object.entries(keys).map(([key, values]) => `${key}=${values[index % values.length]}`),
  );
};

describe.each(Object.entries(runs))("the command lines of %s", (_, run) => {
  const folders = [
    { whose: "RAGEN's", dir: ragens, prefix: "" },
    { whose: "this package's", dir: ours, prefix: "ragen/" },
  ];

  it.each(folders)("are taken unchanged over $whose files, all values of theirs", ({ dir, prefix }) => {
    const layers = run.configs.map((config) => read(join(dir, `${prefix}${config}.yaml`), dir));
    for (const [index, overrides] of lines(run).entries()) {
      const result = resolving(layers[index % layers.length]!, overrides);
      expect(refusals(result)).toEqual([]);
    }
  });
});

describe("a command line of run_kl_sweep", () => {
  const run = runs.run_kl_sweep!;
  const [overrides = []] = lines(run).slice(1);
  const resolved = Result.getOrThrow(resolving(read(join(ours, "ragen/_2_sokoban.yaml"), ours), overrides));

  it("is applied", () => {
    expect(resolved.config).toMatchObject({
      model: { path: "Qwen/Qwen2.5-3B" },
      trainer: { total_training_steps: 400, save_freq: 0, val_before_train: true },
      actor: { use_kl_loss: true, kl_loss_coef: 0.001, entropy_coeff: 0, ppo_mini_batch_size: 32 },
      filter: { strategy: "top_p", top_p_mode: "softmax", value: 1, include_zero: true },
      metrics: { sinks: ["console", "wandb", "jsonl"] },
      es_manager: { train: { env_groups: 8, group_size: 16, n_groups: [8] }, val: { env_groups: 512 } },
    });
  });

  it("names what is set aside, and says of -1 what is saved", () => {
    const text = remarks(resolved) ?? "";
    expect(text).toContain("trainer.save_freq: -1: only the last weights are saved");
    expect(text).toContain("ray_kwargs.ray_init.num_cpus");
    expect(text).toContain("system.CUDA_VISIBLE_DEVICES");
    expect(text).toContain("actor_rollout_ref.actor.{entropy_from_logits_with_chunking}".replace(/[{}]/g, ""));
  });
});

describe("any choice of RAGEN's overrides", () => {
  const all = [...new Set(Object.values(runs).flatMap(pairs))];
  const layers = read(join(ours, "ragen/_2_sokoban.yaml"), ours);

  it("composes, or is refused in lines that each name a key", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(all), (overrides) => {
        const result = resolving(layers, overrides);
        if (Result.isSuccess(result)) return;
        expect(result.failure.message.length).toBeLessThan(5_000);
        for (const line of result.failure.message.split("\n")) expect(line).toMatch(/^([\w.]+: |… and \d+ more)/);
      }),
      { numRuns: 60 },
    );
  });
});
