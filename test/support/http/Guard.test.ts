/** The guard's decisions, by the headers of a request alone. */
import { describe, expect, it } from "vitest";
import {
  bodyRefusalOf,
  corsHeaders,
  type Guard,
  hostNameOf,
  isLoopback,
  refusalOf,
} from "../../../src/support/http/Guard.ts";

const local: Guard = { isPublic: false, hosts: [], origins: [], token: null };
const json = { "content-type": "application/json" };

const headOf = (headers: Readonly<Record<string, string>>, method = "GET") => ({
  method,
  headers: { host: "localhost:8000", ...headers },
  headerValues: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
});

const statusOf = (guard: Guard, headers: Readonly<Record<string, string>>, method?: string): number | null =>
  refusalOf(guard, headOf(headers, method))?.status ?? null;

describe("the name in a Host header", () => {
  it.for([
    ["localhost", "localhost"],
    ["LOCALHOST.:80", "localhost"],
    ["127.0.0.1:8000", "127.0.0.1"],
    ["[::1]:8000", "::1"],
    ["[::1]", "::1"],
    ["::1", null],
    ["", null],
    ["a b", null],
    ["user@localhost", null],
    ["localhost:80:80", null],
    ["localhost/path", null],
    ["localhost,evil", null],
    ["localhost:port", null],
  ] as const)("in %j is %j", ([host, name]) => {
    expect(hostNameOf(host)).toBe(name);
  });

  it.for([
    ["localhost", true],
    ["127.0.0.1", true],
    ["127.9.8.7", true],
    ["::1", true],
    ["127.evil.example", false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["0.0.0.0", false],
    ["128.0.0.1", false],
  ] as const)("%j is loopback: %j", ([host, expected]) => {
    expect(isLoopback(host)).toBe(expected);
  });
});

describe("a server on loopback", () => {
  it.for(["localhost", "localhost:1", "127.0.0.1:8000", "[::1]:8000", "127.1.2.3"])("is asked as %s", (host) => {
    expect(statusOf(local, { host })).toBeNull();
  });

  it.for([
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.nip.io",
    "10.0.0.1",
    "0.0.0.0:8000",
    "[fe80::1]",
    "x@localhost",
  ])("is not asked as %s", (host) => {
    expect(statusOf(local, { host })).toBe(403);
  });

  it("is asked by a name that was allowed, whatever its case", () => {
    expect(statusOf({ ...local, hosts: ["Box.lan"] }, { host: "box.lan:8000" })).toBeNull();
    expect(statusOf({ ...local, hosts: ["Box.lan"] }, { host: "evil.box.lan" })).toBe(403);
  });
});

describe("a server beyond loopback", () => {
  const wide: Guard = { ...local, isPublic: true, token: "0123456789abcdef" };
  const authorization = "Bearer 0123456789abcdef";

  it("is asked by its addresses, and by no name but its own", () => {
    for (const host of ["10.0.0.7:8000", "[fe80::1]:8000", "localhost"]) {
      expect(statusOf(wide, { host, authorization })).toBeNull();
    }
    expect(statusOf(wide, { host: "evil.example", authorization })).toBe(403);
  });

  it.for([
    "",
    "Bearer",
    "Bearer 0123456789abcde",
    "Bearer 0123456789abcdef0",
    "Basic 0123456789abcdef",
    "0123456789abcdef",
    "Bearer 0123456789ABCDEF",
    "Bearer 0123456789abcdef other",
  ])("refuses the token in %j", (given) => {
    expect(statusOf(wide, given === "" ? {} : { authorization: given })).toBe(401);
  });

  it("asks for the token with every method", () => {
    for (const method of ["GET", "POST", "HEAD", "OPTIONS", "DELETE"]) expect(statusOf(wide, json, method)).toBe(401);
  });
});

describe("a web page", () => {
  it.for([
    "http://evil.example",
    "null",
    "http://localhost:3000",
    "http://127.0.0.1:8000",
    "https://localhost:8000",
    "http://localhost:8000.evil.example",
    "file://",
    "",
  ])("of %j does not ask", (origin) => {
    for (const method of ["GET", "POST", "OPTIONS"]) expect(statusOf(local, { ...json, origin }, method)).toBe(403);
  });

  it("of the server's own origin, or of an origin that was allowed, asks", () => {
    expect(statusOf(local, { origin: "http://localhost:8000" })).toBeNull();
    const origins = ["http://localhost:3000"];
    expect(statusOf({ ...local, origins }, { ...json, origin: "http://LOCALHOST:3000" }, "POST")).toBeNull();
    expect(statusOf({ ...local, origins }, { origin: "http://localhost:3001" })).toBe(403);
  });

  it("that shows an answer as a picture, or links to it from elsewhere, does not", () => {
    for (const site of ["cross-site", "same-site", "odd"])
      expect(statusOf(local, { "sec-fetch-site": site })).toBe(403);
    for (const site of ["none", "same-origin"]) expect(statusOf(local, { "sec-fetch-site": site })).toBeNull();
  });

  it("is told that it may ask where it may, before it sends a token, and nothing otherwise", () => {
    const guard: Guard = { ...local, origins: ["http://page.example"], token: "0123456789abcdef" };
    const question = { origin: "http://page.example", "access-control-request-method": "POST" };
    expect(statusOf(guard, question, "OPTIONS")).toBeNull();
    expect(corsHeaders(guard, headOf(question, "OPTIONS"))).toMatchObject({
      "access-control-allow-origin": "http://page.example",
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization, content-type",
    });
    expect(corsHeaders(guard, headOf({ origin: "http://localhost:8000" }))).toEqual({});
    expect(corsHeaders(guard, headOf({}))).toEqual({});
  });
});

describe("a body", () => {
  it.for(["application/json", "application/json; charset=utf-8", "Application/JSON"])("may be %s", (type) => {
    expect(bodyRefusalOf(headOf({ "content-type": type }))).toBeNull();
  });

  it.for([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "text/json",
    "",
  ])("may not be %j", (type) => {
    expect(bodyRefusalOf(headOf({ "content-type": type }))).toMatchObject({ status: 415 });
  });

  it("has a type", () => {
    expect(bodyRefusalOf(headOf({}))).toMatchObject({ status: 415 });
  });
});

describe("a header that decides", () => {
  it.for(["host", "origin", "authorization", "content-type"])("comes once: %s", (name) => {
    const twice = {
      ...headOf({ ...json, [name]: "localhost" }, "POST"),
      headerValues: { [name]: ["localhost", "evil"] },
    };
    expect(refusalOf(local, twice)).toMatchObject({ status: 400 });
  });
});
