/** Flags and arguments that several commands share. */
import { Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import * as Flag from "effect/cli/Flag";
import { BadInput } from "../../src/domain/Errors.ts";
import { orNull, text } from "../flags.ts";
import type { CommandInfo } from "./Command.ts";

export const bad = (message: string) => new BadInput({ message });

export const missing = ({ name, usage }: Pick<CommandInfo, "name" | "usage">, what: string): string =>
  `${name}: ${what} is missing: millrace ${usage}`;

export const configName = text("config-name", "NAME", "Run file in config/, or a path to a YAML file.");

/** Commands that read only the presets of a run file take this one. */
export const presetsFile = configName.pipe(Flag.withDefault("base"));

export const envs = orNull(
  text("envs", "FILE", "Presets that replace those of the run file with the same tags, as RAGEN's config/envs.yaml."),
);

export const overrides = Argument.variadic(
  Argument.String("key.sub=value").pipe(
    Argument.withDescription("A key of the run file and its YAML value; RAGEN's key paths are accepted."),
  ),
);

export const tag = Argument.String("TAG").pipe(Argument.withDescription("A preset of the run file."));

/** Fails where the tag was left out: then an override stands in its place. */
export const checkTag = (info: Pick<CommandInfo, "name" | "usage">, written: string): Effect.Effect<void, BadInput> =>
  written.includes("=") ? bad(missing(info, "TAG")) : Effect.void;

export const switchOf = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDefault(false), Flag.withDescription(description));

/** Folders or runs, any number of them. */
export const several = (metavar: string, description: string) =>
  Argument.variadic(Argument.String(metavar).pipe(Argument.withDescription(description)));

export const runDescription = "A run's folder, or runs/NAME for its newest.";

export const argument = (metavar: string, description: string) =>
  Argument.String(metavar).pipe(Argument.withDescription(description));
