/** Presets in wrappers, and the visible parts of an episode, without its states. */
import { Result } from "effect";
import type {
  AnyEnvironment,
  BoundAsyncEnvironment,
  BoundEnvironment,
} from "../../../src/env/contract/BoundEnvironment.ts";
import { wrapAll } from "../../../src/env/wrappers/registry.ts";
import { type Act, instanceOf, playWaiting } from "../contract/players.ts";

type Keys = Readonly<Record<string, unknown>>;

export const wrapped = <Kind extends AnyEnvironment>(environment: Kind, ...list: readonly Keys[]): Kind => {
  const result = Result.getOrThrow(wrapAll(environment, list));
  if (result.asynchronous !== environment.asynchronous) throw new Error("a wrapper changed the kind");
  return result as Kind;
};

/** The state inside `depth` wrappers. */
export const inside = (state: unknown, depth: number): unknown =>
  depth === 0 ? state : inside((state as { readonly inner: unknown }).inner, depth - 1);

/** A player that chooses by the unwrapped state. */
export const actInside =
  (act: Act, depth: number): Act =>
  (state, random) =>
    act(inside(state, depth), random);

const planOf = ({ reset, solve }: BoundEnvironment, seed: number) => solve?.(reset(instanceOf(seed), "train")) ?? null;

/** Everything shown and earned in a random episode of at most `count` actions. */
export const seen = async (
  environment: BoundEnvironment | BoundAsyncEnvironment,
  seed: number,
  count: number,
  act?: Act,
): Promise<unknown> => {
  const { signal } = new AbortController();
  const { actions, transitions } = await playWaiting(environment, seed, 0, count, signal, act);
  return {
    actions,
    legend: environment.legend,
    plan: environment.asynchronous ? null : planOf(environment, seed),
    steps: transitions.map(({ state, ...rest }) => ({
      ...rest,
      render: environment.render(state),
      compact: environment.compact(state),
      actions: environment.actions(state),
      contentKey: environment.contentKey(state),
    })),
  };
};
