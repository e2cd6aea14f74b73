/** The redaction of private data in reports. */
import { describe, expect, it } from "vitest";
import { redactorFor } from "../../../../src/observe/watch/report/Redactor.ts";

const discreet = redactorFor({
  env: {
    WANDB_API_KEY: "0123456789abcdef",
    MILLRACE_TOKEN: "tell-nobody",
    SHORT_KEY: "abc",
    HOME: "/home/someone",
    TOKENIZER: "words",
  },
  folders: ["/home/someone", "/home/someone/runs", "/"],
});

describe("what the program wrote", () => {
  it.each([
    ["checkpoint /home/someone/runs/a/checkpoints/step-12", "checkpoint …/step-12"],
    ["cannot read /etc/models/nano: no such file", "cannot read …/nano: no such file"],
    ["read C:\\Users\\someone\\run.yaml", "read …/run.yaml"],
    ["key 0123456789abcdef was refused", "key [hidden] was refused"],
    ["a page at https://host/a/b?c=1", "a page at https://host/a/b?c=1"],
    ["https://user:password@host/a", "https://host/a"],
    ["</answer> and/or 3/4 of abc", "</answer> and/or 3/4 of abc"],
    ["stage rollout/busy", "stage rollout/busy"],
  ])("%s", (text, expected) => {
    expect(discreet.redact(text)).toBe(expected);
  });
});

describe("a run file", () => {
  it("loses the values of keys that name a secret, and where files lie", () => {
    const yaml = [
      "model:",
      "  path: /home/someone/models/nano",
      "remote:",
      "  token: tell-me",
      "  api_key: abc",
      "  token_file: secret.txt",
      '  password: ""',
      "rollout:",
      "  max_tokens: 100",
      "  tokens: 12",
      "  separator: ||",
    ].join("\n");
    expect(discreet.redactConfig(yaml).split("\n")).toEqual([
      "model:",
      "  path: …/nano",
      "remote:",
      "  token: [hidden]",
      "  api_key: [hidden]",
      "  token_file: [hidden]",
      '  password: ""',
      "rollout:",
      "  max_tokens: 100",
      "  tokens: 12",
      "  separator: ||",
    ]);
  });
});

describe("what models and environments wrote", () => {
  it("is told from texts that give something away", () => {
    expect(discreet.isSensitive("open /home/someone/x")).toBe(true);
    expect(discreet.isSensitive("the key is 0123456789abcdef")).toBe(true);
    expect(discreet.isSensitive("words and abc in /usr/lib")).toBe(false);
  });
});
