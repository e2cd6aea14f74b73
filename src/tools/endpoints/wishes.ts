/**
 * An agent's wishes for sampling at an endpoint. Pure. A wish is granted where the run file neither sets nor omits its field, and the protocol has it.
 */
import { type Endpoint, type SamplingField, samplingFields } from "../../config/players.ts";
import type { SamplingFields } from "./Chat.ts";

/** Wishes of a call, each absent where it has none. */
export interface Wishes extends SamplingFields {
  readonly temperature?: number;
  /** Most tokens of the reply; it can only lower the endpoint's limit. */
  readonly maxTokens?: number;
}

const names: Readonly<Record<SamplingField, string>> = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  seed: "seed",
  stop: "stop",
};

/** The fields of sampling that requests take over from calls. */
export type OpenFields = ReadonlySet<SamplingField>;

export const openFields = (
  { agentFields }: Pick<Endpoint, "agentFields">,
  protocolFields: readonly SamplingField[],
): OpenFields => new Set(agentFields.filter((field) => protocolFields.includes(field)));

const hasWish = (wishes: Wishes, field: SamplingField): boolean =>
  field === "stop" ? (wishes.stop ?? []).length > 0 : wishes[field] !== undefined;

/** The wishes that are granted. */
export const grantedOf = (open: OpenFields, { seed, stop, temperature, topK, topP }: Wishes): Wishes => ({
  ...(temperature !== undefined && open.has("temperature") ? { temperature } : {}),
  ...(topP !== undefined && open.has("topP") ? { topP } : {}),
  ...(topK !== undefined && open.has("topK") ? { topK } : {}),
  ...(seed !== undefined && open.has("seed") ? { seed } : {}),
  ...(stop !== undefined && stop.length > 0 && open.has("stop") ? { stop } : {}),
});

/** The wishes that are not granted, in words. A temperature that requests have anyway is none. */
export const ignoredOf = (open: OpenFields, wishes: Wishes, temperature: number): readonly string[] =>
  samplingFields
    .filter((field) => !open.has(field) && hasWish(wishes, field))
    .filter((field) => field !== "temperature" || wishes.temperature !== temperature)
    .map((field) => `${names[field]} ${JSON.stringify(wishes[field])}`);
