/**
 * What an environment module may import by name wherever it lies: `effect` and `millrace/…` (files of this package, such as
 * `millrace/src/env/IllegalAction.ts`) are this package's own, so that nothing has to be installed beside the module and its schemas and
 * errors are the ones we know. Every other name is found as usual, from the module's own place.
 */
import { registerHooks } from "node:module";

const packageRoot = new URL("../../../", import.meta.url);

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
      if (here.millrace.test(name)) return next(new URL(name.replace(here.millrace, ""), packageRoot).href, context);
      if (here.effect.test(name)) return next(name, { ...context, parentURL: import.meta.url });
      return next(name, context);
    },
  });
};
