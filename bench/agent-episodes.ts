/**
 * Measures what an agent costs in episodes a second: the quickstart without an agent, the same lake played by an agent that uses fetch, and by one
 * with the `openai` package, in turns. The last is left out where the package is not installed (`bash test/clients/install.sh`).
 */
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentOverrides } from "../pipelines/agentOverrides.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { samplesOf } from "./samples.ts";
import { pace, trainingRun } from "./trainingRun.ts";

const STEPS = 12;
const ROUNDS = 5;
/** Episodes of one of the quickstart's steps. */
const EPISODES = 128;

const clients = join(process.env.MILLRACE_CLIENTS ?? join(packageRoot, ".clients"), "npm", "node_modules");

/** The overrides of each side by its name, over a copy of the example agents beside the packages of their clients. */
const sidesIn = (folder: string): ReadonlyMap<string, readonly string[]> => {
  cpSync(join(packageRoot, "docs/examples/agents/lake"), folder, { recursive: true });
  const sides = new Map([
    ["without an agent", []],
    ["by fetch", agentOverrides(join(folder, "agent.ts"))],
  ]);
  if (!existsSync(join(clients, "openai"))) return sides;
  symlinkSync(clients, join(folder, "node_modules"));
  return sides.set("by openai", agentOverrides(join(folder, "openaiAgent.ts")));
};

export const bench: Bench = {
  question: "how many episodes a second does an agent play, beside a run without one?",
  parts: [
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "millrace-agents-"));
      const sides = [...sidesIn(folder)];
      const speeds = new Map(sides.map(([name]) => [name, [] as number[]]));
      try {
        for (let round = 0; round < ROUNDS; round++) {
          // Each round begins with another side, so that a machine that slows down favours none.
          for (const [name, overrides] of [
            ...sides.slice(round % sides.length),
            ...sides.slice(0, round % sides.length),
          ]) {
            const ms = pace(await trainingRun({ overrides, lasts: { steps: STEPS } }));
            speeds.get(name)?.push((EPISODES * 1000) / ms);
          }
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
      const note = `${STEPS} steps of the quickstart without its filter`;
      return () =>
        sides.flatMap(([name], side): readonly Figure[] => {
          const sideSpeeds = speeds.get(name) ?? [];
          const without = speeds.get("without an agent") ?? [];
          const ratios = samplesOf(sideSpeeds.map((speed, round) => speed / (without[round] ?? Number.NaN)));
          const ratio = figureOf(`episodes a second ${name} over those without an agent`, "", ratios, {
            target: { atLeast: 0.8 },
            note,
          });
          return [...(side === 0 ? [] : [ratio]), figureOf(`episodes a second ${name}`, "/s", samplesOf(sideSpeeds))];
        });
    },
  ],
};
