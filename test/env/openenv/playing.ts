/** Plays environments that an OpenEnv server backs, as the tests of ALFWorld and WebShop do. */
import type { BoundAsyncEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import type { RemoteError } from "../../../src/env/openenv/RemoteError.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { patient, rejection } from "./serving.ts";
import { observe, standIn } from "./standIn.ts";

/** Plays the actions on the instance of seed 7 and releases the episode. */
export const playSeven = async (environment: BoundAsyncEnvironment, actions: readonly string[]) => {
  const start = await environment.reset(instanceOf(7), "train", patient());
  let state = start;
  const transitions = [];
  for (const [at, action] of actions.entries()) {
    const transition = await environment.step(state, action, noiseOf(7, 0, at), patient());
    transitions.push(transition);
    state = transition.state;
  }
  await environment.release?.(state);
  return { environment, start, state, transitions, last: transitions.at(-1)! };
};

/** The content key of a seed's instance. */
export const keyOfSeed = async (environment: BoundAsyncEnvironment, seed: number): Promise<string> =>
  environment.contentKey(await environment.reset(instanceOf(seed), "train", patient()));

/** The failure of a reset on a server whose observations are not those of the environment. */
export const resetOnForeignServer = async (
  environmentAt: (url: string) => BoundAsyncEnvironment,
): Promise<RemoteError> => {
  const server = await standIn({ hear: (socket) => observe(socket, { text: "hello" }) });
  const error = await rejection(environmentAt(server.url).reset(instanceOf(7), "train", patient()));
  await server.close();
  return error;
};
