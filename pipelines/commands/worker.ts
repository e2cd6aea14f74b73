/** `millrace worker`. */
import { Effect } from "effect";
import { limit, orNull, text } from "../flags.ts";
import { command, load } from "./Command.ts";
import { overrides, switchOf } from "./words.ts";

export const worker = command({
  stopsInOrder: true,
  flags: {
    join: text("join", "URL", "NATS server of the run, as nats://host:4222 or tls://host:4222."),
    run: orNull(text("run", "NAME", "Name of the run; may be left out where one alone is trained there.")),
    name: orNull(
      text(
        "name",
        "NAME",
        "The worker's name; by default MILLRACE_NATS_USER, else the machine's name and the process.",
      ),
    ),
    cache: orNull(text("cache", "DIR", "Folder for models that are kept, ~/.cache/millrace/worker by default.")),
    tlsCa: orNull(text("tls-ca", "FILE", "Authorities that the certificates of broker and learner are checked by.")),
    tlsCert: orNull(text("tls-cert", "FILE", "Certificate to show to the broker.")),
    tlsKey: orNull(text("tls-key", "FILE", "Key of that certificate.")),
    stopSeconds: limit(
      "stop-seconds",
      { min: 0, max: 86_400, fallback: 30 },
      "How long a stop waits for groups in hand, 30 by default; the others are given back.",
    ),
    stays: switchOf("stay", "Wait for the run's next start after its end."),
    overrides,
  },
  work: Effect.fnUntraced(function* (words) {
    const { worker } = yield* load(() => import("../worker.ts"));
    yield* worker(words);
  }),
});
