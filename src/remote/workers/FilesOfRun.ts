/**
 * What the learner serves to workers: each version of the weights in a folder, and the base model beside adapters, by a thread of its own.
 * Invariant: an address beyond this machine asks for a token.
 */
import { join } from "node:path";
import process from "node:process";
import { Effect, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { BadInput, PolicyError } from "../../domain/Errors.ts";
import type { Model } from "../../model/Model.ts";
import { make as makeThread, type ThreadFailure } from "../../model/runtime/Thread.ts";
import { freePortAbove } from "../../support/http/freePort.ts";
import { isLoopback } from "../../support/http/Guard.ts";
import { temporaryFolder } from "../../support/process/temporaryFolder.ts";
import * as Publisher from "../weights/Publisher.ts";
import type { ServeProtocol } from "./files/protocol.ts";

export interface FilesOfRun {
  readonly publisher: Publisher.Publisher;
  /** Address under which workers find the files of this start of the run. */
  readonly url: string;
  readonly died: Effect.Effect<never, PolicyError>;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const addressOf = (listen: string): Address => {
  const colon = listen.lastIndexOf(":");
  return { host: listen.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(listen.slice(colon + 1)) };
};

const serving = ({ cause, message }: ThreadFailure): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `the weights cannot be served to workers: ${message}`, cause });

/** Versions that a worker may still be fetching: so many, and of small models, whose versions come fast, as many as this room has, up to a limit. */
const KEPT = 3;
const KEPT_BYTES = 2 ** 28;
const MOST_KEPT = 32;

const keptOf = ({ adapter, parameters }: Model["checkpoint"]): number => {
  const bytes = 4 * (adapter?.parameters ?? parameters).flat.length;
  return Math.min(MOST_KEPT, Math.max(KEPT, Math.floor(KEPT_BYTES / bytes)));
};

/** The token that workers send. Fails where one is needed and there is none. */
const tokenOf = Effect.fnUntraced(function* ({ files_token_env: name, listen }: RunConfig["pipeline"]["workers"]) {
  const token = process.env[name] ?? "";
  if (token === "" && !isLoopback(addressOf(listen).host)) {
    return yield* new BadInput({
      message: `pipeline.workers.listen: ${listen} is open to other machines, so workers must send a token: set ${name} here and at the workers (openssl rand -hex 32 makes one); nearest without one: 127.0.0.1:0`,
    });
  }
  return token === "" ? null : token;
});

/** Why the port cannot be had. */
const unusable = Effect.fnUntraced(function* ({ host, port }: Address, { message }: PolicyError) {
  const nearest = yield* Effect.promise(() => freePortAbove(host, port));
  const hint = nearest === null ? "" : `; nearest free: ${host}:${nearest}`;
  return yield* new BadInput({ message: `pipeline.workers.listen: ${host}:${port} cannot be had (${message})${hint}` });
});

/** Serves the weights of a run that goes on from `model`, for the life of the scope. */
export const serve = Effect.fnUntraced(function* (
  { pipeline: { workers } }: RunConfig,
  model: Model,
  version: Version,
  epoch: string,
): Effect.fn.Return<FilesOfRun, BadInput | PolicyError, Scope.Scope> {
  const token = yield* tokenOf(workers);
  const directory = join(yield* temporaryFolder("weights"), "versions");
  const newest = keptOf(model.checkpoint);
  const publisher = yield* Publisher.make({ directory, model, version, layout: "as_trained", newest });
  const thread = yield* makeThread<ServeProtocol, PolicyError>({
    url: new URL("./files/serveThread.ts", import.meta.url),
    name: "files",
    fail: serving,
  });
  const address = addressOf(workers.listen);
  const given = workers.files_url === "" ? null : new URL(workers.files_url);
  const { cert, key } = workers.tls;
  const url = yield* thread
    .call("start", {
      ...address,
      hosts: given === null ? [] : [given.hostname],
      epoch,
      weights: directory,
      model: model.checkpoint.adapter?.base ?? null,
      token,
      tls: cert === "" ? null : { cert, key },
    })
    .pipe(Effect.catch((error) => unusable(address, error)));
  const base = given === null ? url : workers.files_url.replace(/\/$/, "");
  return { publisher, url: `${base}/${epoch}`, died: Effect.raceFirst(publisher.died, thread.died) };
});
