/** Server-sent events over fetch: messages in pieces, a stream that breaks, and one that is refused. */
import { describe, expect, it } from "vitest";
import { RequestRefused } from "../../../../src/observe/watch/page/Client.ts";
import { listen, type Message, messagesIn } from "../../../../src/observe/watch/page/stream.ts";

describe("messages", () => {
  it("are those that are whole", () => {
    expect(messagesIn(': open\n\nevent: line\ndata: {"a":1}\n\nevent: st')).toEqual({
      messages: [{ event: "line", data: '{"a":1}' }],
      rest: "event: st",
    });
    expect(messagesIn(": alive\n\n")).toEqual({ messages: [], rest: "" });
  });
});

describe("a stream", () => {
  const heard = (open: (signal: AbortSignal) => Promise<Response>) => {
    const said: (Message | "broke" | "open")[] = [];
    return new Promise<typeof said>((resolve) => {
      const close = listen(open, {
        open: () => said.push("open"),
        broke: () => {
          said.push("broke");
          close();
          resolve(said);
        },
        message: (message) => said.push(message),
      });
    });
  };

  it("tells its messages in order, and that it broke", async () => {
    const pieces = ["event: step\nda", 'ta: {"step":3}\n', "\n: alive\n\n"];
    const body = new ReadableStream({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    expect(await heard(async () => new Response(body))).toEqual([
      "open",
      { event: "step", data: '{"step":3}' },
      "broke",
    ]);
  });

  it("says so where the server does not answer", async () => {
    expect(await heard(() => Promise.reject(new Error("no answer")))).toEqual(["broke"]);
  });

  it("is not opened again where it is refused", async () => {
    let opened = 0;
    const close = listen(
      () => {
        opened++;
        return Promise.reject(new RequestRefused(401, "no token"));
      },
      { open: () => undefined, broke: () => expect.fail("broke"), message: () => undefined },
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(opened).toBe(1);
    close();
  });
});
