/**
 * A session with a Tinker server: what the server is, its heartbeat, and the operations that need no model. Invariant: while the scope lives the
 * server hears a heartbeat every 10 s; where that comes to nothing for as long as an outage may last, `died` fails.
 */
import { Deferred, Duration, Effect, Option, Result, Schema, type Scope } from "effect";
import { type TinkerServerName, tinkerServers } from "../../domain/TinkerServer.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import { send } from "../../support/http/send.ts";
import type { Client } from "./Client.ts";
import type { Content } from "./Operation.ts";
import { TinkerError } from "./TinkerError.ts";

/** What the wire is spoken as: the official client's version that speaks it so. */
const DIALECT = "0.24.1";
const HEARTBEAT = Duration.seconds(10);

export const json = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S, what: string) => {
  const decode = Schema.decodeUnknownOption(schema);
  return (content: Content): Result.Result<S["Type"], string> => {
    const decoded = content._tag === "json" ? decode(content.value) : Option.none();
    return Option.isSome(decoded) ? Result.succeed(decoded.value) : Result.fail(`the answer is no ${what}`);
  };
};

export const nothing = (): Result.Result<void, string> => Result.succeed(undefined);

const Id = Schema.NonEmptyString.check(Schema.isMaxLength(512));
const Said = Schema.optionalKey(Schema.NullOr(Schema.String));
const SessionOpened = Schema.Struct({ session_id: Id, error_message: Said });

export interface Connection {
  readonly client: Client;
  readonly sessionId: string;
  /** Suspends until the session is gone, and fails. */
  readonly died: Effect.Effect<never, TinkerError>;
}

const beat = ({ ask }: Client, sessionId: string) =>
  ask({
    path: "session_heartbeat",
    body: { _tag: "json", value: { session_id: sessionId, type: "session_heartbeat" } },
    resending: "freely",
    direct: true,
    read: nothing,
  });

/** Opens a session and keeps it alive for the scope. */
export const open = Effect.fnUntraced(function* (
  client: Client,
): Effect.fn.Return<Connection, TinkerError, Scope.Scope> {
  const { error_message, session_id } = yield* client.ask({
    path: "create_session",
    body: {
      _tag: "json",
      value: { tags: ["millrace"], user_metadata: {}, sdk_version: DIALECT, type: "create_session" },
    },
    resending: "freely",
    direct: true,
    read: json(SessionOpened, "session"),
  });
  if (error_message !== undefined && error_message !== null && error_message !== "") {
    return yield* new TinkerError({ reason: "rejected", message: `the session is refused: ${error_message}` });
  }
  const died = yield* Deferred.make<never, TinkerError>();
  // The first at once: SkyRL 0.3.0 never gives up a session that it has heard none of.
  const beating = Effect.forever(Effect.andThen(beat(client, session_id), Effect.sleep(HEARTBEAT))).pipe(
    Effect.catch((error: TinkerError) => Effect.andThen(client.lost(error.message), Deferred.fail(died, error))),
  );
  yield* Effect.forkScoped(beating);
  return { client, sessionId: session_id, died: Deferred.await(died) };
});

/** Fails as soon as the session is gone. */
export const during = <A, R>(
  { died }: Connection,
  effect: Effect.Effect<A, TinkerError, R>,
): Effect.Effect<A, TinkerError, R> => Effect.raceFirst(effect, died);

/** Longest answer to a plain question that is taken. */
const mostBytes = 2 ** 22;
const TIMEOUT_MS = 20_000;

/** A page of the server's as JSON; null where there is none. */
const page = (url: string, headers: Readonly<Record<string, string>>) =>
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

export interface Offer {
  /** Names of the models that it trains. */
  readonly models: readonly string[];
  /** Tokens that each takes, where the server says so. */
  readonly contexts: ReadonlyMap<string, number>;
}

/** What the server offers to train; a status where it does not say. Fails where nothing answers. */
export const offer = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.map(page(`${url}/api/v1/get_server_capabilities`, headers), ({ status, value }): Offer | number => {
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
  });

/** Servers by what their description calls them. */
const byTitle: Readonly<Record<string, TinkerServerName>> = {
  "Tinker API Mock": "skyrl-jax",
  TuFT: "tuft",
  "VeRL Tinker Server": "verl",
};

/**
 * Which server it is, by its address or what it calls itself. SkyRL's two backends call themselves the same: a first pass through the model tells
 * them apart (Model.ts).
 */
export const identify = (url: string): Effect.Effect<TinkerServerName> => {
  if (/(^|\.)thinkingmachines\.(ai|dev)$/.test(new URL(url).hostname)) return Effect.succeed("thinking-machines");
  return page(`${url}/openapi.json`, {}).pipe(
    Effect.map(({ value }) => {
      const described = decodeDescription(value);
      return (Option.isSome(described) ? byTitle[described.value.info.title] : undefined) ?? "other";
    }),
    Effect.catch(() => Effect.succeed<TinkerServerName>("other")),
  );
};

export const isServerName = (name: string): name is TinkerServerName =>
  (tinkerServers as readonly string[]).includes(name);
