/** Whole runs that cannot learn, by the shipped model of 0.9 M parameters: each says so on its console, with what it points to. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import * as PlainConsole from "../../src/observe/sinks/PlainConsole.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { recorder } from "../observe/sinks/fixtures.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train } from "./tiny.ts";

const env_type = new URL("../fixtures/alarms/Door.ts", import.meta.url).pathname;
const nano = new URL("../../config/models/nano", import.meta.url).pathname;

const door = (fault: string): Tree => {
  const groups = { env_groups: 2, group_size: 4, tags: ["Door"], n_groups: [2] };
  return {
    // At tiny's own rate and lengths the model forgets its format within three steps, or does not come to its end.
    actor: { lr: 1e-6, entropy_coeff: 0 },
    rollout: { response_length: 40, max_model_len: 640 },
    es_manager: { format_penalty: 0, train: groups, val: groups },
    custom_envs: { Door: { env_type, env_config: { fault } } },
  };
};

/** Trains `steps` steps and gives what the console printed, and the events. */
const printedAlarms = Effect.fnUntraced(function* (steps: number, changes: Tree) {
  const dir = yield* temporaryFolder;
  const { terminal, written } = recorder();
  const config = tinyConfig(dir, merge(changes, { model: { path: nano }, trainer: { total_training_steps: steps } }));
  yield* train({ config, resume: null, parts: { sinks: [PlainConsole.make(terminal)] } });
  const parent = join(dir, "runs", "tiny");
  const [name] = yield* Effect.promise(() => readdir(parent));
  const folder = join(parent, name!);
  const lines = yield* Effect.promise(() => readFile(join(folder, "events.jsonl"), "utf8"));
  const events: readonly { readonly _tag: string }[] = lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { config, folder, events, written: written.join("") };
});

const raised = (events: readonly { readonly _tag: string }[]) => events.filter(({ _tag }) => _tag === "AlarmRaised");

/** Number of times that `part` occurs in a text. */
const count = (text: string, part: string): number => text.split(part).length - 1;

const patience = 240_000;

describe("a run that cannot learn", () => {
  it.live(
    "says where no action is legal, with a reply and the actions that are, and says it again at its end",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { events, written } = yield* printedAlarms(4, door("illegal"));
          const [alarm] = raised(events).filter((event) => "alarm" in event && event.alarm === "format");
          expect(alarm).toMatchObject({
            step: 3,
            sign: "illegal",
            example: { tag: "Door", legal: ["Knock", "Ring"], reply: expect.stringMatching(/\S/) },
          });
          expect(raised(events).filter((event) => "alarm" in event && event.alarm === "format")).toHaveLength(1);
          expect(count(written, "warning: no action is legal (step 3)")).toBe(2);
          expect(written).toContain("Legal actions there: Knock, Ring.");
          expect(written.slice(written.lastIndexOf("step 4/4"))).toContain("warning: no action is legal (step 3)");
          expect(written.trimEnd().split("\n").at(-1)).toBe("completed");
        }),
      ),
    patience,
  );

  it.live(
    "says where rewards are the same in every group, and a run that goes on does not say it again until its end",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { config, events, folder, written } = yield* printedAlarms(5, door("constant"));
          expect(raised(events)).toMatchObject([{ alarm: "variance", sign: "constant", step: 5 }]);
          expect(written).toContain("All episodes of a group earned the same reward");
          const { terminal, written: later } = recorder();
          const more = { ...config, trainer: { ...config.trainer, total_training_steps: 6 } };
          yield* train({ config: more, resume: folder, parts: { sinks: [PlainConsole.make(terminal)] } });
          const lines = yield* Effect.promise(() => readFile(join(folder, "events.jsonl"), "utf8"));
          expect(count(lines, '"_tag":"AlarmRaised"')).toBe(1);
          expect(later.filter((text) => text.includes("warning: no group has rewards"))).toHaveLength(1);
          expect(later.at(-1)).toContain("warning: no group has rewards that differ (step 5)");
        }),
      ),
    patience,
  );

  it.live(
    "says where contexts are too small, by its first validation",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const context: Tree = {
            rollout: { template: "compact", max_turn: 5, max_model_len: 100, response_length: 40 },
            trainer: { val_before_train: true },
          };
          const { written } = yield* printedAlarms(1, context);
          expect(written).toContain("warning: contexts are full (step 0)");
          expect(written).toContain("Raise rollout.max_model_len");
          expect(written).toMatch(/[1-9]\d* % of the episodes of the validation ended because the context was full/);
        }),
      ),
    patience,
  );
});
