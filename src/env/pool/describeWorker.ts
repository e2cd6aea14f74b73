/** The work of the thread that describes presets: it loads their environments, which no other thread needs to do for that. */
import { Effect, Result } from "effect";
import type { BoundEnvironment, EnvironmentText } from "../contract/BoundEnvironment.ts";
import { explainPreset } from "../contract/explainPreset.ts";
import type { EnvironmentSpec, RegistryModule } from "../contract/Preset.ts";
import { collectLacks, collectReports } from "../contract/prepare.ts";

export interface DescribeRequest {
  /** URL of a `RegistryModule`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
  /** Environments are asked what they lack and what is to be known of their data. */
  readonly withData: boolean;
}

/** What the thread found of one preset. */
export type PresetDescription =
  | { readonly _tag: "Unusable"; readonly problem: string }
  | { readonly _tag: "Asynchronous" }
  | {
      readonly _tag: "Pure";
      readonly text: EnvironmentText;
      /** What is missing on this machine, a sentence each. */
      readonly lacks: readonly string[];
      /** What the user should know of the data, a sentence each. */
      readonly report: readonly string[];
    };

const textOf = (environment: EnvironmentText): EnvironmentText => {
  const { actionsInState, legend, type, wholeAnswer, wholeRewards } = environment;
  return { actionsInState, legend, type, wholeAnswer, wholeRewards };
};

const describePure = (tag: string, environment: BoundEnvironment, withData: boolean): Promise<PresetDescription> =>
  Effect.gen(function* () {
    const environments = new Map([[tag, environment]]);
    const lacks = withData ? ((yield* collectLacks(environments)).get(tag) ?? []) : [];
    // Data that is missing cannot be reported on.
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
