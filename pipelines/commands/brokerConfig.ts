/** `millrace broker-config`. */
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { formed, severalTexts, text } from "../flags.ts";
import { command, load, print } from "./Command.ts";
import { argument } from "./words.ts";

export const brokerConfig = command({
  flags: {
    run: argument("RUN", "Name of the run, as run.name has it."),
    workers: formed(
      severalTexts("worker", "NAME", "A worker that may join; may be given again."),
      "worker",
      /^[A-Za-z0-9_-]{1,60}$/,
      "letters, digits, - and _",
    ),
    listen: text("listen", "HOST:PORT", "Where the server listens, 127.0.0.1:4222 by default.").pipe(
      Flag.withDefault("127.0.0.1:4222"),
    ),
    store: text("store", "DIR", "Folder of what the server keeps, nats-data by default.").pipe(
      Flag.withDefault("nats-data"),
    ),
  },
  work: Effect.fnUntraced(function* (words) {
    const { renderServerConfig } = yield* load(() => import("../../src/remote/workers/permissions.ts"));
    yield* print([renderServerConfig(words).trimEnd()]);
  }),
});
