/**
 * sft.json in the folder of a cloning run: its progress, losses and end. It is written at the start, with every checkpoint and at
 * the end. Invariant: the record of a killed run has no end, and a damaged record reads as null.
 */
import { join } from "node:path";
import { type Effect, Option, Schema } from "effect";
import { Count } from "../../domain/Count.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import type { FileError } from "../../support/files/FileError.ts";

export const CLONING = "sft.json";

const Loss = Schema.NullOr(Schema.Finite);

const CloningRecord = Schema.Struct({
  /** Optimiser steps taken, and planned for the whole run. */
  step: Count,
  steps: Count,
  /** Duration of the cloning, including the parts before a resume. */
  seconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })),
  /**
   * Mean negative log-likelihood of the replies, nats per token: over the last step's batch, and over the held-out conversations.
   */
  loss: Loss,
  heldOutLoss: Loss,
  /** Folder of the resulting model, or of the adapter to `base`. */
  output: Schema.String,
  base: Schema.NullOr(Schema.String),
  /** Null until the run has ended. */
  end: Schema.NullOr(Schema.Literals(["completed", "stopped", "failed"])),
  /** The reason of a failure; empty otherwise. */
  message: Schema.String,
});
export type CloningRecord = typeof CloningRecord.Type;

const decode = Schema.decodeUnknownOption(CloningRecord);

/** The record in a parsed file; null if it has none. */
export const cloningRecordOf = (value: unknown): CloningRecord | null => Option.getOrNull(decode(value));

export const writeCloningRecord = (folder: string, record: CloningRecord): Effect.Effect<void, FileError> =>
  replaceText(join(folder, CLONING), `${JSON.stringify(record, null, 2)}\n`);
