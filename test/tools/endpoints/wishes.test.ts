import { it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { nothing } from "../../../src/tools/endpoints/Budget.ts";
import * as ChatClient from "../../../src/tools/endpoints/ChatClient.ts";
import { endpointAt } from "./settings.ts";
import { says, standIn } from "./standIn.ts";

const chat = [{ role: "user", content: "hello" }] as const;
const wishes = { temperature: 0.25, topP: 0.5, topK: 4, seed: 7, maxTokens: 40, stop: ["END"] };

it.live.each([
  ["openai", { temperature: 0.25, top_p: 0.5, seed: 7, stop: ["END"], max_tokens: 40 }, ["top_k 4"]],
  ["anthropic", { temperature: 0.25, top_p: 0.5, top_k: 4, stop_sequences: ["END"], max_tokens: 40 }, ["seed 7"]],
] as const)("requests by %s have the wishes that its protocol has", ([protocol, fields, ignored]) =>
  Effect.gen(function* () {
    const server = yield* standIn((_, response) => says(response, { text: "hi" }));
    const endpoint = endpointAt(server.url, { protocol, retries: 0 });
    const client = yield* ChatClient.make(endpoint, { key: null, before: nothing, seed: 1 });
    yield* Effect.ignore(client.complete(chat, { wishes }));
    expect(server.asked[0]?.body).toEqual({ model: "m-1", messages: chat, ...fields });
    expect(ChatClient.ignoredWishes(endpoint)(wishes)).toEqual(ignored);
  }),
);

it.live("requests keep what the run file sets, and its limit of tokens", () =>
  Effect.gen(function* () {
    const server = yield* standIn((_, response) => says(response, { text: "hi" }));
    const endpoint = endpointAt(server.url, { agentFields: ["topP"], extraFields: { seed: 3 } });
    const client = yield* ChatClient.make(endpoint, { key: null, before: nothing, seed: 1 });
    yield* client.complete(chat, { wishes: { ...wishes, maxTokens: 5_000 } });
    expect(server.asked[0]?.body).toEqual({
      ...{ model: "m-1", messages: chat, temperature: 0, max_tokens: 100, top_p: 0.5, seed: 3 },
    });
    const words = ["temperature 0.25", "top_k 4", "seed 7", 'stop ["END"]'];
    expect(ChatClient.ignoredWishes(endpoint)(wishes)).toEqual(words);
    expect(ChatClient.ignoredWishes(endpoint)({ temperature: 0, stop: [] })).toEqual([]);
  }),
);

it.live("a request that has no temperature takes none over", () =>
  Effect.gen(function* () {
    const server = yield* standIn((_, response) => says(response, { text: "hi" }));
    const sentFields = { temperature: false, maxTokens: true };
    const endpoint = endpointAt(server.url, { sentFields, agentFields: [] });
    const client = yield* ChatClient.make(endpoint, { key: null, before: nothing, seed: 1 });
    yield* client.complete(chat, { wishes });
    expect(server.asked[0]?.body).toEqual({ model: "m-1", messages: chat, max_tokens: 40 });
  }),
);
