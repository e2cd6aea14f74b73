/**
 * Entry of an environment thread: loads, binds and prepares its presets once, then answers batches, one answer per request. It holds no
 * state between batches. Before each request it notes the time, by which the main thread detects a hang.
 */
import { workerData } from "node:worker_threads";
import type { BoundEnvironment } from "../BoundEnvironment.ts";
import { prepare } from "../prepare.ts";
import type { Answer, Request } from "../Request.ts";
import type { decodePreset, loadRegistry, PresetFrame } from "../registry.ts";
import { answer } from "./answer.ts";

export interface Setup {
  /** URL of a module that exports `loadRegistry` and `decodePreset`. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, PresetFrame>>;
}

export interface Batch {
  readonly requests: readonly Request[];
  /** One shared cell: 1 + milliseconds since `epoch` at which the current request began; 0 before the first and after the last. */
  readonly clock: Int32Array;
  /** Milliseconds since the epoch of the process's clock. */
  readonly epoch: number;
}

const bindAll = async ({ presets, registry }: Setup): Promise<ReadonlyMap<string, BoundEnvironment>> => {
  const module: { readonly loadRegistry: typeof loadRegistry; readonly decodePreset: typeof decodePreset } =
    await import(registry);
  const loaded = await module.loadRegistry(Object.values(presets).map(({ env_type }) => env_type));
  const bound = new Map<string, BoundEnvironment>();
  for (const [tag, preset] of Object.entries(presets)) {
    const decoded = module.decodePreset(tag, preset, loaded);
    if (decoded._tag === "Failure") {
      const why = decoded.failure._tag === "UnusableModule" ? `: ${decoded.failure.reason}` : "";
      throw new Error(`${decoded.failure.path.join(".")} cannot be used${why}`);
    }
    if (decoded.success.asynchronous) throw new Error(`${tag} is asynchronous, so no thread can play it`);
    // One after the other: presets of one environment read the same files, which the first then has loaded.
    await prepare(tag, decoded.success);
    bound.set(tag, decoded.success);
  }
  return bound;
};

const environments = await bindAll(workerData as Setup);

export default ({ requests, clock, epoch }: Batch): readonly Answer[] => {
  const answers = requests.map((request) => {
    const begun = performance.timeOrigin + performance.now() - epoch;
    Atomics.store(clock, 0, 1 + Math.max(0, Math.floor(begun)));
    return answer(environments, request);
  });
  Atomics.store(clock, 0, 0);
  return answers;
};
