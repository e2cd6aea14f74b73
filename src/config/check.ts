/**
 * Checks the relations between keys of a decoded run file, which the schema of one key cannot see.
 * Each problem is one line with a key, its value and the nearest valid one, in the order of the list below.
 */

import { agent } from "./checks/agent.ts";
import { analysis } from "./checks/analysis.ts";
import { bestMetric } from "./checks/bestMetric.ts";
import type { Check } from "./checks/Check.ts";
import { creditChecks } from "./checks/credit.ts";
import { devices } from "./checks/devices.ts";
import { endpoints, playerNames } from "./checks/evaluation.ts";
import { refill, refillRounds, strategies } from "./checks/filter.ts";
import { generator } from "./checks/generator.ts";
import { groupSize, groups, products, tagNames, tags } from "./checks/groups.ts";
import { learner, lora } from "./checks/learner.ts";
import { levels } from "./checks/levels.ts";
import { customLoss, divergence, policyLoss, responseMask } from "./checks/loss.ts";
import { replay } from "./checks/replay.ts";
import { capacity, context, lengths, thoughts } from "./checks/rollout.ts";
import { sampling, temperatures } from "./checks/sampling.ts";
import { schedule } from "./checks/schedule.ts";
import { clonedData, heads, parameters } from "./checks/sft.ts";
import { workers } from "./checks/workers.ts";

const checks: readonly Check[] = [
  clonedData,
  groups,
  tagNames,
  tags,
  levels,
  temperatures,
  products,
  parameters,
  sampling,
  lengths,
  heads,
  groupSize,
  ...creditChecks,
  policyLoss,
  customLoss,
  responseMask,
  divergence,
  lora,
  learner,
  context,
  thoughts,
  capacity,
  devices,
  workers,
  schedule,
  replay,
  agent,
  generator,
  strategies,
  refill,
  refillRounds,
  bestMetric,
  analysis,
  endpoints,
  playerNames,
];

export const check: Check = (config) => checks.flatMap((run) => run(config));
