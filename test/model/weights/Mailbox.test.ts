import { MessageChannel } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { type Delivery, Mailbox, Snapshot } from "../../../src/model/weights/Mailbox.ts";
import type { AdoptedMessage, WeightsMessage } from "../../../src/model/weights/Weights.ts";

/** Versions that reach a generator which adopts the first only after all four are published. */
const received = async (delivery: Delivery): Promise<readonly number[]> => {
  const { port1, port2 } = new MessageChannel();
  const mailbox = new Mailbox(port1, delivery);
  const versions: number[] = [];
  const done = new Promise<void>((resolve) => {
    port2.on("message", ({ version }: WeightsMessage) => {
      versions.push(version);
      const adopted: AdoptedMessage = { _tag: "adopted", version };
      port2.postMessage(adopted);
      if (version === 4) resolve();
    });
  });
  for (const version of [1, 2, 3, 4])
    mailbox.publish(new Snapshot({ version, kind: "full" }, new Float32Array([version]), 1));
  await done;
  mailbox.close();
  return versions;
};

describe("a weights mailbox", () => {
  it("leaves out versions that came while another was on its way", async () => {
    expect(await received("latest")).toEqual([1, 4]);
  });

  it("delivers each version in order where a window is played by each", async () => {
    expect(await received("each")).toEqual([1, 2, 3, 4]);
  });
});
