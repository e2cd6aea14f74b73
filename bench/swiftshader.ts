/** Runs a command with SwiftShader as its WebGPU adapter (Debian: `apt-get install chromium`): `node bench/swiftshader.ts COMMAND [ARGUMENT ...]`. */
import { spawnSync } from "node:child_process";
import { adapterEnvironment } from "../test/webgpu/adapter.ts";

const [command, ...given] = process.argv.slice(2);
if (command === undefined) {
  console.error("node bench/swiftshader.ts COMMAND [ARGUMENT ...]");
  process.exit(2);
}
const { status } = spawnSync(command, given, { env: { ...process.env, ...adapterEnvironment() }, stdio: "inherit" });
process.exit(status ?? 1);
