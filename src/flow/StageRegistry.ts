/**
 * The stages of a run, for whoever reads their gauges or sets their concurrency, and the settings that are no stage's. Flow stages are
 * listed in the order they were added, then services. Invariant: what is only a setting has no gauge and is never listed as a stage.
 */
import { Context, Layer } from "effect";
import type { Setting, StageHandle } from "./Stage.ts";

export class StageRegistry extends Context.Service<
  StageRegistry,
  {
    /** Adds a stage and gives it back. */
    readonly add: <D extends StageHandle>(stage: D) => D;
    /** Adds what can be set beside the stages' slots. */
    readonly addSetting: (setting: Setting) => void;
    /** The stages. */
    readonly stages: () => readonly StageHandle[];
    /** Settings beside the stages' slots. */
    readonly settings: () => readonly Setting[];
  }
>()("millrace/flow/StageRegistry") {}

export const make = (): typeof StageRegistry.Service => {
  const stages: StageHandle[] = [];
  const settings: Setting[] = [];
  const ofKind = (kind: "flow" | "service") => stages.filter((stage) => stage.sample().kind === kind);
  return StageRegistry.of({
    add: (stage) => {
      stages.push(stage);
      return stage;
    },
    addSetting: (setting) => void settings.push(setting),
    stages: () => [...ofKind("flow"), ...ofKind("service")],
    settings: () => settings,
  });
};

export const layer: Layer.Layer<StageRegistry> = Layer.sync(StageRegistry, make);
