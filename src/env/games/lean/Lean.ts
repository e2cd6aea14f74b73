/**
 * Lean: the player proves a theorem in Lean 4, one tactic an action. Each tactic is appended to the script, and a Kimina Lean server checks the
 * whole; an accepted tactic stays, and a complete proof ends the episode. States hold nothing on the server. A server that fails costs the
 * episode (in RAGEN it counts as a rejected tactic).
 */
import { Effect } from "effect";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { Split } from "../../contract/Environment.ts";
import * as Dataset from "../dataset/Dataset.ts";
import { pythonRandom } from "../random/PythonRandom.ts";
import { check, healthProblem, longestMs } from "./KiminaServer.ts";
import { LeanConfig } from "./LeanConfig.ts";
import { initialState, isEnded, type LeanInfo, type LeanState, transitionAfter, unchangedTransition } from "./Proof.ts";
import { emptyTactic } from "./ProofCheck.ts";
import { observation, shortObservation } from "./ProofText.ts";
import { scriptOf, sourceOf } from "./Theorem.ts";

const reset = async (config: LeanConfig, instance: Random, split: Split): Promise<LeanState> => {
  const source = sourceOf(config);
  await Dataset.load(source);
  const draws = config.instances === "ragen" ? pythonRandom(instance.key.seed) : instance;
  return initialState(Dataset.draw(source, split, draws));
};

const step: AsyncEnvironment<LeanConfig, LeanState, LeanInfo>["step"] = async (
  config,
  state,
  action,
  _noise,
  signal,
) => {
  if (isEnded(config, state)) return unchangedTransition(config, state);
  const tactic = action.trim();
  if (tactic === "") return transitionAfter(config, state, tactic, emptyTactic);
  const script = `${scriptOf(config, state.theorem, [...state.tactics, tactic]).join("\n")}\n`;
  const id = `${state.theorem.name}-${state.steps + 1}`;
  const proofCheck = await Effect.runPromise(check(config, id, script), { signal });
  return transitionAfter(config, state, tactic, proofCheck);
};

const howToStart =
  "start one (docker run -p 8000:8000 projectnumina/kimina-lean-server:2.0.0, or from github.com/project-numina/kimina-lean-server) " +
  "and name its address in env_config.server_url";

export const Lean: AsyncEnvironment<LeanConfig, LeanState, LeanInfo> = {
  asynchronous: true,
  type: "lean",
  config: LeanConfig,
  reset,
  step,
  render: observation,
  compact: (_config, state) => shortObservation(state),
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { theorem }) => `lean:${theorem.preamble}\n${theorem.statement}`,
  capacity: (config) => config.in_flight,
  timeoutMs: longestMs,
  lacks: async (config) => {
    const [data, server] = await Promise.all([
      Dataset.lacks(sourceOf(config)),
      Effect.runPromise(healthProblem(config)),
    ]);
    return server === null ? data : [...data, `${server}; ${howToStart}`];
  },
  report: (config) => Dataset.report(sourceOf(config)),
  prepare: async (config) => {
    await Dataset.load(sourceOf(config));
  },
};
