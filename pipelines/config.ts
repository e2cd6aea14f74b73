/**
 * The config command: prints a run file as it is resolved, every key in it, to standard output, and what was set aside to standard error.
 * A run file that a run would refuse is bad input, with every problem. A model folder that is not on this machine is only a remark.
 */
import { Console, Effect } from "effect";
import { allPlayedTags } from "../src/config/levels.ts";
import { render } from "../src/config/render.ts";
import { remarks, resolve } from "../src/config/resolve.ts";
import { configDir } from "./paths.ts";
import { checkPresets } from "./presets.ts";
import { checkFile } from "./smallModel.ts";

export interface ConfigOptions {
  readonly configName: string;
  readonly overrides: readonly string[];
  readonly envs: string | null;
}

export const config = Effect.fnUntraced(function* ({ configName, envs, overrides }: ConfigOptions) {
  const resolved = yield* resolve(configName, overrides, configDir, envs);
  const { config } = resolved;
  yield* checkPresets(config, allPlayedTags(config));
  const said = [remarks(resolved), ...(yield* checkFile(resolved))];
  for (const text of said) if (text !== null) yield* Console.error(`warning: ${text}`);
  yield* Console.log(render(config).trimEnd());
});
