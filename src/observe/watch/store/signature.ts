/** Whether a run's folder has changed, without reading it: by the sizes and times of the files that say what came of the run. */
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

/** A text that is another one once the folder has changed. */
export const folderSignature = async (folder: string): Promise<string> => {
  const stats = files.map((name) =>
    stat(join(folder, name)).then(
      ({ mtimeMs, size }) => `${size}/${mtimeMs}`,
      () => "",
    ),
  );
  return (await Promise.all(stats)).join(" ");
};
