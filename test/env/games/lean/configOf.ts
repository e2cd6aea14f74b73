/** A Lean configuration from some of its keys, without waits between attempts. */
import { Schema } from "effect";
import { LeanConfig } from "../../../../src/env/games/lean/LeanConfig.ts";

export const configOf = (keys: Readonly<Record<string, unknown>> = {}): LeanConfig =>
  Schema.decodeUnknownSync(LeanConfig)({ retry_wait: 0, ...keys });
