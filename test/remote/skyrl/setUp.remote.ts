/** The set-up of docs/remote.md, executed as it is written: its server, its run file, its command; five updates, then two more after a resume. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { packageRoot } from "../../../src/support/files/packageRoot.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { block, served, skyrlEnvironment, stepsOf } from "../document.ts";
import { freePort } from "../processes.ts";
import { writeTinyQwen3 } from "../tinyQwen3.ts";

const millrace = (folder: string, words: readonly string[]) =>
  promisify(execFile)(process.execPath, [join(packageRoot, "pipelines", "millrace.mjs"), ...words], { cwd: folder });

it.live(
  "docs/remote.md sets a Tinker server up",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const model = join(folder, "models", "tiny");
      yield* writeTinyQwen3(model);
      const port = yield* Effect.promise(freePort);
      yield* served({
        script: block("sh name=server"),
        folder,
        env: skyrlEnvironment(model, port),
        health: `http://127.0.0.1:${port}/api/v1/healthz`,
      });
      writeFileSync(join(folder, "tinker.yaml"), block("yaml name=run"));
      const [, ...words] = block("sh name=train").trim().split(" ");
      const smaller = [
        `model.path=${model}`,
        `model.learner.url=http://127.0.0.1:${port}`,
        "trainer.total_training_steps=5",
        "trainer.test_freq=0",
        "trainer.val_before_train=false",
        "trainer.val_at_end=false",
        "es_manager.train.env_groups=2",
        "es_manager.train.group_size=4",
        "es_manager.train.n_groups=[2]",
        "rollout.template=compact",
        "rollout.response_length=12",
        "filter.include_zero=true",
        "actor.lr=1e-2",
        "actor.ppo_mini_batch_size=8",
        "rollout.max_model_len=512",
        "metrics.console=off",
      ];
      yield* Effect.promise(() => millrace(folder, [...words, ...smaller]));
      const [name = ""] = readdirSync(join(folder, "runs", "tinker"));
      const run = join(folder, "runs", "tinker", name);
      expect(stepsOf(run).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
      const saved = join(run, "checkpoints", "step-5");
      expect(JSON.parse(readFileSync(join(saved, "tinker.json"), "utf8"))).toMatchObject({
        version: 5,
        windows: 5,
        rank: 8,
      });
      expect(existsSync(join(saved, "model.safetensors"))).toBe(false);
      yield* Effect.promise(() => millrace(folder, ["train", "--resume", run, "trainer.total_training_steps=7"]));
      const steps = stepsOf(run);
      expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      for (const record of steps) {
        const {
          "ledger/admitted": admitted = 0,
          "ledger/trained": trained = 0,
          "ledger/filtered": filtered = 0,
        } = record;
        const others = ["failed", "dropped", "in_flight"].map((part) => record[`ledger/${part}`] ?? 0);
        expect(admitted).toBe(trained + filtered + others.reduce((a, b) => a + b, 0));
      }
      // Only the weights in that folder can play, and they are on the server.
      const complaint = yield* Effect.promise(() =>
        millrace(folder, [
          "evaluate",
          "--config-name",
          "quickstart",
          `model.path=${join(run, "checkpoints", "step-7")}`,
        ]).then(
          () => "",
          (error: { readonly stderr: string }) => error.stderr,
        ),
      );
      expect(complaint).toMatch(/tinker\.json.*its weights are on the training server/);
    }).pipe(Effect.scoped),
  600_000,
);
