/** Opens the model of a recorded run's generator, as the run had it, for the verification of its tokens. */
import { isFixedLag } from "../../config/fixedLag.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { isResident } from "../../domain/Device.ts";
import { localModel } from "../../generation/Generator.ts";
import { open } from "../../generation/OnnxModel.ts";
import { openResident } from "../../generation/ResidentModel.ts";
import type { Model } from "../../model/Model.ts";
import { useRuntime } from "../../model/runtime/Session.ts";
import { Verification, type VerificationOptions } from "./Verification.ts";

/** A verification, whatever form its weights have. */
export type OpenedVerification = Pick<
  Verification<unknown>,
  "collect" | "receive" | "begin" | "caughtUp" | "result" | "close"
>;

/** Windows that may be played while one is trained on. A sync run plays one after the other. */
const stalenessOf = (config: RunConfig): number =>
  config.pipeline.mode === "async" || isFixedLag(config) ? config.pipeline.max_staleness : 0;

export const openVerification = async (config: RunConfig, model: Model): Promise<OpenedVerification> => {
  const { config: decoder, runtime, ...options } = localModel(config, model, "changing");
  useRuntime(runtime);
  const settings: VerificationOptions = {
    slots: config.generation.slots,
    prefillTokens: config.generation.prefill_tokens,
    // One more: a version may be adopted while the window before is still open.
    staleness: stalenessOf(config) + 1,
  };
  const { base, device, format } = options;
  return isResident(device) && format !== "int8"
    ? new Verification(await openResident(decoder, device, base, format), settings)
    : new Verification(await open(decoder, options), settings);
};
