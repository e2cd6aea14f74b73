/** Configurations that are refused. */
import { expect, it } from "vitest";
import { configWith } from "./config.ts";

it.each([
  [{ request_timeout: 61 }, "http_timeout"],
  [{ http_timeout: 29 }, "request_timeout"],
  [{ request_timeout: 301, http_timeout: 400 }, "300"],
])("is refused: %j", (keys, named) => {
  expect(() => configWith(keys)).toThrow(named);
});

it("lets a request last as long as a proof may", () => {
  expect(configWith({ request_timeout: 300, http_timeout: 300 }).http_timeout).toBe(300);
});
