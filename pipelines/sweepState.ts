/**
 * Where each run of a sweep stands, told from the folders alone: finished, unfinished with a checkpoint, or to be started. A run that was made
 * under another configuration is bad input, so that no table mixes two.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Effect, Result } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import { shown, shownKey } from "../src/config/shown.ts";
import { get, leaves } from "../src/config/Tree.ts";
import { readYaml } from "../src/config/yamlText.ts";
import { BadInput } from "../src/domain/Errors.ts";
import * as Checkpoints from "../src/record/Checkpoints.ts";
import type { RunCard } from "../src/watch/Api.ts";
import { nothingAttributed } from "../src/watch/store/Moment.ts";
import { RunStore } from "../src/watch/store/RunStore.ts";
import { newestIn } from "./paths.ts";

export type RunState =
  | { readonly _tag: "Finished"; readonly folder: string }
  | { readonly _tag: "Unfinished"; readonly folder: string }
  | { readonly _tag: "New" };

/** A reader of what is not there sees nothing. */
const textOf = (file: string): string | null => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
};

/** The first key in which two configurations differ. */
const difference = (written: string, now: string): string => {
  const [before, after] = [written, now].map((text) => Result.getOrElse(readYaml(text), () => null));
  const differing = leaves(after).find(
    ({ path, value }) => JSON.stringify(get(before, path)) !== JSON.stringify(value),
  );
  if (differing === undefined) return "it has keys that are no longer set";
  const { path, value } = differing;
  return `${shownKey(path)} was ${shown(get(before, path))} and is ${shown(value)}`;
};

/** A stop that nobody asked for is an end: the run's own rule, such as too many empty windows. */
const isEnd = ({ message, state }: { readonly state: string; readonly message: string | null }): boolean =>
  state === "completed" || (state === "stopped" && message !== "interrupted");

/** How the run ended is in its events, and else in its last step. */
const cardOf = async (path: string): Promise<RunCard> => {
  const store = new RunStore({ id: path, folder: path, attribute: nothingAttributed });
  if (!existsSync(join(path, "events.jsonl"))) await store.ready;
  return store.card();
};

/** Where the newest run in `folder`, a run's name below the sweep's folder, stands. `config` is what it has to have been run under. */
export const stateOf = Effect.fnUntraced(function* (
  folder: string,
  config: RunConfig,
): Effect.fn.Return<RunState, BadInput> {
  const newest = newestIn(folder);
  if (newest === undefined) return { _tag: "New" };
  const path = join(folder, newest);
  const written = textOf(join(path, "config.yaml")) ?? "";
  const now = render(config);
  if (written !== now) {
    return yield* new BadInput({
      message: `${path}: was run under another configuration: ${difference(written, now)}; name the sweep otherwise, or remove the folder`,
    });
  }
  const card = yield* Effect.promise(() => cardOf(path));
  if (card.state === "running")
    return yield* new BadInput({ message: `${path}: is being run; wait for it, or stop it` });
  if (isEnd(card)) return { _tag: "Finished", folder: path };
  const steps = yield* Effect.catch(Checkpoints.list(join(path, "checkpoints")), () => Effect.succeed([]));
  return steps.length === 0 ? { _tag: "New" } : { _tag: "Unfinished", folder: path };
});
