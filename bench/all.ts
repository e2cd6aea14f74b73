/**
 * `npm run bench [-- NAME ...]` runs every bench, or the named ones, and prints their tables. Each bench is a process
 * of its own, so that none measures another's heap. Its table is added to the file of this day and commit in
 * `bench/results/`; the file's name ends with the folder of MILLRACE_CHECKOUT where that is set. The exit code is 1
 * when a bench broke; a missed target is a result.
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { allocating } from "../pipelines/launcher.mjs";
import { type BenchName, isBenchName, names } from "./benches.ts";
import { machine } from "./machine.ts";
import { type Row, reportName, save, table } from "./Report.ts";

const measure = (name: BenchName): Promise<Row> =>
  new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, "one.ts"), [name], {
      execArgv: ["--expose-gc"],
      env: allocating(process.platform, process.env) ?? process.env,
      serialization: "advanced",
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    let row: Row | undefined;
    child.on("message", (message: Row) => {
      row = message;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (row === undefined) reject(new Error(`bench ${name} ended with code ${code} and no figures`));
      else resolve(row);
    });
  });

const requestedBenches = process.argv.slice(2);
const unknown = requestedBenches.filter((name) => !isBenchName(name));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(", ")}; there are: ${names.join(", ")}`);
  process.exit(2);
}

const folder = join(import.meta.dirname, "results");
const day = new Date().toISOString().slice(0, 10).replaceAll("-", "");
const where = machine();
const name = reportName(day, where.commit, process.env.MILLRACE_CHECKOUT);
let file: string | undefined;
for (const bench of requestedBenches.length === 0 ? names : requestedBenches.filter(isBenchName)) {
  try {
    const row = await measure(bench);
    console.log(`${table(row)}\n`);
    file = await save(folder, name, { machine: where, rows: [row] });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
if (file !== undefined) console.log(file);
