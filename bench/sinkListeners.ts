/**
 * Listeners of a run's sinks, in a process of their own: a collector that takes everything, a scraper of `/metrics`,
 * and a browser that listens to the page. The process says the collector's port first; orders start the others.
 */
import { createServer } from "node:http";

export type Order = { readonly scrape: string } | { readonly listen: string } | { readonly rest: true };

const EVERY_MS = 5_000;

process.on("disconnect", () => process.exit(0));

let timer: NodeJS.Timeout | undefined;
let looking = new AbortController();

const drained = async (url: string, signal: AbortSignal): Promise<void> => {
  const { body } = await fetch(url, { signal });
  for await (const _ of body ?? []);
};

const obey = (order: Order): void => {
  if ("rest" in order) {
    clearInterval(timer);
    looking.abort();
    looking = new AbortController();
    return;
  }
  const { signal } = looking;
  const ask = (url: string): void => {
    // A run that has ended refuses; what it said until then is enough.
    drained(url, signal).catch(() => undefined);
  };
  if ("listen" in order) ask(order.listen);
  else {
    ask(order.scrape);
    timer = setInterval(() => ask(order.scrape), EVERY_MS);
  }
};
process.on("message", (order: Order) => obey(order));

const collector = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end("{}"));
});
collector.listen(0, "127.0.0.1", () => {
  const address = collector.address();
  process.send?.(typeof address === "object" && address !== null ? address.port : 0);
});
