/** How the run's episodes are played, as a service: tasks and templates, and the mode of training's. */
import { Context } from "effect";
import type { Barrier } from "../flow/admission/Barrier.ts";
import type { Mode, Rollout } from "../rollout/Rollout.ts";

export class Episodes extends Context.Service<
  Episodes,
  {
    readonly rollout: Rollout;
    readonly training: Mode;
    /** Lockstep only: counts training's episodes in and out. */
    readonly barrier: Barrier | null;
  }
>()("millrace/engine/Episodes") {}
