/**
 * The keys of an `env_config` that describe the connection to an OpenEnv server. Every environment that such a server plays has these keys; only
 * the default address differs.
 */
import { Schema } from "effect";
import { field, positive, whole } from "../../config/field.ts";
import { type RetryPolicy, totalWaitMs } from "../../support/http/retry.ts";

const Url = Schema.String.check(
  Schema.makeFilter((text) => /^(https?|wss?):\/\/[^/?#]+[^?#]*$/i.test(text) && URL.canParse(text), {
    expected: "an address that begins with http:// or ws://",
  }),
);

/** Milliseconds of a timer, an hour at most. */
const milliseconds = whole(1, 3_600_000);

export const connectionKeys = (url: string) =>
  ({
    url: field(Url, url, "Address of the OpenEnv server."),
    transport: field(
      Schema.Literals(["ws", "http"]),
      "ws",
      "Transport: ws has a session per connection, as every OpenEnv server; http is for a server that keeps episodes by episode_id.",
    ),
    token_variable: field(
      Schema.String.check(Schema.isPattern(/^([A-Za-z_][A-Za-z0-9_]*)?$/)),
      "",
      "Name of the environment variable that holds the server's token; empty: none is sent.",
    ),
    connect_timeout_ms: field(milliseconds, 5_000, "Milliseconds after which opening a connection has failed."),
    request_timeout_ms: field(milliseconds, 30_000, "Milliseconds after which a reset or step has failed."),
    retries: field(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
      3,
      "Further tries to open a session; a step is never sent twice.",
    ),
    retry_wait_ms: field(
      whole(0, 3_600_000),
      200,
      "Milliseconds before the first retry, doubled for each further one; half of a wait is random.",
    ),
    capacity: field(
      whole(1, 65_536),
      64,
      "The most requests in flight at once. The server also needs a session for each episode in flight.",
    ),
    max_message_bytes: field(positive, 4 * 2 ** 20, "Bytes of the longest message accepted from the server."),
    max_session_bytes: field(positive, 64 * 2 ** 20, "The most bytes accepted from the server in one session."),
    max_session_messages: field(positive, 10_000, "The most messages accepted from the server in one session."),
  }) as const;

const Connection = Schema.Struct(connectionKeys(""));
export type Connection = typeof Connection.Type;

/** The headers with the server's token, which is read from the environment at every request and stored nowhere. */
export const credentials = ({ token_variable: name }: Pick<Connection, "token_variable">): Record<string, string> => {
  const token = name === "" ? undefined : process.env[name];
  return token === undefined ? {} : { authorization: `Bearer ${token.trim()}` };
};

/** The retries of an attempt to open a session. Half of a wait is random, so that the members of a group do not all come back at once. */
export const policyOf = ({ retries, retry_wait_ms }: Pick<Connection, "retries" | "retry_wait_ms">): RetryPolicy => ({
  firstMs: retry_wait_ms,
  longestMs: 30_000,
  jitter: 0.5,
  maxRetries: retries,
});

/** The longest time of a reset or step by the connection's limits, in milliseconds: every attempt to open a session, then the step. */
export const maxRequestMs = (to: Connection): number =>
  1_000 +
  to.request_timeout_ms +
  (to.retries + 1) * (to.connect_timeout_ms + to.request_timeout_ms) +
  totalWaitMs(policyOf(to), to.retries);
