/**
 * sft.json in the folder of a cloning run: how far it has come, its losses and how it ended. Written when the run begins, with every checkpoint
 * and last. Invariant: of a killed run it says no end; of what is damaged it reads null.
 */
import { join } from "node:path";
import { type Effect, Option, Schema } from "effect";
import { Count } from "../../domain/Count.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import type { FileError } from "../../support/files/FileError.ts";

export const CLONING = "sft.json";

const Loss = Schema.NullOr(Schema.Finite);

const CloningRecord = Schema.Struct({
  /** Optimiser steps taken, and those of the whole run. */
  step: Count,
  steps: Count,
  /** Of cloning, those before a resume included. */
  seconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })),
  /** Mean negative log-likelihood of the replies, nats per token: of the last step's batch, and of the conversations held out. */
  loss: Loss,
  heldOutLoss: Loss,
  /** Folder of the resulting model, or of the adapter to `base`. */
  output: Schema.String,
  base: Schema.NullOr(Schema.String),
  /** Null until the run has ended. */
  end: Schema.NullOr(Schema.Literals(["completed", "stopped", "failed"])),
  /** Why it failed; empty otherwise. */
  message: Schema.String,
});
export type CloningRecord = typeof CloningRecord.Type;

const decode = Schema.decodeUnknownOption(CloningRecord);

/** The record in a parsed file; null where there is none. */
export const cloningRecordOf = (value: unknown): CloningRecord | null => Option.getOrNull(decode(value));

/** Replaces the record in the run's folder. */
export const writeCloningRecord = (folder: string, record: CloningRecord): Effect.Effect<void, FileError> =>
  replaceText(join(folder, CLONING), `${JSON.stringify(record, null, 2)}\n`);
