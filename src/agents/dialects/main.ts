/** The dialects that the endpoint answers in. */
import { chat } from "./chat.ts";
import type { Dialect } from "./Dialect.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

export const dialects: readonly Dialect[] = [chat, responses, messages];
