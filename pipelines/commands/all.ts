/** The commands of `millrace`, in the order in which help lists them. */

import { agent } from "./agent.ts";
import { brokerConfig } from "./brokerConfig.ts";
import type { CommandInfo } from "./Command.ts";
import { compare } from "./compare.ts";
import { config } from "./config.ts";
import { control } from "./control.ts";
import { env } from "./env.ts";
import { envs } from "./envs.ts";
import { evaluate } from "./evaluate.ts";
import { importCommand } from "./import.ts";
import { init } from "./init.ts";
import { leaderboard } from "./leaderboard.ts";
import { merge } from "./merge.ts";
import { plan } from "./plan.ts";
import { prompt } from "./prompt.ts";
import { report } from "./report.ts";
import { runs } from "./runs.ts";
import { serveEnv } from "./serveEnv.ts";
import { sft } from "./sft.ts";
import { sweep } from "./sweep.ts";
import { trace } from "./trace.ts";
import { train } from "./train.ts";
import { tune } from "./tune.ts";
import { untie } from "./untie.ts";
import { watch } from "./watch.ts";
import { worker } from "./worker.ts";

export const commands = [
  init,
  train,
  evaluate,
  sft,
  config,
  plan,
  tune,
  envs,
  env,
  agent,
  trace,
  prompt,
  serveEnv,
  watch,
  control,
  report,
  sweep,
  runs,
  compare,
  leaderboard,
  merge,
  importCommand,
  untie,
  worker,
  brokerConfig,
] as const;

/** The command line answers it itself, because it explains all the others. */
export const helpInfo: CommandInfo = {
  name: "help",
  usage: "help [COMMAND | config [SECTION]]",
  meaning: "Explains a command, or lists every key of a run file.",
};

/** Maps the name of a command to what help says of it. */
export const infos: ReadonlyMap<string, CommandInfo> = new Map(
  [...commands.map(({ info }) => info), helpInfo].map((info) => [info.name, info]),
);
