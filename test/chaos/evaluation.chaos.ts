/**
 * An evaluation by an endpoint that is killed (SIGKILL) again and again. Every line that was whole is there in the end, and every instance was
 * finished once.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { render } from "../../src/config/render.ts";
import { stream } from "../../src/domain/Random.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { says, standIn } from "../tools/endpoints/standIn.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const kills = 8;
const instances = 60;
const random = stream({ seed, purpose: "noise", counters: [7] });

const wholeLines = (path: string): string => {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.slice(0, text.lastIndexOf("\n") + 1);
};

describe("kills", () => {
  it.live(`${kills} of them lose no finished episode of an evaluation`, () =>
    Effect.gen(function* () {
      const dir = yield* temporaryFolder;
      const answers = ["Down", "Right", "Down", "Left"];
      const server = yield* standIn(({ body }, response) => {
        const turn = body.messages.filter(({ role }) => role === "assistant").length;
        setTimeout(() => says(response, { text: `<think>a</think><answer>${answers[turn % 4]}</answer>` }), 20);
      });
      const config = tinyConfig(dir, {
        evaluation: { endpoint: { kind: "openai", base_url: server.url, model: "walker", max_concurrency: 2 } },
        es_manager: { val: { env_groups: instances, n_groups: [instances] } },
        rollout: { template: "ragen", max_turn: 4 },
      });
      const file = join(dir, "run.yaml");
      yield* Effect.promise(() => writeFile(file, render(config)));
      const parent = join(dir, "runs", "tiny-evaluate");
      const folder = (): string | null => {
        const [name] = existsSync(parent) ? readdirSync(parent) : [];
        return name === undefined ? null : join(parent, name);
      };
      let kept = "";
      for (let kill = 0; ; kill++) {
        const goesOn = folder();
        const words = goesOn === null ? ["evaluate", "--config-name", file] : ["evaluate", "--resume", goesOn];
        const requestsBefore = server.asked.length;
        const most = kill < kills ? 5 + random.int(20) : Number.POSITIVE_INFINITY;
        const { code, signal, stderr } = yield* Effect.scoped(
          Effect.gen(function* () {
            const run = yield* Trial.millrace(words);
            const watch = setInterval(() => {
              if (server.asked.length - requestsBefore >= most) run.child.kill("SIGKILL");
            }, 1);
            return yield* Effect.ensuring(
              Effect.promise(() => run.ended),
              Effect.sync(() => clearInterval(watch)),
            );
          }),
        );
        const text = wholeLines(join(folder() ?? "", "episodes.jsonl"));
        expect(text.startsWith(kept)).toBe(true);
        kept = text;
        if (signal === "SIGKILL") continue;
        expect([code, stderr]).toEqual([0, expect.anything()]);
        expect(kill).toBeGreaterThan(3);
        break;
      }
      const seeds = kept
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).metadata.seed);
      expect(seeds.toSorted((a, b) => a - b)).toEqual(Array.from({ length: instances }, (_, i) => 123 + i));
      const summary = JSON.parse(readFileSync(join(folder() ?? "", "summary.json"), "utf8"));
      expect(summary.evaluation).toMatchObject({ finished: instances, stopped: null });
    }),
  );
});
