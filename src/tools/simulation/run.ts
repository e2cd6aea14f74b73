/**
 * A run in virtual time: admission, episodes that call two services, windows, score, filter, update and close, by the engine's rules. An event
 * heap, and nothing of the engine; its results are what an engine without any overhead would reach.
 */
import { lead } from "../../domain/PipelineMode.ts";
import { type Position, start } from "../../domain/Position.ts";
import { decide } from "../../flow/admission/Admission.ts";
import { Episodes } from "./Episodes.ts";
import { FlowStage, type Sink } from "./FlowStage.ts";
import { Lanes } from "./Lanes.ts";
import type { Moment, RunResult, RunShape, Setting } from "./RunShape.ts";
import { Windows } from "./Windows.ts";
import { World } from "./World.ts";

type Window = readonly number[];
type Work = (window: number, moment: Moment, done: () => void) => void;

const end: Sink<Window> = { offer: (_, accepted) => accepted() };

class Simulation {
  readonly #shape: RunShape;
  readonly #world: World;
  readonly #episodes: Episodes;
  readonly #rollout: FlowStage<number, number>;
  readonly #score: FlowStage<Window, Window>;
  readonly #lanes: Lanes | null;
  readonly #consumedAt: number[] = [];
  readonly #staleness: number[] = [];
  readonly #consumed: number[] = [];
  /** Windows consumed when a group was admitted. */
  readonly #before: number[] = [];
  #admitted = 0;
  #offering = false;

  constructor(shape: RunShape) {
    this.#shape = shape;
    this.#world = new World({ cores: shape.cores, measured: shape.observer !== undefined });
    this.#lanes = shape.learner === undefined ? null : new Lanes(this.#world, shape.learner);
    const inFlight = (lead(shape) + 1) * shape.groups;
    const rollout = this.#gauge("rollout", Math.min(shape.rolloutConcurrency, inFlight), 1);
    const window = this.#gauge("window", 1, shape.inbox);
    const score = this.#through("score", shape.scoreSlots ?? 1, this.#onMain(shape.score));
    const filter = this.#through("filter", 1, this.#onMain(shape.filter));
    const learn = this.#through("learn", 1, this.#learn);
    const close = this.#through("close", 1, (index, moment, done) =>
      this.#world.agenda.after(shape.close?.(index, moment) ?? 0, done),
    );
    this.#score = score(filter(learn(close(end, "done"))));
    const windows = new Windows(shape.groups, shape.order);
    const gather = new FlowStage<number, Window>({
      room: shape.inbox,
      slots: 1,
      work: (group, done) => done(windows.take(group)),
      next: this.#score,
      gauge: window,
    });
    this.#rollout = new FlowStage<number, number>({
      room: 1,
      slots: this.#atLeast(shape.rolloutConcurrency),
      work: (group, done) => this.#play(group, () => done([group])),
      next: gather,
      gauge: rollout,
    });
    this.#episodes = new Episodes(this.#world, shape, inFlight * shape.groupSize);
  }

  run(): RunResult {
    const { agenda } = this.#world;
    for (const { at, setting, value } of this.#shape.changes ?? []) agenda.after(at, () => this.#set(setting, value));
    if (this.#shape.observer !== undefined) this.#observe();
    this.#admit();
    agenda.run(this.#shape.until);
    return { consumedAt: this.#consumedAt, staleness: this.#staleness, groups: this.#consumed };
  }

  #gauge(name: string, concurrency: number, capacity: number) {
    return this.#world.gauge({ name, kind: "flow", concurrency, capacity });
  }

  /** A stage of whole windows with room for one; its gauge is made here, in the order of the line. */
  #through(name: string, slots: number, work: Work) {
    const gauge = this.#gauge(name, slots, 1);
    let passed = 0;
    let inService = 0;
    return (next: Sink<Window>, handover: "queued" | "done" = "queued") =>
      new FlowStage<Window, Window>({
        room: 1,
        slots,
        work: (window, done) => {
          inService++;
          work(passed++, { at: this.#world.agenda.now, inService }, () => {
            inService--;
            if (name === "learn") this.#consume(window);
            done([window]);
          });
        },
        next,
        gauge,
        handover,
      });
  }

  #onMain(time: RunShape["score"]): Work {
    return (window, moment, done) => this.#world.onMain(time?.(window, moment) ?? 0, done);
  }

  readonly #learn: Work = (window, moment, done) => {
    if (this.#lanes !== null) this.#lanes.update(window, done);
    else this.#world.agenda.after(this.#shape.update(window, moment), done);
  };

  /** Lockstep needs the episodes of a whole window in flight. */
  #atLeast(rollouts: number): number {
    return this.#shape.mode === "lockstep" ? Math.max(this.#shape.groups, rollouts) : rollouts;
  }

  #set(setting: Setting, value: number): void {
    if (setting === "rollout") this.#rollout.resize(this.#atLeast(value));
    else if (setting === "score") this.#score.resize(value);
    else if (setting === "lanes") this.#lanes?.resize(value);
    else this.#episodes.set(setting, value);
  }

  #observe(): void {
    const { groups, observer, windows } = this.#shape;
    if (observer === undefined) return;
    const { agenda } = this.#world;
    const look = (): void => {
      const consumed = this.#consumedAt.length;
      const stages = this.#world.samples();
      const groupsInFlight = this.#admitted - consumed * groups;
      const sample = {
        elapsedMs: agenda.now,
        stages,
        groupsInFlight,
        consumed,
      };
      observer.onSample(sample, (setting, value) => this.#set(setting, value));
      if (consumed < windows) agenda.after(observer.everyMs, look);
    };
    look();
  }

  #play(group: number, done: () => void): void {
    const { groupSize } = this.#shape;
    let left = groupSize;
    for (let member = 0; member < groupSize; member++) {
      this.#episodes.play(group, member, () => {
        left--;
        if (left === 0) done();
      });
    }
  }

  #consume(window: Window): void {
    const consumed = this.#consumedAt.length;
    for (const group of window) this.#staleness.push(consumed - this.#before[group]!);
    this.#consumed.push(...window);
    this.#consumedAt.push(this.#world.agenda.now);
    this.#world.agenda.after(0, () => this.#admit());
  }

  /** The position that admission sees. Every window makes a version, and the generators have it at once. */
  #position(): Position {
    const consumed = this.#consumedAt.length;
    return { ...start({ consumed, version: consumed }), admitted: this.#admitted };
  }

  #admit(): void {
    const { groups, groupSize } = this.#shape;
    if (this.#offering || decide(this.#shape, this.#position())._tag !== "Admit") return;
    const group = this.#admitted++;
    this.#before[group] = this.#consumedAt.length;
    if (group % groups === 0) this.#episodes.expect(groups * groupSize);
    this.#offering = true;
    this.#rollout.offer(group, () =>
      this.#world.agenda.after(0, () => {
        this.#offering = false;
        this.#admit();
      }),
    );
  }
}

export const run = (shape: RunShape): RunResult => new Simulation(shape).run();
