/**
 * A training run in virtual time, token by token: groups that were played once are played again on a machine of given speed, under other
 * settings. Admission, windows and hand-overs are the engine's, unless another staleness policy takes their place; the machine's times include
 * the cost of a hand-over.
 */
import { lead } from "../../../domain/PipelineMode.ts";
import * as Position from "../../../domain/Position.ts";
import { engineRule } from "../staleness/policies.ts";
import type { LiveGroup, PipelineState, StalenessPolicy } from "../staleness/StalenessPolicy.ts";
import { World } from "../World.ts";
import { type ConsumedWindow, tokensIn } from "./Consumed.ts";
import { GroupInPlay } from "./GroupInPlay.ts";
import { type Machine, updateOf } from "./Machine.ts";
import type { PlayedGroup } from "./Played.ts";
import { type RolloutSettings, Rollouts, type RolloutWork } from "./Rollouts.ts";
import { lanesUsed, type Step, stepsOf } from "./Update.ts";

/** The keys of a run file that decide how much runs at once. */
export interface Settings extends RolloutSettings {
  readonly maxStaleness: number;
  readonly order: "admission" | "completion";
  /** Default `free_running`. Under a fixed lag, rows of different versions take decode steps in turn. */
  readonly schedule?: "free_running" | "fixed_lag";
  readonly lanes: number;
  readonly microBatchTokens: number;
  /** Groups in flight; 0 for all that admission allows. */
  readonly rolloutConcurrency: number;
}

/** The work of a run, which is the same under all settings. */
export interface Work extends RolloutWork {
  /** A window has this many. */
  readonly groups: number;
  /** Token sequences of an optimiser step. */
  readonly miniBatch: number;
  /** The group that is played as the n-th. */
  readonly play: (group: number) => PlayedGroup;
}

/** A group that a policy threw away. */
export interface DiscardedGroup {
  readonly at: number;
  readonly number: number;
  /** Tokens sampled for it until then. */
  readonly tokens: number;
}

export interface TrainingResult {
  readonly windows: readonly ConsumedWindow[];
  readonly discarded: readonly DiscardedGroup[];
  /** Tokens sampled in the whole run. */
  readonly generated: number;
  /** Tokens among them of groups that were neither trained nor discarded when the run ended. */
  readonly inFlight: number;
}

class TrainingRun {
  readonly #machine: Machine;
  readonly #settings: Settings;
  readonly #work: Work;
  readonly #policy: StalenessPolicy;
  readonly #world: World;
  readonly #rollouts: Rollouts;
  /** Windows that are run. */
  readonly #count: number;
  /** Groups that are neither in training, nor trained, nor discarded, in order of admission. */
  #live: GroupInPlay[] = [];
  /** Live groups whose episodes have ended, in the order in which they ended. */
  #finished: GroupInPlay[] = [];
  readonly #consumed: ConsumedWindow[] = [];
  readonly #discarded: DiscardedGroup[] = [];
  /** The newest version by windows consumed. */
  readonly #versions = [0];
  #admitted = 0;
  #learning = false;
  #before = { generating: 0, decodeSteps: 0, generated: 0 };

  constructor(machine: Machine, settings: Settings, work: Work, windows: number, policy?: StalenessPolicy) {
    this.#machine = machine;
    this.#settings = settings;
    this.#work = work;
    this.#count = windows;
    this.#policy =
      policy ?? engineRule({ ...settings, groups: work.groups, windows }, settings.schedule ?? "free_running");
    this.#world = new World({ cores: machine.cores, slowdown: machine.slowdown, measured: false });
    const { mode, rolloutConcurrency } = settings;
    const most = policy === undefined ? (lead(settings) + 1) * work.groups : Number.POSITIVE_INFINITY;
    this.#rollouts = new Rollouts(this.#world, {
      machine,
      settings,
      work,
      version: () => this.#version,
      groups: rolloutConcurrency > 0 && mode !== "lockstep" ? rolloutConcurrency : most,
      onEpisodeEnd: (group) => this.#endEpisode(group),
    });
  }

  run(): TrainingResult {
    this.#admit();
    this.#world.agenda.run();
    return {
      windows: this.#consumed,
      discarded: this.#discarded,
      generated: this.#rollouts.totals.generated,
      inFlight: this.#live.reduce((sum, { tokens }) => sum + tokens, 0),
    };
  }

  get #version(): number {
    return this.#versions.at(-1)!;
  }

  get #state(): PipelineState {
    const version = this.#version;
    const { freeSlots } = this.#rollouts;
    const position = { ...Position.start({ consumed: this.#consumed.length, version }), admitted: this.#admitted };
    return {
      position,
      versions: this.#versions,
      isLearning: this.#learning,
      freeSlots,
      live: this.#live,
      finished: this.#finished,
    };
  }

  #admit(): void {
    for (let state = this.#state; this.#policy.admits(state); state = this.#state) {
      const number = this.#admitted++;
      const group = new GroupInPlay({
        number,
        start: this.#version,
        group: this.#work.play(number),
        pinned: this.#policy.pinnedVersion?.(number, state),
      });
      this.#live.push(group);
      this.#rollouts.play(group);
    }
  }

  #endEpisode(group: GroupInPlay): void {
    if (group.left === 0 && !group.isCancelled) {
      this.#finished.push(group);
      this.#learn();
    }
    this.#admit();
  }

  /** Removes groups from the live ones. */
  #remove(groups: readonly LiveGroup[]): readonly GroupInPlay[] {
    const numbers = new Set(groups.map(({ number }) => number));
    const isRemoved = ({ number }: GroupInPlay): boolean => numbers.has(number);
    const removed = this.#live.filter(isRemoved);
    this.#live = this.#live.filter((group) => !isRemoved(group));
    this.#finished = this.#finished.filter((group) => !isRemoved(group));
    return removed;
  }

  #discard(): void {
    const discarded = this.#remove(this.#policy.discards?.(this.#state) ?? []);
    for (const { number, tokens } of discarded) {
      this.#discarded.push({ at: this.#world.agenda.now, number, tokens });
    }
    for (const group of discarded) group.cancel();
  }

  #learn(): void {
    if (this.#learning) return;
    this.#discard();
    const selected = this.#policy.selects(this.#state);
    if (selected === null) return;
    const window = this.#remove(selected);
    this.#learning = true;
    this.#discard();
    const began = this.#world.agenda.now;
    const kept = window.filter(({ group }) => group.kept);
    this.#update(kept, () => {
      this.#consumed.push(this.#consumedOf(window, this.#world.agenda.now - began));
      this.#versions.push(this.#version + (kept.length > 0 ? 1 : 0));
      this.#handOver();
    });
  }

  #handOver(): void {
    if (this.#consumed.length === this.#count) {
      this.#world.agenda.stop();
      return;
    }
    const goOn = (): void => {
      this.#learning = false;
      this.#learn();
      this.#admit();
    };
    if (this.#settings.mode === "async") {
      this.#admit();
      this.#world.onMain(this.#machine.handover, goOn);
      return;
    }
    this.#world.onMain(this.#machine.window, goOn);
  }

  /** Optimiser steps one after the other; the lanes share the passes of each. */
  #update(kept: readonly GroupInPlay[], done: () => void): void {
    const { lanes, microBatchTokens } = this.#settings;
    const cut = { microBatchTokens, miniBatch: this.#work.miniBatch };
    const steps = stepsOf(
      kept.map(({ group }) => group),
      cut,
    );
    const from = (at: number): void => {
      const step = steps[at];
      if (step === undefined) {
        done();
        return;
      }
      const used = lanesUsed(lanes, step);
      const token = updateOf(this.#machine, used, microBatchTokens);
      this.#share(step, used, token, () => from(at + 1));
    };
    from(0);
  }

  #share(step: Step, lanes: number, token: number, done: () => void): void {
    let begun = 0;
    let left = step.length;
    const next = (): void => {
      const tokens = step[begun++];
      if (tokens === undefined) return;
      this.#world.work("lane", token * tokens, () => {
        left--;
        if (left === 0) done();
        else next();
      });
    };
    for (let lane = 0; lane < lanes; lane++) next();
  }

  #consumedOf(window: readonly GroupInPlay[], learning: number): ConsumedWindow {
    const now = this.#rollouts.totals;
    const before = this.#before;
    this.#before = now;
    return {
      at: this.#world.agenda.now,
      learning,
      generating: now.generating - before.generating,
      decodeSteps: now.decodeSteps - before.decodeSteps,
      generated: now.generated - before.generated,
      ...tokensIn(window, this.#version),
    };
  }
}

/** Runs `windows` windows to their end under a staleness policy, by default the engine's rules. */
export const runUnder = (
  policy: StalenessPolicy | undefined,
  machine: Machine,
  settings: Settings,
  work: Work,
  windows: number,
): TrainingResult => new TrainingRun(machine, settings, work, windows, policy).run();

/** Runs `windows` windows to their end. */
export const run = (machine: Machine, settings: Settings, work: Work, windows: number): readonly ConsumedWindow[] =>
  runUnder(undefined, machine, settings, work, windows).windows;
