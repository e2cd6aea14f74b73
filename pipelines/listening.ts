/**
 * What the commands that serve have in common: the token, from a file or the environment because every user of a machine sees its command
 * lines, and the message about a port that cannot be had.
 */
import { readFile } from "node:fs/promises";
import { Effect } from "effect";
import { BadInput } from "../src/domain/Errors.ts";
import { freePortAbove } from "../src/http/freePort.ts";
import type { ListenFailed } from "../src/http/listen.ts";

export const loopback = "127.0.0.1";

/** Why the server cannot listen there, and the nearest port that is free; `flag` names the port. */
export const unusable = Effect.fnUntraced(function* ({ code, host, port }: ListenFailed, flag = "--port") {
  if (code !== "EADDRINUSE" && code !== "EACCES") {
    return yield* new BadInput({
      message: `--host: ${JSON.stringify(host)}: no address of this machine (${code}); nearest: ${loopback}`,
    });
  }
  const nearest = yield* Effect.promise(() => freePortAbove(host, port));
  const why = code === "EADDRINUSE" ? `in use on ${host}` : "not open to this user";
  return yield* new BadInput({ message: `${flag}: ${port}: ${why}; nearest: ${nearest ?? "none"}` });
});

export const tokenVariable = "MILLRACE_TOKEN";
/** Guessing one of this length is hopeless; a shorter one may be a word. */
const shortestToken = 16;

export const howToMake = "openssl rand -hex 32 makes one";

/** The token of a file or of the environment; null where neither is given. */
export const tokenFrom = Effect.fnUntraced(function* (file: string | null) {
  const source = file === null ? tokenVariable : "--token-file";
  const text = yield* file === null
    ? Effect.succeed(process.env[tokenVariable])
    : Effect.tryPromise({
        try: () => readFile(file, "utf8"),
        catch: () => new BadInput({ message: `--token-file: ${JSON.stringify(file)} cannot be read; ${howToMake}` }),
      });
  if (text === undefined || (file === null && text === "")) return null;
  const token = text.trim();
  if (new RegExp(`^[\\x21-\\x7e]{${shortestToken},}$`).test(token)) return token;
  const expected = `a token has ${shortestToken} characters at least, and no blanks`;
  return yield* new BadInput({ message: `${source}: ${expected}; ${howToMake}` });
});
