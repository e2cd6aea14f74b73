/**
 * The stages of a run, for whoever reads their gauges or sets their concurrency, and the settings that are no stage's. Flow stages are
 * listed in the order they were added, then services. Invariant: what is only a setting has no gauge and is never listed as a stage.
 */
import { Context, Layer } from "effect";
import type { Dial, Setting } from "./Stage.ts";

export class Dials extends Context.Service<
  Dials,
  {
    /** Adds a stage and gives it back. */
    readonly add: <D extends Dial>(dial: D) => D;
    /** Adds what can be set beside the stages' slots. */
    readonly addSetting: (setting: Setting) => void;
    /** The stages. */
    readonly all: () => readonly Dial[];
    /** What can be set beside the stages' slots. */
    readonly settings: () => readonly Setting[];
  }
>()("millrace/stage/Dials") {}

export const make = (): typeof Dials.Service => {
  const dials: Dial[] = [];
  const settings: Setting[] = [];
  const ofKind = (kind: "flow" | "service") => dials.filter((dial) => dial.sample().kind === kind);
  return Dials.of({
    add: (dial) => {
      dials.push(dial);
      return dial;
    },
    addSetting: (setting) => void settings.push(setting),
    all: () => [...ofKind("flow"), ...ofKind("service")],
    settings: () => settings,
  });
};

export const layer: Layer.Layer<Dials> = Layer.sync(Dials, make);
