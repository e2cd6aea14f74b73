/** The check of every run before it starts a thread: what its threads reserve of address space against what there is. */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { currentLimits, type MemoryLimit, mappedBytes } from "../src/support/process/memoryLimits.ts";
import { addressSpace } from "../src/tools/planning/AddressSpace.ts";
import type { PipelineName } from "./pipelineName.ts";
import { addressSpaceLine } from "./planLines.ts";

/** The lowest limit of a kind, where the system has any. */
export const lowestLimit = (
  limits: readonly MemoryLimit[],
  resource: MemoryLimit["resource"] = "memory",
): MemoryLimit | null =>
  limits.filter((limit) => limit.resource === resource).sort((a, b) => a.bytes - b.bytes)[0] ?? null;

/** Fails with BadInput where the threads of a run reserve more address space than there may be. */
export const checkAddressSpace = (pipeline: PipelineName, config: RunConfig): Effect.Effect<void, BadInput> => {
  const { bytes, threads } = addressSpace({ pipeline, config });
  const need = mappedBytes() + bytes;
  const limit = lowestLimit(currentLimits(), "address space");
  return limit === null || need <= limit.bytes
    ? Effect.void
    : Effect.fail(new BadInput({ message: addressSpaceLine(limit, need, threads) }));
};
