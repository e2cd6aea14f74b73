/** The updates of a recorded run, from its events: the checksum of the parameters after each. */
import { open } from "node:fs/promises";
import { BadInput } from "../../../domain/Errors.ts";
import { readLines } from "../../../support/files/readLines.ts";
import { decode } from "./EventLine.ts";

export interface RecordedUpdates {
  /** Checksums by window. A window that made no version has none. */
  readonly checksums: ReadonlyMap<number, number>;
  /** Steps that the run closed. */
  readonly steps: number;
}

/** Reads `events.jsonl` at `path`. Rejects with BadInput if it holds no checksum. */
export const readUpdates = async (path: string): Promise<RecordedUpdates> => {
  const checksums = new Map<number, number>();
  let steps = 0;
  const file = await open(path).catch(() => {
    throw new BadInput({ message: `${path}: no such file; a run is replayed by its events (metrics.events=true)` });
  });
  try {
    await readLines(file, 0, (await file.stat()).size, (bytes) => {
      // Most lines are other events.
      if (!bytes.includes('"Updated"') && !bytes.includes('"StepClosed"')) return;
      const line = decode(bytes.toString());
      if (line?._tag === "StepClosed") steps = line.step;
      if (line?._tag === "Updated" && line.checksum !== undefined) checksums.set(line.window, line.checksum);
    });
  } finally {
    await file.close();
  }
  if (checksums.size === 0)
    throw new BadInput({
      message: `${path}: the run did not record its updates; nearest: a run with trainer.replay=true`,
    });
  return { checksums, steps };
};
