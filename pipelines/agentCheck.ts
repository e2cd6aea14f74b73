/**
 * `millrace agent check`: plays two episodes of one task at once by a model, and says whether the agent can be trained, and why not. Findings are
 * fatal, warnings or notes.
 */
import { Context, Effect, Layer } from "effect";
import { type CheckedEpisode, findingsOf, treeLines } from "../src/agents/check/findings.ts";
import { rescoringFindings, templateFindings } from "../src/agents/check/modelFindings.ts";
import type { Session } from "../src/agents/session/Session.ts";
import type { CallNode } from "../src/agents/tree/CallTree.ts";
import { agentForms, isAgentTag } from "../src/config/agentForms.ts";
import { playedTags } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { type Episode, rewardOf, succeeded, totalTokens } from "../src/domain/Episode.ts";
import { openAgentModel, openAgents } from "../src/engine/agents.ts";
import * as Backend from "../src/engine/Backend.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import { Policy } from "../src/generation/Policy.ts";
import type { Tokenizer } from "../src/model/tokenizer/Tokenizer.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { loadPlayedModel } from "./playedModel.ts";
import { rescoringOf } from "./rescoring.ts";

/** Result of a check. */
export interface AgentCheck {
  /** Nothing fatal was found. */
  readonly isTrainable: boolean;
  readonly lines: readonly string[];
}

const outcomeText = (episode: Episode): string => {
  const { outcome } = episode;
  if (outcome._tag === "Failed") return `failed: ${outcome.reason}`;
  const cut = outcome._tag === "Truncated" ? `, cut by ${outcome.reason}` : "";
  return `reward ${rewardOf(episode)}, ${succeeded(episode) ? "success" : "no success"}${cut}, ${totalTokens(episode)} tokens`;
};

/** Most lines of a text that is shown. */
const mostLines = 30;

const indented = (text: string): readonly string[] => {
  const lines = text.split("\n");
  const shown = lines.slice(0, mostLines).map((line) => `  ${line}`);
  return lines.length > mostLines ? [...shown, `  … ${lines.length - mostLines} more lines`] : shown;
};

/** The first call as the model has it: the whole prompt, and the reply as it was sampled. */
const firstCallLines = (node: CallNode | undefined, decode: Tokenizer["decode"]): readonly string[] =>
  node === undefined
    ? []
    : [
        "",
        "call 1 shows the model:",
        ...indented(decode(node.prompt)),
        "and samples:",
        ...indented(decode(node.sampled.ids)),
      ];

/** Says what the run file leaves out of an agent's setup; none where nothing is. */
const setupNotes = ({ agent }: RunConfig): readonly string[] => {
  const takesTasks = agentForms(agent).some((form) => form === "command" || form === "outside");
  return takesTasks && agent.tasks === "" ? ["note: agent.tasks is not set: the task of each episode is null"] : [];
};

/** Plays two episodes of the first training task under `config`, whose agent is set. */
export const agentCheck = Effect.fn("pipelines.agentCheck")(function* (config: RunConfig) {
  const checked: { readonly episode: Episode; readonly session: Session }[] = [];
  const model = yield* loadPlayedModel(config, config.model.path);
  const policy = yield* localGenerator(config, model, 0);
  const agentModel = yield* openAgentModel(config, model);
  const players = yield* openAgents(config, model, {
    model: agentModel,
    onPlayed: (episode, session) => void checked.push({ episode, session }),
  });
  const rollout = yield* Backend.makeRollout(config, model, new Map(), players);
  const pool = yield* Layer.build(Pool.layer(config, { texts: new Map(), onMainThread: new Map() }, gamesUrl));
  const tag = playedTags(config, "train").find((each) => isAgentTag(config.agent, each)) ?? config.agent.tag;
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
  const rescoring = yield* rescoringOf(
    config,
    model.checkpoint,
    prompt,
    found.map(({ episode }) => episode),
  );
  const findings = findingsOf(found, [
    ...templateFindings(agentModel.rewriting, found),
    ...(rescoring === null ? [] : rescoringFindings(rescoring)),
  ]);
  const isTrainable = findings.every(({ grade }) => grade !== "fatal");
  const lines = [
    ...found.flatMap(({ episode, roots }) => [
      `episode ${episode.id.member + 1}: ${outcomeText(episode)}`,
      ...treeLines(roots).map((line) => `  ${line}`),
    ]),
    ...firstCallLines(found[0]?.roots[0], model.tokenizer.decode),
    "",
    ...findings.map(({ grade, sentence }) => `${grade}: ${sentence}`),
    ...setupNotes(config),
    isTrainable ? "this agent can be trained" : "this agent cannot be trained as it is",
  ];
  return { isTrainable, lines };
}, Effect.scoped);
