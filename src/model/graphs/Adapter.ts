/**
 * A low-rank adapter (Hu et al. 2021) as a description: its rank, its alpha and the linear layers it stands beside. A layer W x becomes
 * W x + (alpha / rank) B A x, where only A [rank, in] and B [out, rank] are trained. Invariant: the rank is 1 or more.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import { loraTargets } from "../../domain/loraTargets.ts";

/** The linear layers of a block that an adapter may stand beside, by their names at PEFT. */
export const adaptable = loraTargets;
export type Adaptable = (typeof adaptable)[number];

export interface Adapter {
  readonly rank: number;
  readonly alpha: number;
  /** In the order of `adaptable`, each once. */
  readonly targets: readonly Adaptable[];
}

/** The adapter that `model.lora` asks for; undefined where it asks for none. */
export const adapterFromKeys = (lora: RunConfig["model"]["lora"]): Adapter | undefined => {
  const { alpha, rank, target_modules: names } = lora;
  return rank === 0 ? undefined : { rank, alpha, targets: names === "all-linear" ? adaptable : inLayerOrder(names) };
};

/** The factor on B A x. */
export const scaleOf = ({ alpha, rank }: Adapter): number => alpha / rank;

/** The layers among `names`, in the order of `adaptable`. */
export const inLayerOrder = (names: Iterable<string>): readonly Adaptable[] => {
  const nameSet = new Set(names);
  return adaptable.filter((name) => nameSet.has(name));
};
