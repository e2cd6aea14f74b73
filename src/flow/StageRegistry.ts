/**
 * The stages of a run, whose gauges are read and whose concurrency is set while it runs, and other settings such as the learner's lanes.
 * Invariant: a setting has no gauge and is never listed as a stage.
 */
import { Context, Layer } from "effect";
import type { Setting, StageHandle } from "./Stage.ts";

export class StageRegistry extends Context.Service<
  StageRegistry,
  {
    /** Adds a stage and gives it back. */
    readonly add: <D extends StageHandle>(stage: D) => D;
    /** Adds a setting that is no stage's concurrency. */
    readonly addSetting: (setting: Setting) => void;
    /** The stages that windows pass through, in the order they were added, and then the services that they call. */
    readonly stages: () => readonly StageHandle[];
    /** The settings that are no stage's concurrency, in the order they were added. */
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
