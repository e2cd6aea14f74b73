/**
 * Loads a trace with the importer of Catapult's trace viewer, an implementation of the trace-event format that shares nothing with ours, in
 * headless Chromium, and tells what it found: `node bench/peers/perfetto/viewer.mjs trace.json viewer.html [picture.png]`, where viewer.html is
 * what Catapult's `tracing/bin/trace2html trace.json --output viewer.html` makes.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";

const profile = mkdtempSync(join(tmpdir(), "viewer-"));
const chromium = spawn(
  "chromium",
  [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
    "about:blank",
  ],
  { stdio: ["ignore", "ignore", "pipe"] },
);

const endpoint = await new Promise((resolve, reject) => {
  let said = "";
  chromium.once("error", reject);
  chromium.once("exit", () => reject(new Error(`chromium ended: ${said}`)));
  chromium.stderr.on("data", (chunk) => {
    said += chunk;
    const found = /DevTools listening on (ws:\S+)/.exec(said);
    if (found) resolve(found[1]);
  });
});

const socket = new WebSocket(endpoint, { maxPayload: 1 << 30 });
await new Promise((resolve) => socket.once("open", resolve));
let ids = 0;
const answers = new Map();
socket.on("message", (data) => {
  const { error, id, result } = JSON.parse(data);
  const waiting = answers.get(id);
  answers.delete(id);
  if (waiting) error ? waiting.reject(new Error(error.message)) : waiting.resolve(result);
});
const send = (method, params = {}, sessionId) =>
  new Promise((resolve, reject) => {
    const id = ++ids;
    answers.set(id, { resolve, reject });
    socket.send(JSON.stringify({ id, method, params, sessionId }));
  });

/** In the page: imports the text and counts what the model holds. */
const importing = (text) => {
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.showImportWarnings = false;
  new tr.importer.Import(model, options).importTraces([text]);
  const spans = {};
  let overlaps = 0;
  for (const thread of model.getAllThreads())
    for (const slice of thread.sliceGroup.slices) {
      spans[slice.title] = (spans[slice.title] ?? 0) + 1;
      if (slice.parentSlice) overlaps++;
    }
  const processes = model.getAllProcesses();
  return JSON.stringify({
    warnings: model.importWarnings.map(({ message, type }) => `${type}: ${message}`),
    processes: processes.map(({ name, threads }) => `${name}: ${Object.keys(threads).length} tracks`),
    counters: processes.reduce((sum, { counters }) => sum + Object.keys(counters).length, 0),
    spans,
    nested: overlaps,
    arrows: model.flowEvents.length,
    bound: model.flowEvents.filter(
      ({ startSlice, endSlice }) => startSlice?.title === "update" && endSlice?.title === "generate",
    ).length,
  });
};

try {
  const { targetId } = await send("Target.createTarget", { url: `file://${process.argv[3]}` });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const evaluate = async (expression) => {
    const { exceptionDetails, result } = await send(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
      sessionId,
    );
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const deadline = Date.now() + 30_000;
  while (!(await evaluate("typeof tr === 'object' && typeof tr.importer?.Import === 'function'"))) {
    if (Date.now() > deadline) throw new Error("the viewer did not load");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const text = readFileSync(process.argv[2], "utf8");
  const found = JSON.parse(await evaluate(`(${importing})(${JSON.stringify(text)})`));
  console.log(JSON.stringify(found, null, 2));
  if (process.argv[4] !== undefined) {
    await send(
      "Emulation.setDeviceMetricsOverride",
      { width: 1600, height: 1000, deviceScaleFactor: 1, mobile: false },
      sessionId,
    );
    await new Promise((resolve) => setTimeout(resolve, 5000));
    const { data } = await send("Page.captureScreenshot", { format: "png" }, sessionId);
    writeFileSync(process.argv[4], Buffer.from(data, "base64"));
  }
  if (found.warnings.length > 0 || found.bound !== found.arrows || found.nested > 0) process.exitCode = 1;
} finally {
  const gone = new Promise((resolve) => chromium.once("exit", resolve));
  chromium.kill();
  await gone;
  rmSync(profile, { recursive: true, force: true });
  socket.terminate();
}
