/**
 * `millrace serve-env`: serves one pure environment of a run file by the OpenEnv protocol until a signal ends it, and prints one line that
 * says where. A tag that cannot be served and a port that is taken are bad input, and so is an address beyond loopback without a token for
 * clients to send. The token comes from a file or the environment: every user of a machine sees its command lines.
 */
import { Console, Effect } from "effect";
import { withLevels } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { prepareAll } from "../src/env/contract/prepare.ts";
import { type ServerOptions, serveEnvironment } from "../src/env/openenv/Server.ts";
import { accessOf, listenError } from "../src/support/http/serverFlags.ts";
import { Stop } from "../src/support/process/Stop.ts";
import { boundEnvironments } from "./presets.ts";

export interface ServeEnvOptions extends Omit<ServerOptions, "environment" | "about" | "guard"> {
  readonly config: RunConfig;
  readonly tag: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Null takes the token from the environment. */
  readonly tokenFile: string | null;
}

const pureEnvironment = Effect.fnUntraced(function* (config: RunConfig, tag: string) {
  const environment = (yield* boundEnvironments(config, [tag])).get(tag);
  const preset = withLevels(config.custom_envs)[tag];
  if (environment === undefined || preset === undefined) {
    return yield* new BadInput({ message: `custom_envs has no environment ${tag}` });
  }
  if (environment.asynchronous) {
    const message = `${tag} waits for a server of its own, so there is nothing to serve: point env_config.url at that server`;
    return yield* new BadInput({ message });
  }
  if (environment.tools !== undefined) {
    const message = `${tag} offers tools, which the OpenEnv protocol has no place for; play it here`;
    return yield* new BadInput({ message });
  }
  return { environment, actions: preset.max_actions_per_traj };
});

const guardOf = Effect.fnUntraced(function* (options: ServeEnvOptions) {
  const { allowedHosts, allowedOrigins, host } = options;
  const { isPublic, token } = yield* accessOf(options, "clients");
  return { isPublic, hosts: isPublic ? [...allowedHosts, host] : allowedHosts, origins: allowedOrigins, token };
});

export const serveEnv = Effect.fn("pipelines.serveEnv")(function* (options: ServeEnvOptions) {
  const { config, tag } = options;
  const guard = yield* guardOf(options);
  const stop = yield* Stop;
  const { actions, environment } = yield* pureEnvironment(config, tag);
  yield* prepareAll(new Map([[tag, environment]]));
  const about = {
    name: tag,
    description: `Millrace's ${environment.type}, ${actions} actions an episode`,
    version: "1",
  };
  const serving = serveEnvironment({ ...options, environment, about, guard });
  const { sessions, url } = yield* Effect.catchTag(serving, "ListenFailed", listenError);
  const socket = `${url.replace(/^http/, "ws")}/ws`;
  const asks = guard.token === null ? "" : ", for clients with the token";
  yield* Console.log(
    `serving ${tag} (${environment.type}) at ${url} and ${socket}, ${options.maxSessions} sessions at most${asks}; Ctrl-C ends it`,
  );
  if (guard.isPublic) {
    yield* Console.error(
      `${options.host} is not this machine alone, and HTTP is not encrypted: whoever sees the token in it may play`,
    );
  }
  yield* stop.requested;
  yield* Console.log(`ending ${sessions()} sessions`);
}, Effect.scoped);
