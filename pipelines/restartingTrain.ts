/**
 * `millrace train --restarts N`: the training in a child process, which is resumed from its folder when it was killed. The child tells its folder
 * by a message, and finds in a variable why it was started again. Invariant: this process loads nothing of the engine.
 */
import process from "node:process";
import { Effect, Option, Schema } from "effect";
import type { Restart } from "../src/domain/Restart.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { type ChildEnd, crashOf, exitCodeOf, runChild } from "../src/support/process/Supervisor.ts";
import { SUPERVISED } from "./supervised.ts";

const RestartText = Schema.Struct({ reason: Schema.String, left: Schema.Int });
const Supervised = Schema.fromJsonString(Schema.Struct({ restart: Schema.NullOr(RestartText) }));
const FolderMessage = Schema.Struct({ folder: Schema.String });

/** Reads what the parent says to this process; null where none restarts it. Processes that this one starts do not see it. */
export const takeSupervision = (): { readonly restart: Restart | null } | null => {
  const text = process.env[SUPERVISED];
  delete process.env[SUPERVISED];
  return Option.getOrNull(Schema.decodeUnknownOption(Supervised)(text));
};

/** Tells the parent the folder of the run. */
export const sendFolder = (folder: string): void => void process.send?.({ folder });

/** The words of the command line without `--restarts N`. The parent has asked about foreign code, so the child does not ask again. */
export const childWords = (words: readonly string[]): readonly string[] => {
  const at = words.indexOf("--restarts");
  const rest = words.filter((word, i) => !word.startsWith("--restarts=") && (at < 0 || (i !== at && i !== at + 1)));
  return rest.includes("--trust") ? rest : [...rest.slice(0, 1), "--trust", ...rest.slice(1)];
};

/** The words that go on with the run in `folder`, whose configuration holds the overrides of the first start. */
export const resumeWords = (folder: string, watch: number | "near" | null, debug: boolean): readonly string[] => [
  "train",
  "--trust",
  ...(debug ? ["--debug"] : []),
  "--resume",
  folder,
  ...(watch === null ? [] : [`--watch=${watch}`]),
];

/** Why a child is started again; null where its end is passed on. */
export const restartAfter = (
  end: ChildEnd,
  { isStopping, left }: { readonly isStopping: boolean; readonly left: number },
): Restart | null => {
  const signal = crashOf(end);
  if (signal === null || isStopping || left === 0) return null;
  return { reason: `the process was killed by ${signal}`, left: left - 1 };
};

export interface RestartingOptions {
  readonly restarts: number;
  /** Words of the first child. */
  readonly words: readonly string[];
  /** Words that go on with a run. */
  readonly resume: (folder: string) => readonly string[];
  /** The folder of the run to go on with; null for a new one. */
  readonly folder: string | null;
}

const isStopRequested = Effect.flatMap(Stop.Stop, ({ requested }) =>
  Effect.raceFirst(Effect.as(requested, true), Effect.succeed(false)),
);

/** Says why a run that was killed is not restarted. */
const endMessage = (signal: string, restarts: number, folder: string | null): string => {
  const next = folder === null ? "it had no folder yet" : `to go on: millrace train --resume ${folder}`;
  return `train: the process was killed by ${signal}; --restarts ${restarts}: none is left; ${next}`;
};

/** Runs the training, and again while it is killed. Its exit code becomes that of this process. */
export const restartingTrain = Effect.fnUntraced(function* ({ resume, restarts, words, ...start }: RestartingOptions) {
  let { folder } = start;
  let left = restarts;
  let restart: Restart | null = null;
  for (;;) {
    const end: ChildEnd = yield* runChild({
      words: restart === null || folder === null ? words : resume(folder),
      variables: { [SUPERVISED]: JSON.stringify({ restart }) },
      onMessage: (message) => {
        folder = Option.getOrNull(Schema.decodeUnknownOption(FolderMessage)(message))?.folder ?? folder;
      },
    });
    const isStopping = yield* isStopRequested;
    restart = restartAfter(end, { isStopping, left: folder === null ? 0 : left });
    if (restart === null) {
      const signal = crashOf(end);
      process.exitCode = signal === null ? exitCodeOf(end) : 1;
      if (signal !== null) process.stderr.write(`${endMessage(signal, restarts, folder)}\n`);
      return;
    }
    left = restart.left;
  }
});
