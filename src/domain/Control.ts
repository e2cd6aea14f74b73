/** Requests to a running run, and who makes them. Each one that is carried out is an event of the run (`Controlled`). */
import { Schema } from "effect";

export const Control = Schema.TaggedUnion({
  /** Slots of a stage (not of those that work on one item at a time by nature), or `lanes`: how many of the learner's the next update uses. */
  SetConcurrency: {
    stage: Schema.String,
    concurrency: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_536 })),
  },
  /** No further group is admitted until admission goes on; what is in flight goes on. */
  PauseAdmission: {},
  ResumeAdmission: {},
  /** A validation after the step under way. */
  Validate: {},
  /** A checkpoint after the step under way. */
  Checkpoint: {},
  /** An orderly stop: groups in flight are finished, and a checkpoint is written. */
  Stop: {},
});

/** A request to a running run, told apart by `_tag`. */
export type Control = typeof Control.Type;

export const Controller = Schema.Literals(["page", "shell", "code", "autotune", "memory"]);

/** The origin of a control: a page, a shell, the program, the autotuner or a shortage of memory. */
export type Controller = typeof Controller.Type;
