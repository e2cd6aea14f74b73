/** The traits of each server with the Tinker API; docs/remote.md has them as a table. */
import type { TinkerServerName } from "../../domain/TinkerServer.ts";

/** Reduction of a batch's token losses to one number: their sum, or the mean over each sequence's tokens and then over the sequences. */
export type Reduction = "sum" | "mean";

/** `snapshots`: older weights can be sampled from safely. `newest`: a request for older ones gets others, or undoes training. */
export type SamplingSessions = "newest" | "snapshots";

/** Fields of Adam that a request may set. */
export type AdamField = "betas" | "eps" | "weight_decay" | "grad_clip";

export interface ServerTraits {
  /** The server's name for people. */
  readonly title: string;
  /** Null if unknown: the run file must then say it. */
  readonly reduction: Reduction | null;
  readonly sessions: SamplingSessions | null;
  /** Adapters, whole models (rank 0), or both. */
  readonly trains: "adapters" | "weights" | "both";
  /** Adam's fields that it follows besides the learning rate. */
  readonly adam: readonly AdamField[];
  /** True if it follows `train_mlp`, `train_attn` and `train_unembed`; else it always trains attention and MLP, and no output matrix. */
  readonly choosesLayers: boolean;
  /** True if it trains a critic beside the policy. */
  readonly critic: boolean;
}

const allFields: readonly AdamField[] = ["betas", "eps", "weight_decay", "grad_clip"];
const unclipped: readonly AdamField[] = ["betas", "eps", "weight_decay"];

export const serverTraits: Readonly<Record<TinkerServerName, ServerTraits>> = {
  "thinking-machines": {
    title: "Thinking Machines",
    reduction: "sum",
    sessions: "snapshots",
    trains: "adapters",
    adam: allFields,
    choosesLayers: true,
    critic: false,
  },
  "skyrl-jax": {
    title: "SkyRL (JAX)",
    reduction: "mean",
    sessions: "newest",
    trains: "adapters",
    adam: unclipped,
    choosesLayers: false,
    critic: false,
  },
  "skyrl-train": {
    title: "SkyRL-Train",
    reduction: "sum",
    sessions: "newest",
    trains: "both",
    adam: [],
    choosesLayers: false,
    critic: true,
  },
  tuft: {
    title: "TuFT",
    reduction: "sum",
    sessions: "snapshots",
    trains: "adapters",
    adam: allFields,
    choosesLayers: true,
    critic: false,
  },
  verl: {
    title: "VeRL-Tinker",
    reduction: "sum",
    sessions: "newest",
    trains: "weights",
    adam: unclipped,
    choosesLayers: false,
    critic: false,
  },
  twinkle: {
    title: "Twinkle",
    reduction: null,
    sessions: null,
    trains: "adapters",
    adam: unclipped,
    choosesLayers: false,
    critic: false,
  },
  "tinker-cloud": {
    title: "tinker-cloud",
    reduction: null,
    sessions: null,
    trains: "both",
    adam: unclipped,
    choosesLayers: false,
    critic: false,
  },
  other: {
    title: "the server",
    reduction: null,
    sessions: null,
    trains: "both",
    adam: allFields,
    choosesLayers: true,
    critic: false,
  },
};
