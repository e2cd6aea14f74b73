/** Reads the command line of a script. */
import process from "node:process";
import { type ParseArgsConfig, parseArgs } from "node:util";

/** Ends the process with a sentence and exit code 2. */
export const refuse = (message: string): never => {
  console.error(message);
  process.exit(2);
};

/** The options and words of the command line. An option that the script does not have ends the process. */
export const readArguments = <const Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> => {
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
};
