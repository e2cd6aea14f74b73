/**
 * Checks that the packages of a run file's runtime are installed, before anything starts. Invariant: it loads none of
 * them.
 */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { installedPeer, MISSING_PEER, type ResolvePackage } from "../src/model/runtime/tfjs/peer.ts";

/** Fails with BadInput where `model.runtime` is tfjs and none of its packages is found. `find` is Node's own look-up by default. */
export const checkRuntime = (
  { model }: Pick<RunConfig, "model">,
  find?: ResolvePackage,
): Effect.Effect<void, BadInput> =>
  model.runtime === "tfjs" && installedPeer(find) === undefined
    ? Effect.fail(new BadInput({ message: MISSING_PEER }))
    : Effect.void;
