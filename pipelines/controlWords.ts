/** The words of `millrace control RUN ...` behind the run, as a control. Pure. */
import { Effect, Result, Schema } from "effect";
import { showValue } from "../src/config/show.ts";
import { Control } from "../src/domain/Control.ts";
import type { BadInput } from "../src/domain/Errors.ts";
import { byNearest } from "../src/support/text/nearest.ts";
import type { CommandInfo } from "./commands/Command.ts";
import { bad, missing } from "./commands/words.ts";

const plain = {
  pause: { _tag: "PauseAdmission" },
  resume: { _tag: "ResumeAdmission" },
  validate: { _tag: "Validate" },
  checkpoint: { _tag: "Checkpoint" },
  stop: { _tag: "Stop" },
} as const satisfies Readonly<Record<string, Control>>;

const isPlain = (word: string): word is keyof typeof plain => Object.hasOwn(plain, word);

const names = ["concurrency", ...Object.keys(plain)];

const decode = Schema.decodeUnknownResult(Control);

const concurrency = (
  info: CommandInfo,
  stage: string | undefined,
  slots: string | undefined,
): Effect.Effect<Control, BadInput> => {
  if (stage === undefined) return bad(missing(info, "STAGE"));
  if (slots === undefined) return bad(missing(info, "N"));
  const value = /^\d{1,9}$/.test(slots) ? Number(slots) : Number.NaN;
  const control = decode({ _tag: "SetConcurrency", stage, concurrency: value });
  if (Result.isSuccess(control)) return Effect.succeed(control.success);
  const nearest = value > 65_536 ? 65_536 : 1;
  return bad(`control: concurrency: ${showValue(slots)}: expected an integer from 1 to 65536; nearest: ${nearest}`);
};

/** `info` is the command's, for messages. */
export const controlIn = (info: CommandInfo, [name, ...rest]: readonly string[]): Effect.Effect<Control, BadInput> => {
  if (name === undefined) return bad(missing(info, "what to do"));
  const [first, second, ...more] = rest;
  const unused = name === "concurrency" ? more : rest;
  if (name !== "concurrency" && !isPlain(name)) {
    return bad(
      `control: unknown control ${showValue(name)}; nearest: ${byNearest(name, names)[0]}; all: ${names.join(", ")}`,
    );
  }
  if (unused[0] !== undefined) return bad(`control: ${name} takes no ${showValue(unused[0])}`);
  return isPlain(name) ? Effect.succeed(plain[name]) : concurrency(info, first, second);
};
