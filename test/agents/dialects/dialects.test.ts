import { Result } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chat } from "../../../src/agents/dialects/chat.ts";
import type { Dialect, ModelAnswer } from "../../../src/agents/dialects/Dialect.ts";
import { messages } from "../../../src/agents/dialects/messages.ts";
import { modelList } from "../../../src/agents/dialects/models.ts";
import { responses } from "../../../src/agents/dialects/responses.ts";
import { messagesAgree } from "../../../src/domain/Conversation.ts";
import { Problem } from "../../../src/support/http/Problem.ts";
import { assertProperty } from "../../property.ts";
import { callIn, earlierAnswer, messagesIn, replyOf, textAnswer } from "./answers.ts";
import { chatBodies, messagesBodies, responsesBodies } from "./bodies.ts";

/** A dialect, bodies that it reads, and the body that a client sends after an answer to "Hi.", with the answer as its history. */
interface Case {
  readonly dialect: Dialect;
  readonly bodies: readonly unknown[];
  readonly nextBody: (answer: unknown) => unknown;
}

const user = (content: string) => ({ role: "user", content });
type ChatAnswer = { readonly choices: readonly [{ readonly message: unknown }] };
type ResponsesAnswer = { readonly output: readonly unknown[] };
type MessagesAnswer = { readonly content: unknown };

const cases: readonly Case[] = [
  {
    dialect: chat,
    bodies: Object.values(chatBodies),
    nextBody: (answer) => ({ messages: [user("Hi."), (answer as ChatAnswer).choices[0].message, user("Go on.")] }),
  },
  {
    dialect: responses,
    bodies: Object.values(responsesBodies),
    nextBody: (answer) => ({ input: [user("Hi."), ...(answer as ResponsesAnswer).output, user("Go on.")] }),
  },
  {
    dialect: messages,
    bodies: Object.values(messagesBodies),
    nextBody: (answer) => ({
      messages: [user("Hi."), { role: "assistant", content: (answer as MessagesAnswer).content }, user("Go on.")],
    }),
  },
];
const perDialect = cases.map((each) => [each.dialect.name, each] as const);

/** A value as a client gets it over the wire. */
const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const word = fc.string({ minLength: 1 });
const answers: fc.Arbitrary<ModelAnswer> = fc
  .record({
    text: fc.string(),
    reasoning: fc.option(word),
    calls: fc.array(fc.record({ id: word, name: word, arguments: fc.jsonValue().map(overTheWire) }), { maxLength: 3 }),
  })
  .map((parts) => ({ ...textAnswer, ...parts }));

/** All places in a JSON value, each as the keys that lead to it. */
const placesIn = (value: unknown): readonly (readonly string[])[] => {
  if (typeof value !== "object" || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner).map((place) => [key, ...place]))];
};

const replaceAt = (value: unknown, [key, ...rest]: readonly string[], replacement: unknown): unknown => {
  if (key === undefined) return replacement;
  const copy: unknown = Array.isArray(value) ? [...value] : { ...(value as object) };
  const fields = copy as Record<string, unknown>;
  fields[key] = replaceAt(fields[key], rest, replacement);
  return copy;
};

/** True for a call, or for a problem with status 400 and one sentence. */
const isReadOrRefused = (result: ReturnType<Dialect["read"]>): boolean =>
  Result.isSuccess(result) || (result.failure.status === 400 && /^[^\n]{5,200}$/.test(result.failure.message));

describe.each(perDialect)("the dialect %s", (_name, { nextBody, bodies, dialect }) => {
  it("reads any JSON or refuses it in a sentence", () => {
    assertProperty(fc.property(fc.jsonValue(), (body) => isReadOrRefused(dialect.read(body))));
  });

  it("reads a body with any field replaced, or refuses it in a sentence", () => {
    const spoilt = fc
      .constantFrom(...bodies)
      .chain((body) =>
        fc
          .tuple(fc.constantFrom(...placesIn(body)), fc.jsonValue())
          .map(([place, value]) => replaceAt(body, place, value)),
      );
    assertProperty(
      fc.property(spoilt, (body) => isReadOrRefused(dialect.read(body))),
      { numRuns: 1_000 },
    );
  });

  it("refuses a body that nests too deeply for the stack", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
    expect(Result.isFailure(dialect.read({ messages: deep, input: deep }))).toBe(true);
    expect(Result.isFailure(dialect.read(deep))).toBe(true);
  });

  it("reads its answer, sent back as history, as the same reply", () => {
    const first = callIn(
      dialect,
      nextBody(
        dialect.answer(
          textAnswer,
          callIn(dialect, bodies[0], () => earlierAnswer(textAnswer)),
        ),
      ),
    );
    assertProperty(
      fc.property(answers, (answer) => {
        const [, reply, ...others] = messagesIn(dialect, nextBody(overTheWire(dialect.answer(answer, first))));
        return reply !== undefined && messagesAgree(reply, replyOf(answer)) && others.length === 1;
      }),
    );
  });

  it("reads the key of a request from either header", () => {
    expect(dialect.keyOf({ authorization: "Bearer secret" })).toBe("secret");
    expect(dialect.keyOf({ "x-api-key": "secret" })).toBe("secret");
    expect(dialect.keyOf({ authorization: "Basic secret" })).toBeNull();
    expect(dialect.keyOf({ "x-api-key": "" })).toBeNull();
    expect(dialect.keyOf({})).toBeNull();
  });
});

describe("arguments that nest too deeply", () => {
  it("stay a text in OpenAI's dialects", () => {
    const text = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const tool_calls = [{ id: "c", function: { name: "f", arguments: text } }];
    expect(messagesIn(chat, { messages: [{ role: "assistant", tool_calls }] })).toEqual([
      { role: "assistant", text: "", calls: [{ id: "c", name: "f", arguments: text }] },
    ]);
  });
});

describe("errors", () => {
  const problem = (status: number) => new Problem({ status, message: "n: must be 1" });
  const kinds = (dialect: Dialect) =>
    [400, 401, 404, 409, 413, 429, 500, 503].map((status) => dialect.error(problem(status)));

  it("have the types of OpenAI, and name the field of a bad request", () => {
    expect(chat.error(problem(400))).toEqual({
      error: { message: "n: must be 1", type: "invalid_request_error", code: null, param: "n" },
    });
    const types = ["invalid_request_error", "authentication_error", "invalid_request_error", "invalid_request_error"];
    types.push("invalid_request_error", "rate_limit_error", "server_error", "server_error");
    expect(kinds(chat)).toMatchObject(types.map((type) => ({ error: { type } })));
    expect(kinds(responses)).toEqual(kinds(chat));
  });

  it("have the types of Anthropic", () => {
    const types = ["invalid_request_error", "authentication_error", "not_found_error", "conflict_error"];
    types.push("request_too_large", "rate_limit_error", "api_error", "overloaded_error");
    expect(kinds(messages)).toEqual(types.map((type) => ({ type: "error", error: { type, message: "n: must be 1" } })));
  });
});

describe("the list of models", () => {
  it("has one model in the form of both vendors", () => {
    const model = {
      id: "policy",
      object: "model",
      created: 1_700_000_000,
      owned_by: "millrace",
      type: "model",
      display_name: "policy",
      created_at: "2023-11-14T22:13:20.000Z",
    };
    const page = { object: "list", data: [model], has_more: false, first_id: "policy", last_id: "policy" };
    expect(modelList(1_700_000_000)).toEqual(page);
  });
});
