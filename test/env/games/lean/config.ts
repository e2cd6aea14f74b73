/** A Lean configuration from some of its keys, without waits between attempts. */
import { LeanConfig } from "../../../../src/env/games/lean/LeanConfig.ts";
import { configsOf } from "../../../build/config.ts";

export const configWith = configsOf(LeanConfig, { retry_wait: 0 });
