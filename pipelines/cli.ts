#!/usr/bin/env node
/** The entry point. The list of commands is printed at once; for all else the command line is loaded, which takes longer. */
import { outliveOutput } from "./outliveOutput.ts";
import { overview } from "./overview.ts";

const words = process.argv.slice(2);

if (words.length === 0 || (words.length === 1 && ["help", "--help", "-h"].includes(words[0]!))) {
  outliveOutput(false);
  process.stdout.write(`${overview(process.stdout.columns ?? Number.POSITIVE_INFINITY).join("\n")}\n`);
} else {
  const { run } = await import("./commandLine.ts");
  await run(words);
}
