/**
 * What is wrong with a training server, before anything is started: nothing answers, it wants a key, it trains other models, or it cannot do what the
 * run file asks. Each is one message that says what to change. Fails with BadInput.
 */
import process from "node:process";
import { Effect } from "effect";
import { byNearest } from "../../config/nearest.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { BadInput } from "../../domain/Errors.ts";
import { identify, type Offer, offer } from "./Connection.ts";
import { baseModelOf } from "./checkpoint.ts";
import { unsupported } from "./facts.ts";

const bad = (message: string): BadInput => new BadInput({ message });

const keyHeaders = (variable: string): Readonly<Record<string, string>> => {
  const key = variable === "" ? undefined : process.env[variable];
  return key === undefined || key === "" ? {} : { "x-api-key": key };
};

const offered = Effect.fnUntraced(function* ({ model: { learner } }: RunConfig) {
  const { api_key_env, url } = learner;
  const found = yield* Effect.mapError(offer(url, keyHeaders(api_key_env)), ({ message }) =>
    bad(
      `model.learner.url: ${url}: no training server answers there (${message}); start one first, as docs/remote.md shows for SkyRL, and name its address`,
    ),
  );
  if (typeof found !== "number") return found;
  if (found === 401 || found === 403) {
    return yield* bad(
      `model.learner.api_key_env: ${api_key_env}: ${url} wants another key than the one in this variable (status ${found}); nearest: set ${api_key_env}`,
    );
  }
  return yield* bad(
    `model.learner.url: ${url}: what answers there is no server with the Tinker API (status ${found} for /api/v1/get_server_capabilities); name its address without /api/v1`,
  );
});

const fits = (config: RunConfig, { contexts, models }: Offer): BadInput | null => {
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

/** Asks the server what it is and trains. */
export const check = Effect.fnUntraced(function* (config: RunConfig): Effect.fn.Return<void, BadInput> {
  const { server, url } = config.model.learner;
  const misfit = fits(config, yield* offered(config));
  if (misfit !== null) return yield* misfit;
  // Of SkyRL's two backends a first pass tells which it is.
  const name = server === "auto" ? yield* identify(url) : server;
  if (server === "auto" && name === "skyrl-jax") return;
  const [line] = unsupported(config, name);
  if (line !== undefined) return yield* bad(line);
});
