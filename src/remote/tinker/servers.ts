/** What each server with the Tinker API does its own way. Data; docs/remote.md has it as a table. */
import type { TinkerServerName } from "../../domain/TinkerServer.ts";

/** How token losses of a batch become one number: their sum, or the mean over a sequence's tokens and then over the sequences. */
export type Reduction = "sum" | "mean";

/** `snapshots`: older weights are sampled from without harm. `newest`: asked for older ones, the server gives others, or undoes training. */
export type Sessions = "newest" | "snapshots";

/** Fields of Adam that a request may set. */
export type AdamField = "betas" | "eps" | "weight_decay" | "grad_clip";

export interface TinkerServer {
  /** As people know it. */
  readonly title: string;
  /** Null where it is not known: then the run file has to say. */
  readonly reduction: Reduction | null;
  readonly sessions: Sessions | null;
  /** The ranks that it trains. */
  readonly trains: "adapters" | "weights" | "both";
  /** Adam's fields that it follows beside the learning rate. */
  readonly adam: readonly AdamField[];
  /** Whether it follows `train_mlp`, `train_attn` and `train_unembed`; else it has attention and MLP, and no output matrix. */
  readonly choosesLayers: boolean;
  /** Whether it trains a critic beside the policy. */
  readonly critic: boolean;
}

const whole: readonly AdamField[] = ["betas", "eps", "weight_decay", "grad_clip"];
const unclipped: readonly AdamField[] = ["betas", "eps", "weight_decay"];

export const tinkerServer: Readonly<Record<TinkerServerName, TinkerServer>> = {
  "thinking-machines": {
    title: "Thinking Machines",
    reduction: "sum",
    sessions: "snapshots",
    trains: "adapters",
    adam: whole,
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
    adam: whole,
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
    adam: whole,
    choosesLayers: true,
    critic: false,
  },
};
