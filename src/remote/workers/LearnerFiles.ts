/**
 * The files that the learner serves to workers: each version of the weights in a folder, and the base model of adapters. A thread of its
 * own serves them. Invariant: an address that other machines can reach requires a token.
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

export interface LearnerFiles {
  readonly publisher: Publisher.Publisher;
  /** Address of the files of this start of the run. */
  readonly url: string;
  readonly died: Effect.Effect<never, PolicyError>;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const parseAddress = (listen: string): Address => {
  const colon = listen.lastIndexOf(":");
  return { host: listen.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(listen.slice(colon + 1)) };
};

const servingFailure = ({ cause, message }: ThreadFailure): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `the weights cannot be served to workers: ${message}`, cause });

/**
 * Versions stay on disk for workers that still fetch them: at least 3, and of small models, whose versions come fast, as many as fit in 256
 * MiB, at most 32.
 */
const LEAST_VERSIONS = 3;
const VERSIONS_BYTES = 2 ** 28;
const MOST_VERSIONS = 32;

const versionsOnDisk = ({ adapter, parameters }: Model["checkpoint"]): number => {
  const bytes = 4 * (adapter?.parameters ?? parameters).flat.length;
  return Math.min(MOST_VERSIONS, Math.max(LEAST_VERSIONS, Math.floor(VERSIONS_BYTES / bytes)));
};

/** Reads the token that workers must send. Fails if one is required and there is none. */
const readToken = Effect.fnUntraced(function* ({ files_token_env: name, listen }: RunConfig["pipeline"]["workers"]) {
  const token = process.env[name] ?? "";
  if (token === "" && !isLoopback(parseAddress(listen).host)) {
    return yield* new BadInput({
      message: `pipeline.workers.listen: ${listen} is open to other machines, so workers must send a token: set ${name} here and at the workers (openssl rand -hex 32 makes one); nearest without one: 127.0.0.1:0`,
    });
  }
  return token === "" ? null : token;
});

/** Fails with a message that names the nearest free port. */
const portFailure = Effect.fnUntraced(function* ({ host, port }: Address, { message }: PolicyError) {
  const nearest = yield* Effect.promise(() => freePortAbove(host, port));
  const hint = nearest === null ? "" : `; nearest free: ${host}:${nearest}`;
  return yield* new BadInput({ message: `pipeline.workers.listen: ${host}:${port} cannot be had (${message})${hint}` });
});

/** Serves the weights of a run that continues from `model`, for the life of the scope. */
export const serve = Effect.fnUntraced(function* (
  { pipeline: { workers } }: RunConfig,
  model: Model,
  version: Version,
  epoch: string,
): Effect.fn.Return<LearnerFiles, BadInput | PolicyError, Scope.Scope> {
  const token = yield* readToken(workers);
  const directory = join(yield* temporaryFolder("weights"), "versions");
  const newest = versionsOnDisk(model.checkpoint);
  const publisher = yield* Publisher.make({ directory, model, version, layout: "as_trained", newest });
  const thread = yield* makeThread<ServeProtocol, PolicyError>({
    url: new URL("./files/serveThread.ts", import.meta.url),
    name: "files",
    fail: servingFailure,
  });
  const address = parseAddress(workers.listen);
  const publicUrl = workers.files_url === "" ? null : new URL(workers.files_url);
  const { cert, key } = workers.tls;
  const url = yield* thread
    .call("start", {
      ...address,
      hosts: publicUrl === null ? [] : [publicUrl.hostname],
      epoch,
      weights: directory,
      model: model.checkpoint.adapter?.base ?? null,
      token,
      tls: cert === "" ? null : { cert, key },
    })
    .pipe(Effect.catch((error) => portFailure(address, error)));
  const base = publicUrl === null ? url : workers.files_url.replace(/\/$/, "");
  return { publisher, url: `${base}/${epoch}`, died: Effect.raceFirst(publisher.died, thread.died) };
});
