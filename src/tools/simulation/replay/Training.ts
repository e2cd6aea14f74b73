/**
 * A training run in virtual time, token by token: groups that were played once are played again on a machine of given speed, under other
 * settings. Admission, windows and hand-overs are the engine's; the machine's times include the cost of a hand-over.
 */
import { lead, type PipelineMode } from "../../../domain/PipelineMode.ts";
import { type GeneratorThread, GeneratorThreads, type Sampled } from "../GeneratorThreads.ts";
import { Station } from "../Station.ts";
import { Turns } from "../Turns.ts";
import { Windows } from "../Windows.ts";
import { World } from "../World.ts";
import { type ConsumedWindow, type FinishedGroup, tokensIn } from "./Consumed.ts";
import { decodeOf, type Machine, prefillOf, updateOf } from "./Machine.ts";
import type { PlayedGroup, PlayedTurn } from "./Played.ts";
import { lanesUsed, type Step, stepsOf } from "./Update.ts";

/** The keys of a run file that decide how much runs at once. */
export interface Settings {
  readonly mode: PipelineMode;
  readonly maxStaleness: number;
  readonly order: "admission" | "completion";
  /** Each generator thread has this many. */
  readonly slots: number;
  readonly generatorThreads: number;
  readonly lanes: number;
  readonly microBatchTokens: number;
  /** Groups in flight; 0 for all that admission allows. */
  readonly rolloutConcurrency: number;
  readonly stepThreads: number;
  readonly stepConcurrency: number;
}

/** The work of a run, which is the same under all settings. */
export interface Work {
  /** A window has this many. */
  readonly groups: number;
  /** Token sequences of an optimiser step. */
  readonly miniBatch: number;
  readonly prefillTokens: number;
  /** The group that is played as the n-th. */
  readonly play: (group: number) => PlayedGroup;
  /** The step of an environment that is made as the n-th. */
  readonly step: (count: number) => number;
}

/** The engine's own schedule: while others decode, a prefill waits for so many rows or so many decode steps. */
const schedule = { prefillRows: 4, prefillPatience: 4 };

class TrainingRun {
  readonly #machine: Machine;
  readonly #settings: Settings;
  readonly #work: Work;
  readonly #world: World;
  readonly #generators: GeneratorThreads;
  readonly #stepping: Station;
  readonly #playing: Station;
  readonly #rolling: Station;
  readonly #turns: Turns | undefined;
  /** Windows that are run. */
  readonly #count: number;
  readonly #windows: Windows;
  /** Finished groups of windows that are not formed yet. */
  readonly #held = new Map<number, FinishedGroup>();
  readonly #ready: FinishedGroup[][] = [];
  readonly #consumed: ConsumedWindow[] = [];
  #admitted = 0;
  #steps = 0;
  #version = 0;
  #learning = false;
  #before = { generating: 0, decodeSteps: 0, generated: 0 };

  constructor(machine: Machine, settings: Settings, work: Work, windows: number) {
    this.#machine = machine;
    this.#settings = settings;
    this.#work = work;
    this.#count = windows;
    this.#windows = new Windows(work.groups, settings.order);
    const { generatorThreads, rolloutConcurrency, slots, stepConcurrency, stepThreads } = settings;
    this.#world = new World({ cores: machine.cores, slowdown: machine.slowdown, measured: false });
    this.#generators = new GeneratorThreads(this.#world, {
      threads: generatorThreads,
      shape: {
        slots,
        decode: (rows) => decodeOf(machine, rows),
        prefill: (tokens) => prefillOf(machine, tokens),
        prefillTokens: work.prefillTokens,
        ...schedule,
      },
      version: () => this.#version,
    });
    this.#stepping = new Station(Math.min(stepConcurrency, stepThreads));
    this.#playing = new Station(slots * generatorThreads);
    const most = (this.#lead + 1) * work.groups;
    const given = rolloutConcurrency > 0 && settings.mode !== "lockstep" ? rolloutConcurrency : most;
    this.#rolling = new Station(given);
    this.#turns = settings.mode === "lockstep" ? new Turns() : undefined;
  }

  run(): readonly ConsumedWindow[] {
    this.#admit();
    this.#world.agenda.run();
    return this.#consumed;
  }

  get #lead(): number {
    return lead(this.#settings);
  }

  #admit(): void {
    const { groups, play } = this.#work;
    while (
      this.#admitted < this.#count * groups &&
      Math.floor(this.#admitted / groups) - this.#lead <= this.#consumed.length
    ) {
      const number = this.#admitted++;
      const group = play(number);
      this.#turns?.join(group.episodes.length);
      this.#rolling.enter(() => this.#playGroup(number, group));
    }
  }

  #playGroup(number: number, group: PlayedGroup): void {
    const sampled: Sampled[] = [];
    let left = group.episodes.length;
    for (const episode of group.episodes) {
      this.#playing.enter(() =>
        this.#playEpisode(episode, sampled, () => {
          this.#playing.leave();
          left--;
          if (left > 0) return;
          this.#rolling.leave();
          this.#finish({ number, group, sampled });
        }),
      );
    }
  }

  #playEpisode(episode: readonly PlayedTurn[], sampled: Sampled[], ended: () => void): void {
    const thread = this.#generators.open();
    const turn = (number: number): void => {
      const playedTurn = episode[number];
      if (playedTurn === undefined) {
        this.#generators.close(thread);
        this.#turns?.leave();
        ended();
        return;
      }
      const ask = (): void =>
        thread.reply(playedTurn.prompt * this.#machine.fedShare, playedTurn.sampled, (reply) => {
          sampled.push(reply);
          const goOn = () => turn(number + 1);
          this.#world.onMain(this.#machine.turn, () => (playedTurn.summary === undefined ? this.#step(goOn) : goOn()));
        });
      if (this.#turns === undefined) ask();
      else this.#turns.arrive(ask);
    };
    turn(0);
  }

  #step(done: () => void): void {
    const time = this.#work.step(this.#steps++);
    const computing = time * this.#machine.stepComputes;
    this.#stepping.enter(() =>
      this.#world.work("step", computing, () =>
        this.#world.agenda.after(time - computing, () => {
          this.#stepping.leave();
          done();
        }),
      ),
    );
  }

  #finish(group: FinishedGroup): void {
    this.#held.set(group.number, group);
    for (const window of this.#windows.take(group.number)) {
      this.#ready.push(window.flatMap((number) => this.#held.get(number) ?? []));
      for (const number of window) this.#held.delete(number);
    }
    this.#learn();
  }

  #learn(): void {
    const window = this.#learning ? undefined : this.#ready.shift();
    if (window === undefined) return;
    this.#learning = true;
    const began = this.#world.agenda.now;
    const kept = window.filter(({ group }) => group.kept);
    this.#update(kept, () => {
      this.#consumed.push(this.#consumedOf(window, this.#world.agenda.now - began));
      if (kept.length > 0) this.#version++;
      const goOn = (): void => {
        this.#learning = false;
        this.#learn();
      };
      if (this.#settings.mode === "async") {
        this.#admit();
        this.#world.onMain(this.#machine.handover, goOn);
        return;
      }
      this.#world.onMain(this.#machine.window, () => {
        this.#admit();
        goOn();
      });
    });
  }

  /** Optimiser steps one after the other; the lanes share the passes of each. */
  #update(kept: readonly FinishedGroup[], done: () => void): void {
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

  #generated() {
    const add = (part: (thread: GeneratorThread) => number) =>
      this.#generators.all.reduce((sum, thread) => sum + part(thread), 0);
    return {
      generating: add(({ busy }) => busy),
      decodeSteps: add(({ decodeSteps }) => decodeSteps),
      generated: add(({ generated }) => generated),
    };
  }

  #consumedOf(window: readonly FinishedGroup[], learning: number): ConsumedWindow {
    const now = this.#generated();
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

/** Runs `windows` windows to their end. */
export const run = (machine: Machine, settings: Settings, work: Work, windows: number): readonly ConsumedWindow[] =>
  new TrainingRun(machine, settings, work, windows).run();
