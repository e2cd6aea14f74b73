/** Resolves the packages that these programs import in the folder of MILLRACE_CLIENT_PACKAGES, where test/clients/install.sh installs them. */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const programs = new URL(".", import.meta.url).href;
const packages = pathToFileURL(join(process.env.MILLRACE_CLIENT_PACKAGES, "package.json")).href;

registerHooks({
  resolve: (specifier, context, next) => {
    const isPackage = !/^(\.|node:|file:)/.test(specifier) && context.parentURL?.startsWith(programs);
    return next(specifier, isPackage ? { ...context, parentURL: packages } : context);
  },
});
