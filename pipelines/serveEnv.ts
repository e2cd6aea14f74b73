/**
 * `millrace serve-env`: one pure environment of a run file served by the OpenEnv protocol, until a signal ends it. Leaves one line that
 * says where; a tag that cannot be served and a port that cannot be had are bad input. Without authentication, so on loopback unless
 * another host is named.
 */
import { Console, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { signals } from "../src/engine/Stop.ts";
import { prepareAll } from "../src/env/prepare.ts";
import { freePortAbove } from "../src/openenv/freePort.ts";
import { type ListenFailed, type ServerOptions, serve } from "../src/openenv/Server.ts";
import { boundEnvironments } from "./presets.ts";

export interface ServeEnvOptions
  extends Pick<ServerOptions, "host" | "port" | "maxSessions" | "idleMs" | "maxSteps" | "maxMessageBytes"> {
  readonly config: RunConfig;
  readonly tag: string;
}

const loopback = "127.0.0.1";

const pureEnvironment = Effect.fnUntraced(function* (config: RunConfig, tag: string) {
  const environment = (yield* boundEnvironments(config, [tag])).get(tag)!;
  if (environment.asynchronous) {
    const message = `${tag} waits for a server of its own, so there is nothing to serve: point env_config.url at that server`;
    return yield* new BadInput({ message });
  }
  return environment;
});

/** Why the port cannot be had, and what is next to it. */
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
  const stop = yield* signals;
  const environment = yield* pureEnvironment(config, tag);
  yield* prepareAll(new Map([[tag, environment]]));
  const { max_actions_per_traj } = config.custom_envs[tag];
  const about = {
    name: tag,
    description: `Millrace's ${environment.type}, ${max_actions_per_traj} actions an episode`,
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
