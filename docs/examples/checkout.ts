/**
 * For runs in a checkout only: `node --import ./docs/examples/checkout.ts FILE` resolves `millrace`, `millrace/env` and `millrace/metrics`
 * to the sources. `npm run example -- FILE` does the same. Where the package is installed, plain `node FILE` finds them by itself.
 */
import { registerPackageNames } from "../../src/env/custom/packageNames.ts";

registerPackageNames();
