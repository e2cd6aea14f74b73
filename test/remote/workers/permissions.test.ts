import { describe, expect, it } from "vitest";
import { namesOf, subjectToken } from "../../../src/remote/workers/nats/names.ts";
import { passwordVariable, renderServerConfig, workerPermissions } from "../../../src/remote/workers/permissions.ts";

describe("what a worker may do at the broker", () => {
  it("is to take and end leases of its run, and to send under its own name", () => {
    const { publish, subscribe } = workerPermissions("bandit", "w1");
    expect(publish).toEqual([
      "millrace.runs",
      "millrace.bandit.result.w1",
      "millrace.bandit.gauges.w1",
      "$JS.API.CONSUMER.INFO.MILLRACE_bandit_WORK.workers",
      "$JS.API.CONSUMER.MSG.NEXT.MILLRACE_bandit_WORK.workers",
      "$JS.API.DIRECT.GET.MILLRACE_bandit_STATE.millrace.bandit.about",
      "$JS.API.DIRECT.GET.MILLRACE_bandit_STATE.millrace.bandit.weights",
      "$JS.ACK.MILLRACE_bandit_WORK.workers.>",
    ]);
    expect(subscribe).toEqual(["_INBOX_w1.>", "millrace.bandit.about", "millrace.bandit.weights"]);
  });

  it("is no wildcard over others, and no word of another run", () => {
    const all = [...workerPermissions("bandit", "w1").publish, ...workerPermissions("bandit", "w1").subscribe];
    expect(all.filter((subject) => /\*|^>|RESULTS|STREAM|CREATE|DELETE|PURGE/.test(subject))).toEqual([]);
  });

  it("is written as a server's configuration, with passwords by name only", () => {
    const text = renderServerConfig({
      run: "bandit",
      workers: ["w1", "gpu-2"],
      listen: "0.0.0.0:4222",
      store: "/var/nats",
    });
    expect(text).toContain('user: "gpu-2", password: $GPU_2_PASSWORD');
    expect(text).toContain('{ user: "learner", password: $LEARNER_PASSWORD }');
    expect(text).toContain('listen: "0.0.0.0:4222"');
    expect(text.split("_INBOX_w1.>")).toHaveLength(2);
    expect(passwordVariable("gpu-2")).toBe("GPU_2_PASSWORD");
  });
});

describe("the names of a run at the broker", () => {
  it("are one token each, and no other run's", () => {
    expect(subjectToken("bandit-2_x")).toBe("bandit-2_x");
    const strange = ["a.b", "a b", "a_b", "a*b", "a>b", "ä", "é"];
    const tokens = strange.map(subjectToken);
    expect(new Set(tokens).size).toBe(strange.length);
    for (const token of tokens) expect(token).toMatch(/^[\w-]+$/);
    const { subjects } = namesOf("a.b");
    expect(subjects.about.split(".")).toHaveLength(3);
  });
});
