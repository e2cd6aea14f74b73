/** `millrace watch`. */
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { usualPort } from "../../src/observe/watch/process/messages.ts";
import { limit, orNull, text } from "../flags.ts";
import { commandOf, load } from "./Command.ts";
import { bad, missing, runDescription, several } from "./words.ts";

export const watch = commandOf({
  stopsInOrder: true,
  flags: {
    runs: several("RUN", runDescription),
    port: limit(
      "port",
      { min: 0, max: 65_535, fallback: usualPort },
      `Port of the page, ${usualPort} by default; 0 takes any free one.`,
    ),
    host: text(
      "host",
      "ADDRESS",
      "Address to listen on, 127.0.0.1 by default; any other asks browsers for the token.",
    ).pipe(Flag.withDefault("127.0.0.1")),
    tokenFile: orNull(
      text(
        "token-file",
        "FILE",
        "File with the token for controls; else MILLRACE_TOKEN, where it is set; else one is made.",
      ),
    ),
  },
  read: (words, info) => (words.runs.length === 0 ? bad(missing(info, "RUN")) : Effect.succeed(words)),
  work: Effect.fnUntraced(function* (words) {
    const { watch } = yield* load(() => import("../watch.ts"));
    yield* watch(words);
  }),
});
