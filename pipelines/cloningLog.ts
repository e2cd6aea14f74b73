/** Keeps sft.json in the folder of a cloning run: what `millrace runs` lists, and what a run says at its end. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { monotonicMillis } from "../src/domain/Instant.ts";
import {
  CLONING,
  type CloningRecord,
  cloningRecordOf,
  writeCloningRecord,
} from "../src/observe/record/CloningRecord.ts";
import type { CloningStep } from "../src/tools/cloning/Cloning.ts";

/** The record that an earlier part of the run left; null where there is none that can be read. */
const earlierRecord = (folder: string): Effect.Effect<CloningRecord | null> =>
  Effect.promise(() =>
    readFile(join(folder, CLONING), "utf8")
      .then((text) => cloningRecordOf(JSON.parse(text)))
      .catch(() => null),
  );

const isAdapter = ({ adapter, lora }: RunConfig["model"]): boolean => lora.rank > 0 || adapter !== "";

/** Null stands for a number that no JSON holds. */
const finite = (loss: number): number | null => (Number.isFinite(loss) ? loss : null);

export class CloningLog {
  readonly #folder: string;
  readonly #beganAt: number;
  /** Seconds of the parts of the run before this one. */
  readonly #earlierSeconds: number;
  #record: CloningRecord;

  private constructor(folder: string, begun: number, record: CloningRecord) {
    this.#folder = folder;
    this.#beganAt = begun;
    this.#earlierSeconds = record.seconds;
    this.#record = record;
  }

  /** The log of a run that has taken `step` steps. */
  static readonly open = Effect.fnUntraced(function* (folder: string, { model, sft }: RunConfig, step: number) {
    const past = step === 0 ? null : yield* earlierRecord(folder);
    return new CloningLog(folder, yield* monotonicMillis, {
      step,
      steps: sft.steps,
      seconds: past?.seconds ?? 0,
      loss: past?.loss ?? null,
      heldOutLoss: past?.heldOutLoss ?? null,
      output: resolve(sft.output),
      base: isAdapter(model) ? sft.init : null,
      end: null,
      message: "",
    });
  });

  /** Notes a step, and the loss of the conversations held out where it was measured behind it. */
  addStep({ loss, step }: CloningStep, heldOutLoss: number | null): void {
    this.#record = { ...this.#record, step, loss: finite(loss) };
    if (heldOutLoss !== null) this.#record = { ...this.#record, heldOutLoss: finite(heldOutLoss) };
  }

  /** Writes what was noted; `end` is null while the run goes on. */
  readonly write = Effect.fnUntraced(function* (this: CloningLog, end: CloningRecord["end"], message = "") {
    const seconds = this.#earlierSeconds + ((yield* monotonicMillis) - this.#beganAt) / 1000;
    yield* writeCloningRecord(this.#folder, { ...this.#record, seconds, end, message }).pipe(
      Effect.mapError((error) => new BadInput({ message: error.message })),
    );
  });
}
