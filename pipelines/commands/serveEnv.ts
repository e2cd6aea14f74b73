/** `millrace serve-env`. */
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { load as loadFile } from "../../src/config/resolve.ts";
import { formed, limit, optional, orNull, required, severalTexts, text } from "../flags.ts";
import { configDir } from "../paths.ts";
import { commandOf, load } from "./Command.ts";
import { bad, checkTag, overrides, presetsFile, tag } from "./words.ts";

/** A server has these limits unless its sessions or messages need more. */
const leastConnections = 1_024;
const leastBufferedBytes = 2 ** 26;

export const serveEnv = commandOf({
  stopsInOrder: true,
  flags: {
    tag,
    overrides,
    port: required(
      "port",
      { min: 0, max: 65_535, fallback: 8_000 },
      "Port for HTTP and WebSocket; 0 takes any free one.",
    ),
    host: text("host", "ADDRESS", "Address to listen on, 127.0.0.1 by default.").pipe(Flag.withDefault("127.0.0.1")),
    maxSessions: limit(
      "max-sessions",
      { min: 1, max: 1_000_000, fallback: 256 },
      "Episodes played at once at most, 256 by default.",
    ),
    idleSeconds: limit(
      "idle-seconds",
      { min: 1, max: 1_000_000, fallback: 900 },
      "A session without a message for so long is ended, 900 by default.",
    ),
    maxSteps: limit(
      "max-steps",
      { min: 1, max: 1_000_000_000, fallback: 10_000 },
      "Steps of one episode at most, 10000 by default.",
    ),
    maxMessageBytes: limit(
      "max-message-bytes",
      { min: 1_000, max: 2 ** 30, fallback: 2 ** 20 },
      "Longest message taken from a client, 1048576 by default.",
    ),
    maxConnections: optional(
      "max-connections",
      { min: 1, max: 2_000_000, fallback: leastConnections },
      "Connections at once at most; one more closes the one that has waited longest for a whole request. 256 more than sessions, and 1024 at least, by default.",
    ),
    maxBufferedBytes: optional(
      "max-buffered-bytes",
      { min: 1_000, max: 2 ** 36, fallback: leastBufferedBytes },
      "Most bytes of unfinished messages and unread answers of all clients together. Four messages, and 67108864 at least, by default.",
    ),
    requestSeconds: limit(
      "request-seconds",
      { min: 1, max: 3_600, fallback: 30 },
      "A request that has not arrived after so long is given up, 30 by default.",
    ),
    allowedHosts: formed(
      severalTexts("allow-host", "NAME", "A further name by which clients call this server; may be given again."),
      "allow-host",
      /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
      "a name without port",
    ),
    allowedOrigins: formed(
      severalTexts("allow-origin", "ORIGIN", "A web page's origin that may ask this server; may be given again."),
      "allow-origin",
      /^https?:\/\/[^\s/?#@,]+$/i,
      "an origin, as http://name:port",
    ),
    tokenFile: orNull(
      text("token-file", "FILE", "File with the token that clients must send; else MILLRACE_TOKEN, where it is set."),
    ),
    configName: presetsFile,
  },
  read: Effect.fnUntraced(function* ({ idleSeconds, requestSeconds, ...words }, info) {
    yield* checkTag(info, words.tag);
    const { maxMessageBytes, maxSessions } = words;
    const maxConnections = words.maxConnections ?? Math.max(leastConnections, maxSessions + 256);
    const maxBufferedBytes = words.maxBufferedBytes ?? Math.max(leastBufferedBytes, 4 * maxMessageBytes);
    if (maxBufferedBytes < maxMessageBytes) {
      const why = `less than one message (--max-message-bytes ${maxMessageBytes}); nearest: ${maxMessageBytes}`;
      return yield* bad(`serve-env: --max-buffered-bytes: ${maxBufferedBytes}: ${why}`);
    }
    const [idleMs, requestMs] = [1_000 * idleSeconds, 1_000 * requestSeconds];
    return { ...words, maxConnections, maxBufferedBytes, idleMs, requestMs };
  }),
  work: Effect.fnUntraced(function* ({ configName, overrides, ...options }) {
    const { serveEnv } = yield* load(() => import("../serveEnv.ts"));
    yield* serveEnv({ ...options, config: yield* loadFile(configName, overrides, configDir) });
  }),
});
