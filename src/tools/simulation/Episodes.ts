/**
 * Episodes in virtual time: turn by turn a reply and a step, each at a service stage that all episodes share. In lockstep no turn begins before
 * every live episode of the window has asked.
 */
import { Batches } from "./Batches.ts";
import { GeneratorThreads } from "./GeneratorThreads.ts";
import type { CallTime, RunShape } from "./RunShape.ts";
import { type CallHandle, Station } from "./Station.ts";
import { Turns } from "./Turns.ts";
import type { World } from "./World.ts";

type Call = readonly [group: number, member: number, turn: number];
type Serve = (call: Call, then: () => void) => void;

/** A service whose calls are served each by itself. */
const single = (world: World, station: Station, time: CallTime, onCore: boolean): Serve => {
  const { agenda } = world;
  return (call, then) =>
    station.enter((handle) => {
      const ms = time(...call, { at: agenda.now, inService: station.busy });
      const end = (): void => {
        station.leave(handle);
        then();
      };
      if (onCore) world.work("step", ms, end);
      else agenda.after(ms, end);
    });
};

const generatorsOf = (world: World, { generators }: RunShape): GeneratorThreads | null =>
  generators === undefined ? null : new GeneratorThreads(world, { threads: generators.threads, shape: generators });

export class Episodes {
  readonly #shape: RunShape;
  readonly #world: World;
  readonly #playing: Station;
  readonly #generating: Station;
  readonly #threads: GeneratorThreads | null;
  readonly #reply: Serve;
  readonly #step: Serve;
  readonly #stepping: { readonly resize: (limit: number) => void };
  readonly #barrier: Turns | null;

  constructor(world: World, shape: RunShape, atMost: number) {
    this.#world = world;
    this.#shape = shape;
    const lockstep = shape.mode === "lockstep";
    this.#barrier = lockstep ? new Turns() : null;
    this.#playing = new Station(lockstep ? Number.POSITIVE_INFINITY : shape.episodes);
    const gaugeOf = (name: string, slots: number) =>
      world.gauge({ name, kind: "service", concurrency: Math.min(slots, atMost), capacity: 0 });
    this.#generating = new Station(shape.generateSlots, gaugeOf("generate", shape.generateSlots));
    this.#threads = generatorsOf(world, shape);
    this.#reply = single(world, this.#generating, shape.generate, false);
    const onCore = shape.stepOnCore ?? false;
    if (shape.stepBatches === undefined) {
      const stepping = new Station(shape.stepSlots, gaugeOf("step", shape.stepSlots));
      this.#stepping = stepping;
      this.#step = single(world, stepping, shape.step, onCore);
    } else {
      const { cap, threads } = shape.stepBatches;
      const concurrency = Math.min(threads, shape.stepSlots);
      const batches = new Batches(world, { concurrency, cap, gauge: gaugeOf("step", concurrency), onCore });
      this.#stepping = { resize: (limit) => batches.resize(Math.min(threads, limit)) };
      this.#step = (call, then) => batches.call((moment) => shape.step(...call, moment), then);
    }
  }

  set(setting: "episodes" | "generate" | "step", value: number): void {
    if (setting === "episodes") this.#playing.resize(value);
    else if (setting === "generate") this.#generating.resize(value);
    else this.#stepping.resize(value);
  }

  /** So many more episodes will take part in the turns of lockstep. */
  expect(episodes: number): void {
    this.#barrier?.join(episodes);
  }

  play(group: number, member: number, ended: () => void): void {
    this.#playing.enter((place) => this.#run(group, member, place, ended));
  }

  #run(group: number, member: number, place: CallHandle, ended: () => void): void {
    const { generators, mainMs = 0, turns, turnsOf } = this.#shape;
    const last = turnsOf?.(group, member) ?? turns;
    const thread = this.#threads?.open();
    const reply: Serve =
      thread === undefined
        ? this.#reply
        : (call, then) =>
            this.#generating.enter((handle) =>
              thread.reply(
                { prompt: generators?.prompt?.(...call) ?? 0, tokens: generators?.tokens(...call) ?? 1 },
                () => {
                  this.#generating.leave(handle);
                  then();
                },
              ),
            );
    const answered = (then: () => void) => () => this.#world.onMain(mainMs, then);
    const turn = (number: number): void => {
      if (number > last) {
        if (thread !== undefined) this.#threads?.close(thread);
        this.#playing.leave(place);
        this.#barrier?.leave();
        ended();
        return;
      }
      const call: Call = [group, member, number];
      const step = (): void =>
        this.#step(
          call,
          answered(() => turn(number + 1)),
        );
      const go = (): void => reply(call, answered(step));
      if (this.#barrier === null) go();
      else this.#barrier.arrive(go);
    };
    turn(1);
  }
}
