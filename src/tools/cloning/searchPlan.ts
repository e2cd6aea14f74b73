/** A plan for an environment without a solver: a breadth-first search of its own steps. */
import { stream } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../../env/contract/BoundEnvironment.ts";

/** Most states from which a search takes steps: at a few microseconds a step it stays below 0.1 s. */
const mostStates = 2_000;

interface Visited {
  readonly state: unknown;
  readonly plan: readonly string[];
}

/**
 * A shortest plan to success, with chance drawn once for each length of plan; null where the environment does not list its actions, or none
 * of the first 2 000 states leads to success.
 */
export const searchPlan = (
  { actions, step }: Pick<BoundEnvironment, "actions" | "step">,
  start: unknown,
): readonly string[] | null => {
  const seen = new Set([JSON.stringify(start)]);
  const queue: Visited[] = [{ state: start, plan: [] }];
  for (let at = 0; at < Math.min(queue.length, mostStates); at++) {
    const { plan, state } = queue[at] as Visited;
    for (const action of actions(state) ?? []) {
      const noise = stream({ seed: 0, purpose: "cloning", counters: [plan.length] });
      const next = step(state, action, noise);
      if (next.info.success) return [...plan, action];
      const key = JSON.stringify(next.state);
      if (next.terminated || next.truncated || seen.has(key)) continue;
      seen.add(key);
      queue.push({ state: next.state, plan: [...plan, action] });
    }
  }
  return null;
};
