/** The templates by the names `rollout.template` takes. */
import type { RunConfig } from "../config/RunConfig.ts";
import { compact } from "./compact.ts";
import { ragen } from "./ragen.ts";
import type { Template, TemplateOptions } from "./Template.ts";

export const templates: Readonly<Record<RunConfig["rollout"]["template"], (options: TemplateOptions) => Template>> = {
  ragen,
  compact,
};
