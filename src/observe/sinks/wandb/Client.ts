/**
 * W&B's server, as far as a run needs it: the run and its files by GraphQL, lines by file_stream. Every call has a deadline.
 * Invariant: the key is in the header of a request and nowhere else; it is removed from messages of the server and the network.
 */
import { Clock, Effect, Redacted, Schema } from "effect";
import { jsonOrUndefined } from "../../../support/http/errorText.ts";
import { isTransient, retryAfterMs } from "../../../support/http/retry.ts";
import { ALERT_LEVEL, ALERT_WAIT_MS, SDK_VERSION } from "./encode.ts";
import type { Http, HttpReply, HttpRequest } from "./Http.ts";
import type { AlertEntry } from "./WandbEntry.ts";

/** The server did not carry out a request. */
export class ServerError extends Schema.TaggedError<ServerError>()("ServerError", {
  message: Schema.String,
  /** True if another attempt may help. */
  again: Schema.Boolean,
  /** Milliseconds that the server asks to wait. */
  afterMs: Schema.NullOr(Schema.Number),
}) {}

export interface ClientOptions {
  readonly baseUrl: string;
  readonly apiKey: Redacted.Redacted;
  readonly http: Http;
  /** The deadline of one request, milliseconds. */
  readonly deadlineMs?: number;
}

/** The identity of a run on the server. */
export interface RemoteRun {
  readonly entity: string;
  readonly project: string;
  readonly id: string;
}

export interface RunUpsert {
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly group: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly host: string;
  /** JSON of the configuration. */
  readonly config: string;
}

const upsertRun = `mutation UpsertBucket($name: String, $project: String, $entity: String, $groupName: String, $displayName: String, $config: JSONString, $host: String, $program: String, $tags: [String!]) {
  upsertBucket(input: {name: $name, modelName: $project, entityName: $entity, groupName: $groupName, displayName: $displayName, config: $config, host: $host, jobProgram: $program, tags: $tags}) {
    bucket { id name project { name entity { name } } }
    inserted
  }
}`;

const createFiles = `mutation CreateRunFiles($entity: String!, $project: String!, $run: String!, $files: [String!]!) {
  createRunFiles(input: {entityName: $entity, projectName: $project, runName: $run, files: $files}) {
    runID
    uploadHeaders
    files { name uploadUrl }
  }
}`;

const notifyAlert = `mutation NotifyScriptableRunAlert($entityName: String!, $projectName: String!, $runName: String!, $title: String!, $text: String!, $severity: AlertSeverity = INFO, $waitDuration: Duration) {
  notifyScriptableRunAlert(input: {entityName: $entityName, projectName: $projectName, runName: $runName, title: $title, text: $text, severity: $severity, waitDuration: $waitDuration}) {
    success
  }
}`;

const Notified = Schema.Struct({ notifyScriptableRunAlert: Schema.Struct({ success: Schema.Boolean }) });

const Upserted = Schema.Struct({
  upsertBucket: Schema.Struct({
    bucket: Schema.Struct({
      name: Schema.String,
      project: Schema.Struct({ name: Schema.String, entity: Schema.Struct({ name: Schema.String }) }),
    }),
  }),
});

const Created = Schema.Struct({
  createRunFiles: Schema.Struct({
    uploadHeaders: Schema.NullOr(Schema.Array(Schema.String)),
    files: Schema.Array(Schema.Struct({ name: Schema.String, uploadUrl: Schema.NullOr(Schema.String) })),
  }),
});

const Failures = Schema.Struct({ errors: Schema.Array(Schema.Struct({ message: Schema.String })) });

/** The longest wait that is taken from a server, milliseconds. */
const LONGEST_WAIT_MS = 600_000;

const orNull = (text: string): string | null => (text === "" ? null : text);
const DEADLINE_MS = 20_000;
const LONGEST_MESSAGE = 200;

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#options.baseUrl;
  }

  /** Makes the run, or finds it, and gives it these properties. */
  upsert(run: RunUpsert): Effect.Effect<RemoteRun, ServerError> {
    const variables = {
      name: run.id,
      project: run.project,
      entity: orNull(run.entity),
      groupName: orNull(run.group),
      displayName: run.name,
      config: run.config,
      host: run.host,
      program: "millrace",
      tags: run.tags,
    };
    return Effect.map(this.#graphql(upsertRun, variables, Upserted), ({ upsertBucket: { bucket } }) => ({
      entity: bucket.project.entity.name,
      project: bucket.project.name,
      id: bucket.name,
    }));
  }

  /** Sends the body of a file_stream request. */
  stream({ entity, id, project }: RemoteRun, body: string): Effect.Effect<void, ServerError> {
    const path = [entity, project, id].map(encodeURIComponent).join("/");
    return Effect.asVoid(this.#send(this.#post(`/files/${path}/file_stream`, body)));
  }

  /** Sends an alert to the recipients that are set up on the server. */
  alert({ entity, id, project }: RemoteRun, { text, title }: AlertEntry): Effect.Effect<void, ServerError> {
    const run = { entityName: entity, projectName: project, runName: id };
    const variables = { ...run, title, text, severity: ALERT_LEVEL, waitDuration: ALERT_WAIT_MS };
    return Effect.asVoid(this.#graphql(notifyAlert, variables, Notified));
  }

  /** Uploads a file of the run; the server says where to. */
  upload(
    { entity, id, project }: RemoteRun,
    path: string,
    bytes: Uint8Array<ArrayBuffer>,
  ): Effect.Effect<void, ServerError> {
    const variables = { entity, project, run: id, files: [path] };
    return Effect.flatMap(
      this.#graphql(createFiles, variables, Created),
      ({ createRunFiles: { files, uploadHeaders } }) => {
        const url = files[0]?.uploadUrl;
        if (url === undefined || url === null || !URL.canParse(url, this.address))
          return Effect.fail(new ServerError({ message: `no address for ${path}`, again: false, afterMs: null }));
        const headers = Object.fromEntries(
          (uploadHeaders ?? []).map((line) => {
            const at = line.indexOf(":");
            return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
          }),
        );
        const request: HttpRequest = { method: "PUT", url: new URL(url, this.address).href, headers, body: bytes };
        return Effect.asVoid(this.#send(request));
      },
    );
  }

  #graphql<A>(query: string, variables: unknown, shape: Schema.Codec<A, unknown>): Effect.Effect<A, ServerError> {
    return Effect.flatMap(this.#send(this.#post("/graphql", JSON.stringify({ query, variables }))), ({ text }) => {
      const reply = jsonOrUndefined(text);
      const failures = Schema.decodeUnknownOption(Failures)(reply);
      if (failures._tag === "Some" && failures.value.errors.length > 0)
        return this.#fail(failures.value.errors.map(({ message }) => message).join("; "), false);
      const data = typeof reply === "object" && reply !== null && "data" in reply ? reply.data : undefined;
      const decoded = Schema.decodeUnknownOption(shape)(data);
      return decoded._tag === "Some"
        ? Effect.succeed(decoded.value)
        : this.#fail("an answer that is none of W&B's", true);
    });
  }

  #post(path: string, body: string): HttpRequest {
    const { apiKey, baseUrl } = this.#options;
    const credentials = Buffer.from(`api:${Redacted.value(apiKey)}`).toString("base64");
    return {
      method: "POST",
      url: `${baseUrl.replace(/\/+$/, "")}${path}`,
      headers: {
        authorization: `Basic ${credentials}`,
        "content-type": "application/json",
        "user-agent": `millrace (wandb ${SDK_VERSION})`,
      },
      body,
    };
  }

  /** Fails unless the answer is one of success, within the deadline. */
  #send(request: HttpRequest): Effect.Effect<HttpReply, ServerError> {
    const { deadlineMs = DEADLINE_MS, http } = this.#options;
    return Effect.tryPromise({
      try: (signal) => http(request, signal),
      catch: (cause) => this.#error(`no answer: ${reasonOf(cause)}`, true),
    }).pipe(
      Effect.timeoutOrElse({
        duration: deadlineMs,
        orElse: () => this.#fail(`no answer within ${deadlineMs / 1000} s`, true),
      }),
      Effect.flatMap((reply) => {
        const { headers, status, text } = reply;
        if (status >= 200 && status < 300) return Effect.succeed(reply);
        // 409: another request got in the way.
        const again = isTransient(status) || status === 409;
        return Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const waitMs = retryAfterMs(headers, now);
          return this.#fail(
            `HTTP ${status} ${text}`,
            again,
            waitMs === null ? null : Math.min(waitMs, LONGEST_WAIT_MS),
          );
        });
      }),
    );
  }

  #fail(message: string, again: boolean, afterMs: number | null = null): Effect.Effect<never, ServerError> {
    return Effect.fail(this.#error(message, again, afterMs));
  }

  #error(message: string, again: boolean, afterMs: number | null = null): ServerError {
    const key = Redacted.value(this.#options.apiKey);
    const credentials = Buffer.from(`api:${key}`).toString("base64");
    const plain = message.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
    const clean = [key, credentials].reduce(
      (text, secret) => (secret === "" ? text : text.replaceAll(secret, "***")),
      plain,
    );
    return new ServerError({ message: clean.slice(0, LONGEST_MESSAGE), again, afterMs });
  }
}

/** `fetch failed` says nothing: its cause does. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? reasonOf(cause.cause) : cause.message || cause.name;
};
