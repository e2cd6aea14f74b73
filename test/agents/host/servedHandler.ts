/** A server of a user's own, which mounts a handler of requests. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Serves a handler as Node's own server, which gives a `Request` to none. */
export const served = async <A>(
  handler: (request: Request) => Promise<Response>,
  use: (url: string) => Promise<A>,
): Promise<A> => {
  const server = createServer(async (incoming, outgoing) => {
    const { headers, method = "GET" } = incoming;
    const request = new Request("http://localhost/rollout", {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      body: await text(incoming),
    });
    const response = await handler(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/rollout`);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
};
