/**
 * Measures what crashes of agents do to success and to advantages: the small model plays FrozenLake as an agent, 5 % of the episodes are failed
 * afterwards, and each is left out, as Millrace does, or counted as 0.
 */
import { join } from "node:path";
import { Effect } from "effect";
import { agentOverrides } from "../pipelines/agentOverrides.ts";
import { configDir } from "../pipelines/paths.ts";
import { load } from "../src/config/resolve.ts";
import type { Group } from "../src/domain/Group.ts";
import { openAgents } from "../src/engine/agents.ts";
import * as Backend from "../src/engine/Backend.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as Model from "../src/model/Model.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import type { Bench, Figure } from "./Bench.ts";
import { type CrashBias, callsByEnd, crashBias, type Hazard, hazards } from "./crashBias.ts";

const GROUPS = 128;
const GROUP_SIZE = 8;
const AT_ONCE = 8;
const RATE = 0.05;
const DRAWS = 200;

/** Plays groups of the example agent by the embedded model. */
const playGroups = (groups: number): Promise<readonly Group[]> =>
  Effect.gen(function* () {
    const config = yield* load(
      "quickstart",
      [
        `model.path=${join(configDir, "models", "nano")}`,
        ...agentOverrides(join(packageRoot, "docs/examples/agents/lake/agent.ts")),
        "agent.threads=1",
      ],
      configDir,
    );
    const model = yield* Model.load(config.model.path);
    const policy = yield* localGenerator(config, model, 0);
    const players = yield* openAgents(config, model);
    const play = players.get(config.agent.tag);
    if (play === undefined) return yield* Effect.die(new Error("there is no agent"));
    const rollout = yield* Backend.makeRollout(config, model, new Map(), players);
    const mode = Rollout.trainingMode(config, new Set());
    return yield* Effect.forEach(
      Array.from({ length: groups }, (_, group) => group),
      (group) => play(rollout, mode, { group, tag: config.agent.tag, seed: group, size: GROUP_SIZE, admittedAt: 0 }),
      { concurrency: AT_ONCE },
    ).pipe(Effect.provideService(Policy, policy));
  }).pipe(Effect.scoped, Effect.runPromise);

const figuresOf = (hazard: Hazard, bias: CrashBias): readonly Figure[] => {
  const name = `crashes in ${hazard}`;
  return [
    { name: `${name}: share that crashes`, value: 100 * bias.crashed, unit: "%" },
    { name: `${name}: their success, had they not`, value: 100 * bias.crashedSuccess, unit: "%" },
    { name: `${name}: bias of success, left out`, value: 100 * bias.masked, unit: "points" },
    { name: `${name}: bias of success, counted as 0`, value: 100 * bias.zero, unit: "points" },
    { name: `${name}: cosine of expected advantages, left out`, value: bias.maskedCosine, unit: "" },
    { name: `${name}: cosine of expected advantages, counted as 0`, value: bias.zeroCosine, unit: "" },
    { name: `${name}: advantage of crashed successes, true`, value: bias.trueAdvantage, unit: "" },
    { name: `${name}: advantage of crashed successes, counted as 0`, value: bias.zeroAdvantage, unit: "" },
  ];
};

/** Figures of every hazard over the same episodes. */
export const measure = (groups: readonly Group[]): readonly Figure[] => {
  const episodes = groups.flatMap((group) => group.episodes);
  const calls = callsByEnd(groups);
  const names = Object.keys(hazards).filter((name): name is Hazard => name in hazards);
  const biases = names.map((hazard) => [hazard, crashBias(groups, RATE, hazard, DRAWS)] as const);
  return [
    {
      name: "success without crashes",
      value: 100 * (biases[0]?.[1].success ?? 0),
      unit: "%",
      note: `${episodes.length} episodes`,
    },
    { name: "calls of an episode that succeeds", value: calls.success, unit: "" },
    { name: "calls of an episode that does not", value: calls.failure, unit: "" },
    ...biases.flatMap(([hazard, bias]) => figuresOf(hazard, bias)),
  ];
};

export const bench: Bench = {
  question: "what do crashes of agents do to success and to advantages?",
  parts: [
    async () => {
      const figures = measure(await playGroups(GROUPS));
      return () => figures;
    },
  ],
};
