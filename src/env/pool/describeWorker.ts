/** The entry of the thread that describes presets, so that only this thread has to load their environments. */
import { Effect, Result } from "effect";
import type { Introduction } from "../contract/AsyncEnvironment.ts";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import { explainPreset } from "../contract/explainPreset.ts";
import type { EnvironmentSpec, RegistryModule } from "../contract/Preset.ts";
import { collectLacks, collectReports } from "../contract/prepare.ts";

export interface DescribeRequest {
  /** URL of a `RegistryModule`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
  /** If true, environments are also asked for their lacks and their reports. */
  readonly withData: boolean;
}

/** The description of one preset. */
export type PresetDescription =
  | { readonly _tag: "Unusable"; readonly problem: string }
  | { readonly _tag: "Asynchronous" }
  | {
      readonly _tag: "Pure";
      readonly text: Introduction;
      /** One sentence for each thing that is missing on this machine. */
      readonly lacks: readonly string[];
      /** Sentences that the user should know about the data. */
      readonly report: readonly string[];
    };

const textOf = (environment: Introduction): Introduction => {
  const { actionsInState, legend, tools, type, wholeAnswer, wholeRewards } = environment;
  const text = { actionsInState, legend, type, wholeAnswer, wholeRewards };
  return tools === undefined ? text : { ...text, tools };
};

const describePure = (tag: string, environment: BoundEnvironment, withData: boolean): Promise<PresetDescription> =>
  Effect.gen(function* () {
    const environments = new Map([[tag, environment]]);
    const lacks = withData ? ((yield* collectLacks(environments)).get(tag) ?? []) : [];
    // Missing data gives no report.
    const report = withData && lacks.length === 0 ? ((yield* collectReports(environments)).get(tag) ?? []) : [];
    return { _tag: "Pure" as const, text: textOf(environment), lacks, report };
  }).pipe(
    Effect.catch(({ message }) => Effect.succeed({ _tag: "Unusable" as const, problem: `custom_envs.${message}` })),
    Effect.runPromise,
  );

export default async (request: DescribeRequest): Promise<ReadonlyMap<string, PresetDescription>> => {
  const { presets, registry, withData } = request;
  const { decodePreset, loadRegistry }: RegistryModule = await import(registry);
  const loaded = await loadRegistry(Object.values(presets).map(({ env_type }) => env_type));
  const descriptions = new Map<string, PresetDescription>();
  for (const [tag, preset] of Object.entries(presets)) {
    const decoded = decodePreset(tag, preset, loaded);
    if (Result.isFailure(decoded)) descriptions.set(tag, { _tag: "Unusable", problem: explainPreset(decoded.failure) });
    else if (decoded.success.asynchronous) descriptions.set(tag, { _tag: "Asynchronous" });
    else descriptions.set(tag, await describePure(tag, decoded.success, withData));
  }
  return descriptions;
};
