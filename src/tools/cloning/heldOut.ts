/**
 * Content keys of the instances that cloning must not show: the validation instances of every source's environment. Seeds are counted
 * without regard to a validation's mix of tags, so the set holds at least every instance that any validation with this seed and number of
 * groups plays.
 */
import { stream } from "../../domain/Random.ts";
import { instanceKey } from "../../rollout/keys.ts";
import type { Source } from "./Demonstration.ts";

export const heldOut = (
  sources: readonly Pick<Source, "environment" | "player">[],
  validation: { readonly seed: number; readonly env_groups: number },
): ReadonlySet<string> =>
  new Set(
    sources
      // Random play teaches a form and no instance; its environments may have few instances in all (Bandit).
      .filter(({ player }) => player === "solver")
      .flatMap(({ environment }) =>
        Array.from({ length: validation.env_groups }, (_, group) =>
          environment.contentKey(environment.reset(stream(instanceKey(validation.seed + group)), "val")),
        ),
      ),
  );
