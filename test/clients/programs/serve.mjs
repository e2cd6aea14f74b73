/**
 * The loop of a client's program: one order a line on its input, one result a line on its output. An order names what to do (`do`), the
 * endpoint and the key; `{"do":"abort"}` aborts the running order.
 */
import { createInterface } from "node:readline";

/** The error as its class names it, with the status of the reply where it carries one. */
const failureOf = (error) => ({
  error: {
    classes: classesOf(error),
    status: error.status ?? error.statusCode ?? null,
    message: String(error.message),
  },
});

const classesOf = (error) => {
  const names = [];
  for (let at = Object.getPrototypeOf(error); at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    names.push(at.constructor.name);
  }
  return names;
};

/** Serves orders by `actions`: functions of an order and an AbortSignal, by the names of orders. */
export const serve = async (actions) => {
  let controller = new AbortController();
  const run = async (order, signal) => {
    try {
      return { ...(await actions[order.do](order, signal)), isAborted: signal.aborted };
    } catch (error) {
      return { ...failureOf(error), isAborted: signal.aborted };
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if (order.do === "abort") controller.abort();
    else {
      controller = new AbortController();
      run(order, controller.signal).then((result) => process.stdout.write(`result: ${JSON.stringify(result)}\n`));
    }
  }
};
