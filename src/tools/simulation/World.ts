/** The parts that all stages of a run in virtual time share: its time, its cores, its main thread, and their gauges. */
import { Gauge, type GaugeOptions } from "../../flow/Gauge.ts";
import { Agenda } from "./Agenda.ts";
import { Cores, type Slowdown, type ThreadKind } from "./Cores.ts";
import { Station } from "./Station.ts";

export interface WorldOptions {
  /** Absent: every piece of work has a core of its own. */
  readonly cores: number | undefined;
  /** None by default. */
  readonly slowdown?: Slowdown;
  /** True when its stages have gauges. */
  readonly measured: boolean;
}

export class World {
  readonly agenda = new Agenda();
  readonly #cores: Cores | null;
  readonly #main = new Station(1);
  readonly #measured: boolean;
  readonly #gauges: Gauge[] = [];

  constructor({ cores, measured, slowdown }: WorldOptions) {
    this.#cores = cores === undefined ? null : new Cores(this.agenda, cores, slowdown);
    this.#measured = measured;
  }

  /** A thread of this kind computes for `ms`. */
  work(kind: ThreadKind, ms: number, done: () => void): void {
    if (this.#cores === null) this.agenda.after(ms, done);
    else this.#cores.run(kind, ms, done);
  }

  /** Takes the main thread, and its core, for `ms`. */
  onMain(ms: number, done: () => void): void {
    if (ms <= 0) {
      done();
      return;
    }
    this.#main.enter(() =>
      this.work("main", ms, () => {
        this.#main.leave();
        done();
      }),
    );
  }

  /** A gauge on virtual time; null where nobody looks. */
  gauge(options: GaugeOptions): Gauge | null {
    if (!this.#measured) return null;
    const gauge = new Gauge(options, this.agenda);
    this.#gauges.push(gauge);
    return gauge;
  }

  /** Flow stages in the order they were made, then services. */
  samples() {
    const samples = this.#gauges.map((gauge) => gauge.sample());
    return [...samples.filter(({ kind }) => kind === "flow"), ...samples.filter(({ kind }) => kind === "service")];
  }
}
