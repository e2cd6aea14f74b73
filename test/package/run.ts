/**
 * Millrace as a user installs it: a checkout without the development packages, and the published package in an empty folder, both used as the
 * README and docs/environments.md say. Prints a line for each check; the last one is "N passed, N failed".
 */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { Checkout } from "./Checkout.ts";
import { Consumer } from "./Consumer.ts";
import type { TemporaryFolder } from "./TemporaryFolder.ts";

using consumer = new Consumer();

/** The step of the last record that the only run of that name wrote under a folder. */
const lastStepOf = (run: string, { folder }: Pick<TemporaryFolder, "folder"> = consumer): unknown => {
  const [time] = readdirSync(join(folder, "runs", run));
  assert.ok(time !== undefined, `runs/${run} has a run`);
  const lines = readFileSync(join(folder, "runs", run, time, "metrics.jsonl"), "utf8")
    .trimEnd()
    .split("\n");
  return JSON.parse(lines.at(-1) ?? "{}").step;
};

/** The examples that train by themselves, under a run file's overrides. */
const examples = ["filter", "sink", "engine"];

const copyTutorial = () => {
  for (const file of ["lights.ts", "lights.yaml"]) {
    copyFileSync(join(packageRoot, "docs/examples/environment", file), join(consumer.folder, file));
  }
};

/** Copies an example to the same place below the folder that it has below docs/examples. */
const copyExample = (file: string) => {
  const target = join(consumer.folder, file);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(packageRoot, "docs/examples", file), target);
};

/** Overrides that make a run of the quickstart small. */
const small = [
  ...["es_manager.train.env_groups=2", "es_manager.train.group_size=4", "es_manager.train.n_groups=[2]"],
  ...["actor.ppo_mini_batch_size=8", "trainer.total_training_steps=2", "trainer.val_before_train=false"],
  ...["trainer.val_at_end=false", "metrics.console=off"],
];

const compilerOptions = {
  module: "nodenext",
  target: "es2024",
  lib: ["es2024"],
  noEmit: true,
  strict: true,
};

const checks: Readonly<Record<string, () => void>> = {
  "npx millrace train runs the quickstart": () => {
    consumer.must("npx", "millrace", "train", "--config-name", "quickstart", "trainer.total_training_steps=2");
    assert.equal(lastStepOf("quickstart"), 2);
  },
  "bad input ends with 2 and one message": () => {
    const { status, stderr } = consumer.run("npx", "millrace", "trian");
    assert.equal(status, 2);
    // npm may print warnings of its own.
    const said = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("npm "));
    assert.equal(said.length, 1);
    assert.match(said.join(), /^unknown command "trian"; nearest: train; all: /);
  },
  "the public modules load": () => {
    const names = [
      "millrace",
      "millrace/agent",
      "millrace/env",
      "millrace/env/contract",
      "millrace/env/mcp",
      "millrace/learner",
      "millrace/metrics",
    ];
    const program = `for (const name of ${JSON.stringify(names)}) await import(name);`;
    consumer.must("npx", "node", "--input-type=module", "-e", program);
  },
  "the tutorial's environment imports millrace/env only, and trains": () => {
    copyTutorial();
    const imported = [...readFileSync(join(consumer.folder, "lights.ts"), "utf8").matchAll(/from "(millrace[^"]*)"/g)];
    assert.deepEqual([...new Set(imported.map(([, name]) => name))], ["millrace/env"]);
    const first = consumer.must(
      ...(["npx", "millrace", "trace", "Lights", "--config-name", "./lights.yaml"] as const),
      ...["--seed", "1", "--actions", "2"],
    );
    assert.match(first.stdout, /^{"t":0,"observation":"Lamps 1 to 6: /);
    consumer.must("npx", "millrace", "env", "validate", "Lights", "--config-name", "./lights.yaml");
    consumer.must("npx", "millrace", "train", "--config-name", "./lights.yaml", "trainer.total_training_steps=2");
    assert.equal(lastStepOf("lights"), 2);
  },
  ...Object.fromEntries(
    examples.map((name) => [
      `the example ${name}.ts runs`,
      () => {
        copyExample(`${name}.ts`);
        consumer.must("npx", "node", `${name}.ts`, `run.name=${name}`, ...small);
        assert.equal(lastStepOf(name), 2);
      },
    ]),
  ),
  "the example train.ts runs with the environment that it names": () => {
    for (const file of ["train.ts", "environment/lamps.ts"]) copyExample(file);
    const { stdout } = consumer.must("npx", "node", "train.ts");
    assert.equal(lastStepOf("lamps"), 2);
    assert.match(stdout, /checkpoints\/step-2$/m);
  },
  "npx millrace init writes a project, which its test holds to the contract and which trains": () => {
    const { stdout } = consumer.must("npx", "millrace", "init", "demo");
    const commands = stdout.split("\n").filter((line) => line.startsWith("  npx millrace "));
    assert.equal(commands.length, 3);
    assert.doesNotMatch(stdout, /npm install/);
    const folder = join(consumer.folder, "demo");
    assert.match(consumer.mustIn(folder, "npm", "test").stdout, /^# fail 0$|^ℹ fail 0$/m);
    consumer.mustIn(folder, "npm", "run", "check");
    const steps = ["trainer.total_training_steps=2", "trainer.val_before_train=false", "trainer.val_at_end=false"];
    consumer.mustIn(folder, "npx", "millrace", "train", "--config-name", "./train.yaml", ...steps);
    assert.equal(lastStepOf("treasure", { folder }), 2);
  },
  "a new project can be installed from the tarball that wrote it": () => {
    const offline = ["--no-audit", "--no-fund", "--prefer-offline"];
    consumer.mustIn(join(consumer.folder, "demo"), "npm", "install", "--dry-run", ...offline);
  },
  "the tutorial's environment, the examples and a new project pass the type checker": () => {
    const files = ["lights.ts", "train.ts", ...examples.map((name) => `${name}.ts`)];
    // The examples name what Node has: its types are those of this checkout.
    const typeRoots = [join(packageRoot, "node_modules/@types")];
    writeFileSync(
      join(consumer.folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: { ...compilerOptions, typeRoots, types: ["node"], skipLibCheck: true },
        files,
      }),
    );
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    const compiler = join(dirname(manifest), "bin/tsc");
    consumer.must(process.execPath, compiler, "-p", ".");
    consumer.must(process.execPath, compiler, "-p", "demo", "--typeRoots", ...typeRoots);
  },
};

let passed = 0;
const failures: string[] = [];

const check = (name: string, body: () => void): boolean => {
  const start = performance.now();
  try {
    body();
    passed += 1;
    console.log(`ok    ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    failures.push(name);
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
};

/** The warnings of npm, except for those of Node's version and of the user's settings. */
const warnings = (printed: string): readonly string[] =>
  printed.split("\n").filter((line) => /^npm warn (?!EBADENGINE|Unknown user config)/i.test(line));

check(
  "a checkout without the development packages installs without TensorFlow and a warning, and npm start trains",
  () => {
    using checkout = new Checkout();
    const { stderr } = checkout.must("npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline");
    assert.deepEqual(warnings(stderr), []);
    assert.equal(existsSync(join(checkout.folder, "node_modules/@tensorflow")), false);
    const started = checkout.must("npm", "start", "--", ...small);
    assert.deepEqual(warnings(started.stderr), []);
    assert.equal(lastStepOf("quickstart", checkout), 2);
  },
);
if (check("the package installs in an empty folder", () => consumer.installPackage()))
  for (const [name, body] of Object.entries(checks)) check(name, body);

console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
