/**
 * A session with a Tinker server: its identity, its heartbeat, and the operations that need no model. Invariant: the server gets a
 * heartbeat every 10 s during the scope; `died` fails once heartbeats have failed for as long as an outage may last.
 */
import { Deferred, Duration, Effect, Option, Result, Schema, type Scope } from "effect";
import { type TinkerServerName, tinkerServers } from "../../domain/TinkerServer.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import { send } from "../../support/http/send.ts";
import type { Client } from "./Client.ts";
import type { Content } from "./Operation.ts";
import { TinkerError } from "./TinkerError.ts";

/** Version of the official client whose protocol this is. */
const DIALECT = "0.24.1";
const HEARTBEAT = Duration.seconds(10);

export const jsonReader = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S, what: string) => {
  const decode = Schema.decodeUnknownOption(schema);
  return (content: Content): Result.Result<S["Type"], string> => {
    const decoded = content._tag === "json" ? decode(content.value) : Option.none();
    return Option.isSome(decoded) ? Result.succeed(decoded.value) : Result.fail(`the answer is no ${what}`);
  };
};

export const readNothing = (): Result.Result<void, string> => Result.succeed(undefined);

const Id = Schema.NonEmptyString.check(Schema.isMaxLength(512));
const Said = Schema.optionalKey(Schema.NullOr(Schema.String));
const SessionOpened = Schema.Struct({ session_id: Id, error_message: Said });

export interface Connection {
  readonly client: Client;
  readonly sessionId: string;
  /** Fails once the session is gone. */
  readonly died: Effect.Effect<never, TinkerError>;
}

const sendHeartbeat = ({ perform }: Client, sessionId: string) =>
  perform({
    path: "session_heartbeat",
    body: { _tag: "json", value: { session_id: sessionId, type: "session_heartbeat" } },
    resending: "freely",
    direct: true,
    read: readNothing,
  });

export const open = Effect.fnUntraced(function* (
  client: Client,
): Effect.fn.Return<Connection, TinkerError, Scope.Scope> {
  const { error_message, session_id } = yield* client.perform({
    path: "create_session",
    body: {
      _tag: "json",
      value: { tags: ["millrace"], user_metadata: {}, sdk_version: DIALECT, type: "create_session" },
    },
    resending: "freely",
    direct: true,
    read: jsonReader(SessionOpened, "session"),
  });
  if (error_message !== undefined && error_message !== null && error_message !== "") {
    return yield* new TinkerError({ reason: "rejected", message: `the session is refused: ${error_message}` });
  }
  const died = yield* Deferred.make<never, TinkerError>();
  // The first heartbeat is sent at once: SkyRL 0.3.0 never ends a session that has sent none.
  const heartbeats = Effect.forever(Effect.andThen(sendHeartbeat(client, session_id), Effect.sleep(HEARTBEAT))).pipe(
    Effect.catch((error: TinkerError) => Effect.andThen(client.giveUp(error.message), Deferred.fail(died, error))),
  );
  yield* Effect.forkScoped(heartbeats);
  return { client, sessionId: session_id, died: Deferred.await(died) };
});

/** Runs an effect, and fails as soon as the session is gone. */
export const untilLost = <A, R>(
  { died }: Connection,
  effect: Effect.Effect<A, TinkerError, R>,
): Effect.Effect<A, TinkerError, R> => Effect.raceFirst(effect, died);

/** Longest answer to a plain request, bytes. */
const mostBytes = 2 ** 22;
const TIMEOUT_MS = 20_000;

/** Fetches a page of the server as JSON; null if its body is none. */
const fetchPage = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.map(
    send({ method: "GET", url, headers, maxBytes: mostBytes, timeoutMs: TIMEOUT_MS, noRedirect: true }),
    ({ body, status }) => ({ status, value: jsonOrUndefined(body) ?? null }),
  );

const Description = Schema.Struct({ info: Schema.Struct({ title: Schema.String }) });
const decodeDescription = Schema.decodeUnknownOption(Description);

const Capabilities = Schema.Struct({
  supported_models: Schema.Array(
    Schema.Struct({
      model_name: Schema.optionalKey(Schema.NullOr(Schema.String)),
      max_context_length: Schema.optionalKey(Schema.NullOr(Schema.Int)),
    }),
  ),
});
const decodeCapabilities = Schema.decodeUnknownOption(Capabilities);

export interface OfferedModels {
  /** Names of the models that the server trains. */
  readonly models: readonly string[];
  /** Tokens that each takes, where the server says so. */
  readonly contexts: ReadonlyMap<string, number>;
}

/** Fetches the models that the server trains; a status if it does not tell. Fails if no server answers. */
export const fetchOfferedModels = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.map(
    fetchPage(`${url}/api/v1/get_server_capabilities`, headers),
    ({ status, value }): OfferedModels | number => {
      const decoded = decodeCapabilities(value);
      if (status !== 200 || Option.isNone(decoded)) return status;
      const models = decoded.value.supported_models;
      return {
        models: models.flatMap(({ model_name }) => model_name ?? []),
        contexts: new Map(
          models.flatMap(({ max_context_length: most, model_name: name }) =>
            typeof name === "string" && typeof most === "number" ? [[name, most] as const] : [],
          ),
        ),
      };
    },
  );

/** Servers by the titles of their API descriptions. */
const byTitle: Readonly<Record<string, TinkerServerName>> = {
  "Tinker API Mock": "skyrl-jax",
  TuFT: "tuft",
  "VeRL Tinker Server": "verl",
};

/**
 * Identifies a server by its address or title. SkyRL's two backends have one title: a first pass through the model tells them apart
 * (probes.ts).
 */
export const identify = (url: string): Effect.Effect<TinkerServerName> => {
  if (/(^|\.)thinkingmachines\.(ai|dev)$/.test(new URL(url).hostname)) return Effect.succeed("thinking-machines");
  return fetchPage(`${url}/openapi.json`, {}).pipe(
    Effect.map(({ value }) => {
      const described = decodeDescription(value);
      return (Option.isSome(described) ? byTitle[described.value.info.title] : undefined) ?? "other";
    }),
    Effect.catch(() => Effect.succeed<TinkerServerName>("other")),
  );
};

export const isServerName = (name: string): name is TinkerServerName =>
  (tinkerServers as readonly string[]).includes(name);
