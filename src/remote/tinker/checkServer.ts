/**
 * Checks a training server before anything is started: it answers, accepts the key, trains the model, and can do what the run file asks.
 * Fails with BadInput, whose message says what to change.
 */
import process from "node:process";
import { Effect } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import { BadInput } from "../../domain/Errors.ts";
import { byNearest } from "../../support/text/nearest.ts";
import { fetchOfferedModels, identify, type OfferedModels } from "./Connection.ts";
import { baseModelOf } from "./checkpoint.ts";
import { findUnsupported } from "./unsupported.ts";

const bad = (message: string): BadInput => new BadInput({ message });

const keyHeaders = (variable: string): Readonly<Record<string, string>> => {
  const key = variable === "" ? undefined : process.env[variable];
  return key === undefined || key === "" ? {} : { "x-api-key": key };
};

const offeredModels = Effect.fnUntraced(function* ({ model: { learner } }: RunConfig) {
  const { api_key_env, url } = learner;
  const offered = yield* Effect.mapError(fetchOfferedModels(url, keyHeaders(api_key_env)), ({ message }) =>
    bad(
      `model.learner.url: ${url}: no training server answers there (${message}); start one first, as docs/remote.md shows for SkyRL, and name its address`,
    ),
  );
  if (typeof offered !== "number") return offered;
  if (offered === 401 || offered === 403) {
    return yield* bad(
      `model.learner.api_key_env: ${api_key_env}: ${url} wants another key than the one in this variable (status ${offered}); nearest: set ${api_key_env}`,
    );
  }
  return yield* bad(
    `model.learner.url: ${url}: what answers there is no server with the Tinker API (status ${offered} for /api/v1/get_server_capabilities); name its address without /api/v1`,
  );
});

const findMisfit = (config: RunConfig, { contexts, models }: OfferedModels): BadInput | null => {
  const name = baseModelOf(config);
  if (models.length > 0 && !models.includes(name)) {
    const others = models.slice(0, 8).join(", ");
    return bad(
      `model.learner.base_model: ${name}: the server trains ${others}; nearest: ${byNearest(name, models)[0]}`,
    );
  }
  const context = contexts.get(name);
  if (context === undefined || config.rollout.max_model_len <= context) return null;
  return bad(
    `rollout.max_model_len: ${config.rollout.max_model_len}: the server takes ${context} tokens of ${name}; nearest: ${context}`,
  );
};

export const checkServer = Effect.fnUntraced(function* (config: RunConfig): Effect.fn.Return<void, BadInput> {
  const { server, url } = config.model.learner;
  const misfit = findMisfit(config, yield* offeredModels(config));
  if (misfit !== null) return yield* misfit;
  // Only a first pass tells which of SkyRL's two backends answers.
  const name = server === "auto" ? yield* identify(url) : server;
  if (server === "auto" && name === "skyrl-jax") return;
  const [line] = findUnsupported(config, name);
  if (line !== undefined) return yield* bad(line);
});
