import { describe, expect, it } from "vitest";
import { ofReply } from "../../../src/tools/endpoints/Failure.ts";

const failure = (status: number, body: unknown = {}, headers = {}, key: string | null = "sk-secret") =>
  ofReply({ status, headers, body: typeof body === "string" ? body : JSON.stringify(body) }, key, 0);
const error = (message: string, code?: string) => ({ error: { message, code } });

describe("an answer that is no reply", () => {
  it.each([408, 409, 429, 500, 502, 503, 504, 529])("is asked for again with the status %i", (status) => {
    expect(failure(status)._tag).toBe("again");
  });

  it("says how long to wait", () => {
    expect(failure(429, {}, { "retry-after": "3" })).toMatchObject({ waitMs: 3_000, busy: true });
    expect(failure(500)).toMatchObject({ waitMs: null, busy: false });
  });

  it("ends everything where the key or the model is refused", () => {
    for (const status of [301, 401, 403, 404]) expect(failure(status)._tag).toBe("refused");
  });

  it("ends everything where the account is exhausted, whatever its status", () => {
    expect(failure(429, error("You exceeded your current quota", "insufficient_quota"))._tag).toBe("quota");
    expect(failure(400, error("Your credit balance is too low to access the API"))._tag).toBe("quota");
    expect(failure(402)._tag).toBe("quota");
  });

  it("is a chat that is too long, where it says so", () => {
    expect(
      failure(400, error("This model's maximum context length is 8192 tokens", "context_length_exceeded"))._tag,
    ).toBe("context");
    expect(failure(400, error("prompt is too long: 210000 tokens > 200000 maximum"))._tag).toBe("context");
    expect(failure(413)._tag).toBe("context");
  });

  it("gives one request up that is not understood", () => {
    expect(failure(400, error("messages: bad role"))).toEqual({
      _tag: "rejected",
      message: "status 400: messages: bad role",
    });
  });

  it("is a chat that was filtered, where it says so", () => {
    expect(failure(400, error("The response was filtered", "content_filter"))._tag).toBe("filtered");
  });

  it("is asked for again where a 200 holds nonsense", () => {
    expect(failure(200, "<html>maintenance</html>")._tag).toBe("again");
  });

  it("never tells the key", () => {
    expect(failure(400, error("bad header Bearer sk-secret")).message).not.toContain("sk-secret");
    expect(failure(401, error("Incorrect API key provided: sk-sec**et")).message).toBe("status 401");
  });

  it("is told in few words", () => {
    expect(failure(500, error("x".repeat(10_000))).message.length).toBeLessThan(200);
  });
});
