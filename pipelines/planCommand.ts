/** The plan command as `effect/cli` declares it; the words that it shares with others come from the tree. */
import type { Effect } from "effect";
import type * as Argument from "effect/cli/Argument";
import * as Cli from "effect/cli/Command";
import * as Flag from "effect/cli/Flag";
import type { Command } from "./commands.ts";

interface Words {
  readonly configName: Flag.Flag<string>;
  readonly envs: Flag.Flag<string | null>;
  readonly overrides: Argument.Argument<readonly string[]>;
}

/** `accept` takes the command. */
export const planCommand = <A, E, R>(words: Words, accept: (command: Command) => Effect.Effect<A, E, R>) =>
  Cli.make(
    "plan",
    {
      ...words,
      json: Flag.Boolean("json").pipe(
        Flag.withoutNegation,
        Flag.withDefault(false),
        Flag.withDescription("Print the plan as JSON."),
      ),
      noProbe: Flag.Boolean("no-probe").pipe(
        Flag.withoutNegation,
        Flag.withDefault(false),
        Flag.withDescription("Do not measure this machine; the speed to expect is left out."),
      ),
    },
    ({ noProbe, ...plan }) => accept({ _tag: "Plan", ...plan, probe: !noProbe }),
  );
