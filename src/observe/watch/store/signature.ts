/** Detects a change of a run's folder without reading it, by the sizes and times of the files that hold the run's result. */
import { stat } from "node:fs/promises";
import { join } from "node:path";

const files = [
  "config.yaml",
  "metrics.jsonl",
  "events.jsonl",
  "validations.jsonl",
  "summary.json",
  "checkpoints",
  "lock",
];

/** A text that changes whenever the folder does. */
export const folderSignature = async (folder: string): Promise<string> => {
  const stats = files.map((name) =>
    stat(join(folder, name)).then(
      ({ mtimeMs, size }) => `${size}/${mtimeMs}`,
      () => "",
    ),
  );
  return (await Promise.all(stats)).join(" ");
};
