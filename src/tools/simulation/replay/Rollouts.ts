/** Plays groups in virtual time: episodes that hold a slot of a generator, reply by reply and step by step. An aborted group's episodes free their slots. */

import type { PipelineMode } from "../../../domain/PipelineMode.ts";
import { type GeneratorThread, GeneratorThreads } from "../GeneratorThreads.ts";
import { Station } from "../Station.ts";
import { Turns } from "../Turns.ts";
import type { World } from "../World.ts";
import type { GroupInPlay } from "./GroupInPlay.ts";
import { decodeOf, type Machine, prefillOf } from "./Machine.ts";
import type { PlayedTurn } from "./Played.ts";

/** The engine's own schedule: while others decode, a prefill waits for so many rows or so many decode steps. */
const schedule = { prefillRows: 4, prefillPatience: 4 };

export interface RolloutSettings {
  readonly mode: PipelineMode;
  /** Each generator thread has this many. */
  readonly slots: number;
  readonly generatorThreads: number;
  readonly stepThreads: number;
  readonly stepConcurrency: number;
}

export interface RolloutWork {
  readonly prefillTokens: number;
  /** The step of an environment that is made as the n-th. */
  readonly step: (count: number) => number;
}

export interface RolloutsOptions {
  readonly machine: Machine;
  readonly settings: RolloutSettings;
  readonly work: RolloutWork;
  readonly version: () => number;
  /** Groups in flight at most. */
  readonly groups: number;
  /** Called when an episode has ended, and when an aborted one has freed its slot. */
  readonly onEpisodeEnd: (group: GroupInPlay) => void;
}

export class Rollouts {
  readonly #world: World;
  readonly #options: RolloutsOptions;
  readonly #generators: GeneratorThreads;
  readonly #stepping: Station;
  readonly #playing: Station;
  readonly #rolling: Station;
  readonly #turns: Turns | undefined;
  #steps = 0;
  #unfinished = 0;

  constructor(world: World, options: RolloutsOptions) {
    this.#world = world;
    this.#options = options;
    const { groups, machine, settings, version, work } = options;
    const { generatorThreads, mode, slots, stepConcurrency, stepThreads } = settings;
    this.#generators = new GeneratorThreads(world, {
      threads: generatorThreads,
      shape: {
        slots,
        decode: (rows) => decodeOf(machine, rows),
        prefill: (tokens) => prefillOf(machine, tokens),
        prefillTokens: work.prefillTokens,
        ...schedule,
      },
      version,
    });
    this.#stepping = new Station(Math.min(stepConcurrency, stepThreads));
    this.#playing = new Station(slots * generatorThreads);
    this.#rolling = new Station(groups);
    this.#turns = mode === "lockstep" ? new Turns() : undefined;
  }

  /** Slots that no episode holds or waits for. */
  get freeSlots(): number {
    const { generatorThreads, slots } = this.#options.settings;
    return Math.max(0, slots * generatorThreads - this.#unfinished);
  }

  /** Sums over all generator threads: time in steps, decode steps, and sampled tokens. */
  get totals() {
    const add = (part: (thread: GeneratorThread) => number) =>
      this.#generators.all.reduce((sum, thread) => sum + part(thread), 0);
    return {
      generating: add(({ busy }) => busy),
      decodeSteps: add(({ decodeSteps }) => decodeSteps),
      generated: add(({ generated }) => generated),
    };
  }

  play(group: GroupInPlay): void {
    const { episodes } = group.group;
    this.#unfinished += episodes.length;
    this.#turns?.join(episodes.length);
    this.#rolling.enter(() => {
      for (const episode of episodes) this.#playing.enter(() => this.#playEpisode(group, episode));
    });
  }

  #playEpisode(group: GroupInPlay, episode: readonly PlayedTurn[]): void {
    const thread = this.#generators.open();
    const end = (): void => this.#end(group, thread);
    const turn = (number: number): void => {
      const playedTurn = episode[number];
      if (playedTurn === undefined || group.isCancelled) {
        end();
        return;
      }
      const { prompt, sampled: tokens, summary } = playedTurn;
      const ask = (): void => {
        const options = { prompt: prompt * this.#options.machine.fedShare, tokens, version: group.pinned };
        const reply = thread.reply(options, () => {
          group.end(reply);
          const goOn = () => turn(number + 1);
          this.#world.onMain(this.#options.machine.turn, () => (summary === undefined ? this.#step(goOn) : goOn()));
        });
        group.begin(reply, end);
      };
      if (this.#turns === undefined) ask();
      else this.#turns.arrive(ask);
    };
    turn(0);
  }

  #end(group: GroupInPlay, thread: GeneratorThread): void {
    this.#generators.close(thread);
    this.#turns?.leave();
    this.#playing.leave();
    this.#unfinished--;
    group.left--;
    if (group.left === 0) this.#rolling.leave();
    this.#options.onEpisodeEnd(group);
  }

  #step(done: () => void): void {
    const { machine, work } = this.#options;
    const time = work.step(this.#steps++);
    const computing = time * machine.stepComputes;
    this.#stepping.enter(() =>
      this.#world.work("step", computing, () =>
        this.#world.agenda.after(time - computing, () => {
          this.#stepping.leave();
          done();
        }),
      ),
    );
  }
}
