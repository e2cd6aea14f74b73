/** Configurations and tasks of DeepCoder. */
import { DeepCoderConfig } from "../../../../src/env/games/deepcoder/DeepCoderConfig.ts";
import type { Task } from "../../../../src/env/games/deepcoder/Task.ts";
import { configsOf } from "../../../build/config.ts";

export const configWith = configsOf(DeepCoderConfig);

/** Room enough that no machine is too slow for what is to succeed. */
export const roomy = { language: "javascript", test_timeout: 30, total_timeout: 120 } as const;

export const doubling: Task = {
  name: "double",
  problem: "Double a number.",
  entry: "double",
  parameters: ["number"],
  starter: "",
  tests: [
    { input: "[1]", outputs: ["2"] },
    { input: "[0]", outputs: ["0"] },
    { input: "[-3]", outputs: ["-6"] },
    { input: "[true]", outputs: ["null"] },
  ],
  examples: 1,
};

export const echoing: Task = {
  name: "echo",
  problem: "Print the input.",
  entry: null,
  parameters: null,
  starter: "",
  tests: [
    { input: "a\nb\n", outputs: ["a\nb"] },
    { input: "1\n", outputs: ["1"] },
  ],
  examples: 1,
};
