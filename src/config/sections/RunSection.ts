/** The run's name, folder and seed. */
import { Schema } from "effect";
import { count, field, folderName, path } from "../field.ts";

export const RunSection = Schema.Struct({
  name: field(folderName, "millrace", "Name of the run's folder under run.dir."),
  dir: field(path, "runs", "Where run folders are made."),
  memory_check: field(
    Schema.Literals(["refuse", "warn", "off"]),
    "refuse",
    "What becomes of a run that is expected to take more memory than there is (docs/plan.md).",
  ),
  seed: field(count, 0, "Seed of every random stream of the run except the instances."),
});
