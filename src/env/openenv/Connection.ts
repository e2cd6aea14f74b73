/**
 * How an OpenEnv server is reached, as keys of an `env_config`. Every environment that is played by such a server has these keys; only the
 * default address differs.
 */
import { Schema } from "effect";
import { field, positive, whole } from "../../config/field.ts";
import { type RetryPolicy, totalWaitMs } from "../../support/http/retry.ts";

const Url = Schema.String.check(
  Schema.makeFilter((text) => /^(https?|wss?):\/\/[^/?#]+[^?#]*$/i.test(text) && URL.canParse(text), {
    expected: "an address that begins with http:// or ws://",
  }),
);

/** Limits of a timer. */
const milliseconds = whole(1, 3_600_000);

export const connection = (url: string) =>
  ({
    url: field(Url, url, "Where the OpenEnv server listens."),
    transport: field(
      Schema.Literals(["ws", "http"]),
      "ws",
      "ws: a session per connection, as every OpenEnv server has it. http: for a server that keeps episodes by episode_id.",
    ),
    token_variable: field(
      Schema.String.check(Schema.isPattern(/^([A-Za-z_][A-Za-z0-9_]*)?$/)),
      "",
      "Name of the environment variable that holds the server's token; empty: none is sent.",
    ),
    connect_timeout_ms: field(milliseconds, 5_000, "A connection that takes longer has failed."),
    request_timeout_ms: field(milliseconds, 30_000, "A reset or step that takes longer has failed."),
    retries: field(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
      3,
      "Further tries to open a session; a step is never sent twice.",
    ),
    retry_wait_ms: field(
      whole(0, 3_600_000),
      200,
      "Wait before the first retry, doubled for each further one, half of it random.",
    ),
    capacity: field(
      whole(1, 65_536),
      64,
      "Requests in flight at most. The server needs a session for each episode in flight besides.",
    ),
    max_message_bytes: field(positive, 4 * 2 ** 20, "Longest message taken from the server."),
    max_session_bytes: field(positive, 64 * 2 ** 20, "Most bytes taken from the server in one session."),
    max_session_messages: field(positive, 10_000, "Most messages taken from the server in one session."),
  }) as const;

const Connection = Schema.Struct(connection(""));
export type Connection = typeof Connection.Type;

/** The headers that name us to a server: its token, read from the environment at every request and kept nowhere. */
export const credentials = ({ token_variable: name }: Pick<Connection, "token_variable">): Record<string, string> => {
  const token = name === "" ? undefined : process.env[name];
  return token === undefined ? {} : { authorization: `Bearer ${token.trim()}` };
};

/** How an attempt to open a session is repeated. Half of a wait is drawn, so that the members of a group do not all come back at once. */
export const policyOf = ({ retries, retry_wait_ms }: Pick<Connection, "retries" | "retry_wait_ms">): RetryPolicy => ({
  firstMs: retry_wait_ms,
  longestMs: 30_000,
  jitter: 0.5,
  maxRetries: retries,
});

/** The longest a reset or step may take by the connection's own limits: every attempt to open a session, then the step. */
export const longestMs = (to: Connection): number =>
  1_000 +
  to.request_timeout_ms +
  (to.retries + 1) * (to.connect_timeout_ms + to.request_timeout_ms) +
  totalWaitMs(policyOf(to), to.retries);
