#!/usr/bin/env node
// The bin. A Node that runs TypeScript runs the command line itself; another one starts it with the Node 24 that the package installs.
// In the checkout the command line is a source beside this file; in the published package it is the JavaScript built from it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module, { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { allocating, nodePackage, runsTypeScript, settleAllocation } from "./launcher.mjs";

const source = new URL("cli.ts", import.meta.url);
const cli = existsSync(source) ? source : new URL("../dist/pipelines/cli.js", import.meta.url);

const installed = () => {
  const name = nodePackage(process.platform, process.arch);
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), "bin", "node");
  } catch {
    console.error(
      `millrace needs Node 22.19 or 23.6 or later, this is ${process.versions.node}, and ${name} is not installed`,
    );
    return process.exit(1);
  }
};

if (runsTypeScript(process.versions.node)) {
  settleAllocation();
  // Compiled code is kept between starts, in the folder for temporary files: this halves the time to start.
  module.enableCompileCache();
  await import(cli.href);
} else {
  const child = spawn(installed(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
    env: allocating(process.platform, process.env) ?? process.env,
  });
  // A terminal signals both processes: the child decides, this one waits for it. Without one the signal came here alone.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
