/**
 * Carries out controls: changes of a run while it goes on. Invariant: each control that is carried out is one `Controlled` event;
 * a control that makes no sense changes nothing, and its refusal says what would make sense.
 */
import { Context, Effect, Layer } from "effect";
import type { Control, Controller } from "../../domain/Control.ts";
import { BadInput } from "../../domain/Errors.ts";
import { Bus } from "../../flow/Bus.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { Stop } from "../../support/process/Stop.ts";
import { byNearest } from "../../support/text/nearest.ts";

export class Controls extends Context.Service<
  Controls,
  {
    /** Fails with BadInput if the control makes no sense. */
    readonly apply: (control: Control, by: Controller, reason?: string) => Effect.Effect<void, BadInput>;
  }
>()("millrace/control/Controls") {}

const refusal = (message: string) => Effect.fail(new BadInput({ message }));

export const layer: Layer.Layer<Controls, never, Bus | StageRegistry | Stop> = Layer.effect(
  Controls,
  Effect.gen(function* () {
    const bus = yield* Bus;
    const registry = yield* StageRegistry;
    const stop = yield* Stop;

    const setConcurrency = (name: string, concurrency: number): Effect.Effect<void, BadInput> => {
      const all = [...registry.stages(), ...registry.settings()];
      const stage = all.find((stage) => stage.name === name);
      const settable = all.filter(({ most }) => most !== null).map(({ name }) => name);
      if (stage === undefined) {
        const [near] = byNearest(name, settable);
        const meant = near === undefined ? "" : `; nearest: ${near}`;
        return refusal(`no stage ${name}; the concurrency of ${settable.join(", ")} can be set${meant}`);
      }
      if (stage.most === null) {
        return refusal(`the concurrency of ${name} cannot be set; that of ${settable.join(", ")} can`);
      }
      if (concurrency > stage.most) {
        return refusal(`${name}: ${concurrency} is more than it can use; nearest: ${stage.most}`);
      }
      return stage.setConcurrency(concurrency);
    };

    const carryOut = (control: Control): Effect.Effect<void, BadInput> => {
      switch (control._tag) {
        case "SetConcurrency":
          return setConcurrency(control.stage, control.concurrency);
        case "PauseAdmission":
          return bus.state().paused ? refusal("admission is paused already") : Effect.void;
        case "ResumeAdmission":
          return bus.state().paused ? Effect.void : refusal("admission is not paused");
        case "Validate":
        case "Checkpoint":
        case "Stop":
          return bus.state().position.stopped ? refusal("the run is stopping") : Effect.void;
      }
    };

    return Controls.of({
      apply: Effect.fnUntraced(function* (control, by, reason) {
        yield* carryOut(control);
        yield* bus.emit({ _tag: "Controlled", control, by, ...(reason === undefined ? {} : { reason }) });
        if (control._tag === "Stop") yield* stop.request;
      }),
    });
  }),
);
