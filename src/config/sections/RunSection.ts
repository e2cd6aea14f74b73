/** The section `run`: the run's name, folder and seed. */
import { Schema } from "effect";
import { count, field, folderName, path } from "../field.ts";

export const RunSection = Schema.Struct({
  name: field(folderName, "millrace", "Name of the run's folder under run.dir."),
  dir: field(path, "runs", "Folder that contains the run folders."),
  memory_check: field(
    Schema.Literals(["refuse", "warn", "off"]),
    "refuse",
    "Action if a run is predicted to need more memory than the machine has (docs/plan.md).",
  ),
  seed: field(count, 0, "Seed of all random streams of the run, instances excepted."),
});
