/**
 * `millrace agent check`: plays two episodes of one task at once by a model, and says whether the agent can be trained, and why not. Findings are
 * fatal, warnings or notes.
 */
import { Context, Effect, Layer } from "effect";
import { type CheckedEpisode, findingsOf, treeLines } from "../src/agents/check/findings.ts";
import type { Session } from "../src/agents/session/Session.ts";
import { isAgentTag } from "../src/config/agentForms.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { type Episode, rewardOf, succeeded, totalTokens } from "../src/domain/Episode.ts";
import { openAgents } from "../src/engine/agents.ts";
import * as Backend from "../src/engine/Backend.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { loadPlayedModel } from "./playedModel.ts";

/** Result of a check. */
export interface AgentCheck {
  /** Nothing fatal was found. */
  readonly isTrainable: boolean;
  readonly lines: readonly string[];
}

const outcomeText = (episode: Episode): string => {
  const { outcome } = episode;
  if (outcome._tag === "Failed") return `failed: ${outcome.reason}: ${outcome.message}`;
  const cut = outcome._tag === "Truncated" ? `, cut by ${outcome.reason}` : "";
  return `reward ${rewardOf(episode)}, ${succeeded(episode) ? "success" : "no success"}${cut}, ${totalTokens(episode)} tokens`;
};

/** Plays two episodes of the first training task under `config`, whose agent is set. */
export const agentCheck = Effect.fn("pipelines.agentCheck")(function* (config: RunConfig) {
  const checked: { readonly episode: Episode; readonly session: Session }[] = [];
  const model = yield* loadPlayedModel(config, config.model.path);
  const policy = yield* localGenerator(config, model, 0);
  const players = yield* openAgents(config, model, (episode, session) => void checked.push({ episode, session }));
  const rollout = yield* Backend.makeRollout(config, model, new Map(), players);
  const pool = yield* Layer.build(Pool.layer(config, { texts: new Map(), onMainThread: new Map() }, gamesUrl));
  const tag = config.es_manager.train.tags.find((each) => isAgentTag(config.agent, each)) ?? config.agent.tag;
  const prompt = { group: 0, tag, seed: config.es_manager.train.seed, size: 2, admittedAt: 0 };
  yield* Effect.provideContext(
    GroupProgram.play(rollout, Rollout.trainingMode(config, new Set()), prompt),
    Context.add(pool, Policy, policy),
  );
  const episodes = checked.toSorted((a, b) => a.episode.id.member - b.episode.id.member);
  const found: readonly CheckedEpisode[] = episodes.map(({ episode, session: { ignoredWishes, limit, tree } }) => ({
    episode,
    limit,
    roots: tree.roots,
    ignoredWishes: [...ignoredWishes],
  }));
  const findings = findingsOf(found);
  const isTrainable = findings.every(({ grade }) => grade !== "fatal");
  const lines = [
    ...found.flatMap(({ episode, roots }) => [
      `episode ${episode.id.member + 1}: ${outcomeText(episode)}`,
      ...treeLines(roots).map((line) => `  ${line}`),
    ]),
    "",
    ...findings.map(({ grade, sentence }) => `${grade}: ${sentence}`),
    isTrainable ? "this agent can be trained" : "this agent cannot be trained as it is",
  ];
  return { isTrainable, lines };
}, Effect.scoped);
