/**
 * Machines whose best settings are known by search: services that get slower the more calls they have at once, so that neither the fewest nor the
 * most slots are best. Times in milliseconds, drawn call by call from counter-based streams, the same in the engine and in the simulator.
 */
import { stream } from "../src/domain/Random.ts";
import type { CallTime, RunShape } from "../src/tools/simulation/RunShape.ts";
import type { Knob } from "../src/tools/tuning/Autotune.ts";
import { draw, type Kind } from "./latency.ts";

/** A service: `mean` up to `room` calls at once, and slower by the power `crowding` of what is above. */
export interface ServiceTimes {
  readonly kind: Kind;
  readonly mean: number;
  readonly room: number;
  readonly crowding: number;
}

export interface Machine {
  readonly name: string;
  readonly generate: ServiceTimes;
  readonly step: ServiceTimes;
  readonly update: number;
  /** If windows form as groups finish, stragglers do not delay the other groups. */
  readonly order?: "completion";
  /** From this time on, milliseconds, other services are in their place. */
  readonly shift?: { readonly at: number; readonly generate: ServiceTimes; readonly step: ServiceTimes };
}

export const MINUTE = 60_000;
/** A run's length, and when the one that shifts does. */
export const LENGTH = 10 * MINUTE;
const HALF = LENGTH / 2;

const quick = (mean: number, room = 256): ServiceTimes => ({ kind: "exponential", mean, room, crowding: 1 });

export const machines: readonly Machine[] = [
  {
    name: "slow environment",
    generate: quick(40),
    step: { kind: "exponential", mean: 300, room: 32, crowding: 1.5 },
    update: 800,
  },
  {
    name: "slow generator",
    generate: { kind: "lognormal(1)", mean: 250, room: 24, crowding: 1.5 },
    step: quick(20),
    update: 800,
  },
  { name: "slow update", generate: quick(60), step: quick(60), update: 3000 },
  {
    name: "heavy tails",
    generate: quick(50),
    step: { kind: "Pareto(1.5)", mean: 300, room: 48, crowding: 1.5 },
    update: 800,
    order: "completion",
  },
  {
    name: "a shift half way",
    generate: quick(40),
    step: { kind: "exponential", mean: 200, room: 48, crowding: 1.5 },
    update: 800,
    shift: {
      at: HALF,
      generate: { kind: "exponential", mean: 200, room: 12, crowding: 1.5 },
      step: { kind: "exponential", mean: 100, room: 16, crowding: 1.5 },
    },
  },
];

/** Concurrencies of the stages that are searched and tuned. */
export interface Concurrency {
  readonly rollout: number;
  readonly generate: number;
  readonly step: number;
}

export const isTuned = (stage: string): stage is keyof Concurrency =>
  stage === "rollout" || stage === "generate" || stage === "step";

export const knobs: readonly Knob[] = [
  { stage: "rollout", least: 1, most: 24 },
  { stage: "generate", least: 1, most: 192 },
  { stage: "step", least: 1, most: 192 },
];

/** Too little of everything, and too much. */
export const starts: Readonly<Record<string, Concurrency>> = {
  "few slots": { rollout: 4, generate: 6, step: 6 },
  "many slots": { rollout: 24, generate: 192, step: 192 },
};

export const groups = 8;
export const groupSize = 8;
export const turns = 5;
export const maxStaleness = 2;

const timeOf = (
  { crowding, kind, mean, room }: ServiceTimes,
  seed: number,
  counters: readonly number[],
  inService: number,
): number =>
  draw(kind, mean, stream({ seed, purpose: "play", counters: [...counters] })) *
  Math.max(1, inService / room) ** crowding;

/** Times of the calls of one service of a machine; of two services, differently drawn. */
export const callTime =
  (machine: Machine, service: "generate" | "step", seed: number): CallTime =>
  (group, member, turn, { at, inService }) => {
    const { shift } = machine;
    const times = shift !== undefined && at >= shift.at ? shift[service] : machine[service];
    return timeOf(times, seed, [service === "step" ? 1 : 0, group, member, turn], inService);
  };

export const shapeOf = (machine: Machine, { generate, rollout, step }: Concurrency, seed: number): RunShape => ({
  mode: "async",
  groups,
  groupSize,
  windows: 10_000,
  maxStaleness,
  order: machine.order ?? "admission",
  rolloutConcurrency: rollout,
  episodes: groups * groupSize * (maxStaleness + 1),
  generateSlots: generate,
  stepSlots: step,
  turns,
  generate: callTime(machine, "generate", seed),
  step: callTime(machine, "step", seed),
  inbox: 8,
  update: () => machine.update,
  until: LENGTH,
});
