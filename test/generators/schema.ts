/** Writes config/schema.json, the JSON Schema of the run file, from the schema that decodes it. A test holds that it is current. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runFileSchema } from "../../src/config/jsonSchema.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

writeFileSync(join(packageRoot, "config/schema.json"), `${JSON.stringify(runFileSchema(), null, 2)}\n`);
