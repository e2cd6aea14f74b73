/**
 * The names that a user's module may import wherever it lies: `effect`, and this package's entries. Both resolve to the copies that this
 * process runs, so that nothing has to be installed beside the module, and its schemas and errors are the engine's. Every other name is
 * resolved as usual, from the module's own folder.
 */
import { registerHooks } from "node:module";
import { extname } from "node:path";

/** Entries are TypeScript sources in development and compiled files in a release, as this file is. */
const extension = extname(import.meta.url);

const packageEntries: ReadonlyMap<string, string> = new Map(
  Object.entries({
    millrace: "../../../pipelines/main",
    "millrace/agent": "../../agents/author",
    "millrace/env": "../../env/contract/author",
    "millrace/env/contract": "../../env/validate/main",
    "millrace/env/mcp": "../../env/mcp/author",
    "millrace/learner": "../../learner/author",
    "millrace/metrics": "../../observe/sinks/main",
  }).map(([name, path]) => [name, new URL(`${path}${extension}`, import.meta.url).href]),
);

const effect = /^effect(\/|$)/;

let registered = false;

/** Registers the names in this thread, once. */
export const registerPackageNames = (): void => {
  if (registered) return;
  registered = true;
  registerHooks({
    resolve: (name, context, next) => {
      // Dependencies keep their own copies.
      if (context.parentURL?.includes("/node_modules/") === true) return next(name, context);
      if (effect.test(name)) return next(name, { ...context, parentURL: import.meta.url });
      if (name.startsWith("millrace/") && !packageEntries.has(name)) {
        throw new Error(`${name} is no entry of this package; there are ${[...packageEntries.keys()].join(", ")}`);
      }
      return next(packageEntries.get(name) ?? name, context);
    },
  });
};
