/**
 * `millrace serve-env`: serves one pure environment of a run file by the OpenEnv protocol until a signal ends it, and prints one line that
 * says where. A tag that cannot be served and a port that is taken are bad input. There is no authentication, so it listens on loopback
 * unless another host is named.
 */
import { Console, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { prepareAll } from "../src/env/prepare.ts";
import { freePortAbove } from "../src/openenv/freePort.ts";
import { type ListenFailed, type ServerOptions, serve } from "../src/openenv/Server.ts";
import { Stop } from "../src/process/Stop.ts";
import { boundEnvironments } from "./presets.ts";

export interface ServeEnvOptions
  extends Pick<ServerOptions, "host" | "port" | "maxSessions" | "idleMs" | "maxSteps" | "maxMessageBytes"> {
  readonly config: RunConfig;
  readonly tag: string;
}

const loopback = "127.0.0.1";

const pureEnvironment = Effect.fnUntraced(function* (config: RunConfig, tag: string) {
  const environment = (yield* boundEnvironments(config, [tag])).get(tag);
  const preset = config.custom_envs[tag];
  if (environment === undefined || preset === undefined) {
    return yield* new BadInput({ message: `custom_envs has no environment ${tag}` });
  }
  if (environment.asynchronous) {
    const message = `${tag} waits for a server of its own, so there is nothing to serve: point env_config.url at that server`;
    return yield* new BadInput({ message });
  }
  return { environment, actions: preset.max_actions_per_traj };
});

/** Why the server cannot listen there, and the nearest port that is free. */
const unusable = Effect.fnUntraced(function* ({ code, host, port }: ListenFailed) {
  if (code !== "EADDRINUSE" && code !== "EACCES") {
    return yield* new BadInput({
      message: `--host: ${JSON.stringify(host)}: no address of this machine (${code}); nearest: ${loopback}`,
    });
  }
  const nearest = yield* Effect.promise(() => freePortAbove(host, port));
  const why = code === "EADDRINUSE" ? `in use on ${host}` : "not open to this user";
  return yield* new BadInput({ message: `--port: ${port}: ${why}; nearest: ${nearest ?? "none"}` });
});

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || /^127\./.test(host);

export const serveEnv = Effect.fn("pipelines.serveEnv")(function* ({ config, tag, ...options }: ServeEnvOptions) {
  const stop = yield* Stop;
  const { actions, environment } = yield* pureEnvironment(config, tag);
  yield* prepareAll(new Map([[tag, environment]]));
  const about = {
    name: tag,
    description: `Millrace's ${environment.type}, ${actions} actions an episode`,
    version: "1",
  };
  const { sessions, url } = yield* Effect.catchTag(serve({ ...options, environment, about }), "ListenFailed", unusable);
  const socket = `${url.replace(/^http/, "ws")}/ws`;
  yield* Console.log(
    `serving ${tag} (${environment.type}) at ${url} and ${socket}, ${options.maxSessions} sessions at most; Ctrl-C ends it`,
  );
  if (!isLoopback(options.host)) {
    yield* Console.error(
      `${options.host} is not this machine alone: whoever reaches it may play, there is no password`,
    );
  }
  yield* stop.requested;
  yield* Console.log(`ending ${sessions()} sessions`);
}, Effect.scoped);
