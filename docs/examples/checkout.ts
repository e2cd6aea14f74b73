/**
 * For runs in a checkout only: `node --import ./docs/examples/checkout.ts FILE` resolves `millrace` and its other entries
 * to the sources. `npm run example -- FILE` does the same. Where the package is installed, plain `node FILE` finds them by itself.
 */
import { registerPackageNames } from "../../src/support/modules/packageNames.ts";

registerPackageNames();
