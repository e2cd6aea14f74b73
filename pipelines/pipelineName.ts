/** The pipelines that run under a run file. */
export type PipelineName = "train" | "evaluate" | "sft";
