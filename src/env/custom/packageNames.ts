/**
 * What an environment module may import by name wherever it lies: `effect` and `millrace/…` (files of this package, such as
 * `millrace/src/env/IllegalAction.ts`) are this package's own, so that nothing has to be installed beside the module and its schemas and
 * errors are the ones we know. Every other name is found as usual, from the module's own place.
 */
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { packageRoot, publicModule } from "../../files/packageRoot.ts";

const rootUrl = pathToFileURL(`${packageRoot}/`);

const here = { effect: /^effect(\/|$)/, millrace: /^millrace\// };

let known = false;

/** Makes the names known in this thread, once. */
export const makeKnown = (): void => {
  if (known) return;
  known = true;
  registerHooks({
    resolve: (name, context, next) => {
      // A dependency keeps its own.
      if (context.parentURL?.includes("/node_modules/") === true) return next(name, context);
      const entry = publicModule(name);
      if (entry !== null) return next(entry, context);
      if (here.millrace.test(name)) return next(new URL(name.replace(here.millrace, ""), rootUrl).href, context);
      if (here.effect.test(name)) return next(name, { ...context, parentURL: import.meta.url });
      return next(name, context);
    },
  });
};
