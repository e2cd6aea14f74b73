/** The run file of the run, decoded, as a service. */
import { Context } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";

export class Config extends Context.Service<Config, RunConfig>()("millrace/engine/Config") {}
