/**
 * How a server is reached, as keys of an `env_config`; every environment over this wire has them. Enters: the default address of its
 * server; leaves: fields for its schema.
 */
import { Schema } from "effect";
import { count, field, positive } from "../config/field.ts";

const Url = Schema.String.check(
  Schema.makeFilter((text) => /^(https?|wss?):\/\/[^/?#]+[^?#]*$/i.test(text) && URL.canParse(text), {
    expected: "an address that begins with http:// or ws://",
  }),
);

/** A timer's longest wait. */
const milliseconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }));

export const connection = (url: string) =>
  ({
    url: field(Url, url, "Where the OpenEnv server listens."),
    transport: field(
      Schema.Literals(["ws", "http"]),
      "ws",
      "ws: a session per connection, as every OpenEnv server has it. http: for a server that keeps episodes by episode_id.",
    ),
    connect_timeout_ms: field(milliseconds, 5_000, "A connection that takes longer has failed."),
    request_timeout_ms: field(milliseconds, 30_000, "A reset or step that takes longer has failed."),
    retries: field(
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
      3,
      "Further tries to open a session; a step is never sent twice.",
    ),
    retry_wait_ms: field(count, 200, "Wait before the first retry, doubled for each further one, half of it random."),
    capacity: field(
      positive,
      64,
      "Requests in flight at most. The server needs a session for each episode in flight besides.",
    ),
    max_message_bytes: field(positive, 4 * 2 ** 20, "Longest message taken from the server."),
    max_session_bytes: field(positive, 64 * 2 ** 20, "Most bytes taken from the server in one session."),
    max_session_messages: field(positive, 10_000, "Most messages taken from the server in one session."),
  }) as const;

const Connection = Schema.Struct(connection(""));
export type Connection = typeof Connection.Type;

/** No wait between two tries is longer. */
const longestWaitMs = 30_000;

/** Wait before retry `attempt` (from 0) when `jitter` in [0, 1) is drawn; without jitter the whole of it. */
export const waitMs = (base: number, attempt: number, jitter: number | null): number => {
  const whole = Math.min(longestWaitMs, base * 2 ** attempt);
  return jitter === null ? whole : whole / 2 + (whole / 2) * jitter;
};

/** The longest a reset or step may take by the connection's own limits: every try to open a session, then the step. */
export const longestMs = (to: Connection): number => {
  let total = 1_000 + to.request_timeout_ms;
  for (let attempt = 0; attempt <= to.retries; attempt++) {
    total += to.connect_timeout_ms + to.request_timeout_ms;
    if (attempt < to.retries) total += waitMs(to.retry_wait_ms, attempt, null);
  }
  return total;
};
