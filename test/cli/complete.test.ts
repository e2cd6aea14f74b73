/**
 * Words that a shell may offer behind `millrace`. bash, zsh and fish offer them, also behind the parts of words that
 * bash splits at `=` in `key=value`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { infos } from "../../pipelines/commands/all.ts";
import { complete } from "../../pipelines/complete.ts";
import { completionScripts } from "../../pipelines/completionScripts.ts";

const root = new URL("../..", import.meta.url).pathname;
const dir = mkdtempSync(join(tmpdir(), "millrace-"));
beforeAll(() => {
  for (const run of ["lake/20260101-000000", "sweep/a,seed=0/20260101-000000"]) {
    mkdirSync(join(dir, "runs", run), { recursive: true });
    writeFileSync(join(dir, "runs", run, "config.yaml"), "");
  }
  writeFileSync(join(dir, "mine.yaml"), "defaults: [base]\ncustom_envs:\n  Mine: { env_type: bandit }\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const offered = (...words: readonly string[]) => Effect.runPromise(complete(words));

describe("behind millrace", () => {
  const before = process.cwd();
  beforeEach(() => {
    process.chdir(dir);
  });
  afterEach(() => {
    process.chdir(before);
  });

  it("stand its commands and their flags", async () => {
    expect((await offered("")).slice(0, 3)).toEqual([...infos.keys()].slice(0, 3));
    expect(await offered("serve-env", "--max-m")).toEqual(["--max-message-bytes"]);
    // Files, which the shell offers.
    expect(await offered("tune", "--output", "")).toEqual([]);
  });

  it("stand run files, those of the folder too, sweeps and presets of the run file that is named", async () => {
    expect(await offered("train", "--config-name", "qu")).toEqual(["quickstart"]);
    expect(await offered("train", "--config-name", "./m")).toEqual([]);
    expect(await offered("train", "--config-name", "m")).toEqual(["mine.yaml"]);
    expect(await offered("sweep", "top")).toEqual(["top_p"]);
    expect(await offered("trace", "--config-name", "mine.yaml", "Mi")).toEqual(["Mine"]);
    expect(await offered("trace", "Frozen")).toContain("FrozenLake");
  });

  it("stand keys a level at a time, and the values of a key", async () => {
    expect(await offered("train", "filt")).toEqual(["filter."]);
    expect(await offered("train", "filter.str")).toEqual(["filter.strategy="]);
    expect(await offered("train", "filter.strategy=top_k")).toEqual([
      "filter.strategy=top_k",
      "filter.strategy=top_k_abs",
    ]);
    expect(await offered("train", "es_manager.val.tags=[CoordF")).toEqual(["es_manager.val.tags=[CoordFrozenLake]"]);
  });

  it("stand the stages of a control", async () => {
    expect(await offered("control", "runs/lake", "con")).toEqual(["concurrency"]);
    expect(await offered("control", "runs/lake", "concurrency", "sc")).toEqual(["score"]);
  });

  it("stand runs, those of sweeps too, where a run or a model is named", async () => {
    const names = ["runs/lake", "runs/sweep/a,seed=0"];
    expect(await offered("watch", "runs/")).toEqual(expect.arrayContaining(names));
    expect(await offered("train", "--resume", "runs/l")).toEqual(["runs/lake", "runs/lake/20260101-000000"]);
    expect((await offered("evaluate", "model.path=runs/l"))[0]).toBe("model.path=runs/lake");
  });
});

describe("bash", () => {
  const bash = (line: string, current: string): readonly string[] => {
    const script = [
      `millrace() { "${process.execPath}" "${root}pipelines/millrace.mjs" "$@"; }`,
      completionScripts.bash,
      `COMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; COMP_WORDS=(millrace '${current}'); COMP_CWORD=1`,
      "_millrace",
      `printf "%s\\n" "\${COMPREPLY[@]}"`,
    ].join("\n");
    return spawnSync("bash", ["-c", script], { cwd: dir, encoding: "utf8" }).stdout.trimEnd().split("\n");
  };

  it("offers what completes the part behind the last = alone", () => {
    expect(bash("millrace train filter.strategy=min", "min")).toEqual(["min_p"]);
    expect(bash("millrace train --resume ", "")).toContain("runs/lake");
  });
});

const isThere = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

/** Runs a shell's script with the command line on its path; returns its output. */
const printed = (shell: string, script: string): string => {
  const env = { ...process.env, PATH: `${join(dir, "bin")}:${process.env.PATH ?? ""}`, HOME: dir, TERM: "dumb" };
  return spawnSync(shell, [...(shell === "zsh" ? ["-f"] : ["--no-config"]), "-c", script], {
    cwd: dir,
    encoding: "utf8",
    env,
    timeout: 60_000,
  }).stdout.trimEnd();
};

beforeAll(() => {
  mkdirSync(join(dir, "bin"));
  const command = `#!/bin/sh\nexec "${process.execPath}" "${root}pipelines/millrace.mjs" "$@"\n`;
  writeFileSync(join(dir, "bin", "millrace"), command, { mode: 0o755 });
  for (const [shell, script] of Object.entries(completionScripts)) writeFileSync(join(dir, `script.${shell}`), script);
  mkdirSync(join(dir, "fpath"));
  writeFileSync(join(dir, "fpath", "_millrace"), completionScripts.zsh);
});

describe.skipIf(!isThere("zsh"))("zsh", () => {
  /** The line after a tab in an interactive zsh that `setup` has readied. */
  const zsh = (setup: string, lines: readonly string[]): readonly string[] => {
    const show = `show() { print -r -- "$BUFFER" >> lines.txt; BUFFER=; }; zle -N show; bindkey "^Xs" show`;
    const script = [
      "zmodload zsh/zpty",
      "zpty shell zsh -f -i",
      `zpty -w shell ${JSON.stringify(`${setup}; source setup.zsh`)}`,
      "zpty -r shell seen '*READY*'",
      `zpty -w -n shell $'${lines.map((line) => `${line}\\t\\x18s`).join("")}'`,
      "zpty -w shell 'exit'",
      "while zpty -r shell seen; do :; done",
    ];
    writeFileSync(join(dir, "setup.zsh"), `${show}\nunsetopt beep\nPS1=READY\n`);
    writeFileSync(join(dir, "lines.txt"), "");
    printed("zsh", script.join("\n"));
    return readFileSync(join(dir, "lines.txt"), "utf8").split("\n").slice(0, -1);
  };

  it("completes a word, quotes what it takes for a pattern, and offers files where nothing else stands", () => {
    const given = ["train filter.str", "train es_manager.val.tags=\\\\[CoordF", "plan x mi"];
    expect(
      zsh(
        "source script.zsh",
        given.map((words) => `millrace ${words}`),
      ),
    ).toEqual([
      "millrace train filter.strategy=",
      "millrace train es_manager.val.tags=\\[CoordFrozenLake\\] ",
      "millrace plan x mine.yaml ",
    ]);
  });

  it("completes the first time where it finds the script in a folder of its functions", () => {
    const setup = "fpath=($PWD/fpath $fpath); autoload -Uz compinit; compinit -u -D";
    expect(zsh(setup, ["millrace trai"])).toEqual(["millrace train "]);
  });
});

describe.skipIf(!isThere("fish"))("fish", () => {
  const fish = (line: string): readonly string[] =>
    printed("fish", `source script.fish; complete -C ${JSON.stringify(line)}`).split("\n");

  it("completes a word, behind an opening quote too, and offers files where nothing else stands", () => {
    expect(fish("millrace train 'filter.strategy=min")).toEqual(["filter.strategy=min_p"]);
    expect(fish("millrace train --resume runs/l")).toEqual(["runs/lake", "runs/lake/20260101-000000"]);
    expect(fish("millrace train --output mi")).toEqual(["mine.yaml"]);
  });
});
