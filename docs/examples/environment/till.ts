/** Till: what do these things cost together? The model looks prices up by one tool, adds by another, and answers with the sum. */
import { defineEnvironment, integer, toolCall } from "millrace/env";

const shelf = ["apple", "bread", "cheese", "dates", "egg", "fig"];

interface State {
  readonly prices: Readonly<Record<string, number>>;
  readonly basket: readonly string[];
  /** Sums and prices that tools have told. */
  readonly told: readonly number[];
}

const total = ({ basket, prices }: State) => basket.reduce((sum, thing) => sum + (prices[thing] ?? 0), 0);

export default defineEnvironment({
  type: "till",
  config: { things: integer(1, 4, { default: 2, about: "Things in the basket." }) },
  reset: (config, random): State => ({
    prices: Object.fromEntries(shelf.map((thing) => [thing, 1 + random.int(9)])),
    basket: random.shuffle(shelf).slice(0, config.things),
    told: [],
  }),
  render: (_config, { basket }) => basket.join(" "),
  tools: [
    {
      name: "price",
      description: "the price of a thing",
      parameters: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
      run: (_config, state, { thing }) => {
        const price = state.prices[thing];
        if (price === undefined) return { state, text: `no ${thing} here`, effective: false };
        return { state: { ...state, told: [...state.told, price] }, text: `${price}` };
      },
    },
    {
      name: "add",
      description: "the sum of two numbers",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
      run: (_config, state, { a, b }) => ({ state: { ...state, told: [...state.told, a + b] }, text: `${a + b}` }),
    },
  ],
  answer: (_config, state, text) => ({ reward: Number(text) === total(state) ? 1 : 0 }),
  /** Looks the first price up that was not told, then adds, then answers. */
  advise: (_config, { basket, prices, told }) => {
    const thing = basket[told.length];
    if (thing !== undefined) return toolCall("price", { thing });
    const parts = basket.map((each) => prices[each] ?? 0);
    const sums = parts.slice(1).map((_, at) => parts.slice(0, at + 2).reduce((a, b) => a + b, 0));
    const next = sums[told.length - basket.length];
    if (next === undefined) return `${sums.at(-1) ?? parts[0]}`;
    const last = parts[told.length - basket.length + 1] ?? 0;
    return toolCall("add", { a: next - last, b: last });
  },
});
