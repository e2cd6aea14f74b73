/**
 * The stages of a run, for whoever reads their gauges or sets their concurrency. Flow stages are listed in the order they were added, then
 * services.
 */
import { Context, Layer } from "effect";
import type { Dial } from "./Stage.ts";

export class Dials extends Context.Service<
  Dials,
  {
    /** Adds a stage and gives it back. */
    readonly add: <D extends Dial>(dial: D) => D;
    readonly all: () => readonly Dial[];
  }
>()("millrace/stage/Dials") {}

export const make = (): typeof Dials.Service => {
  const dials: Dial[] = [];
  const ofKind = (kind: "flow" | "service") => dials.filter((dial) => dial.sample().kind === kind);
  return Dials.of({
    add: (dial) => {
      dials.push(dial);
      return dial;
    },
    all: () => [...ofKind("flow"), ...ofKind("service")],
  });
};

export const layer: Layer.Layer<Dials> = Layer.sync(Dials, make);
