/** A shop of two shirts that speaks OpenEnv: search, results, an item with a size to choose, and the purchase. */
import type { WebSocket } from "ws";
import { observe, type StandIn, say, standIn } from "../../openenv/standIn.ts";

interface Visit {
  page: "search" | "results" | "more" | "item" | "description" | "done";
  goal: number;
  size: string | null;
}

export interface Shop extends StandIn {
  /** The data of the resets, in order. */
  readonly resets: () => readonly Record<string, unknown>[];
  readonly actions: () => readonly string[];
}

const goalOf = (visit: Visit): string => `Find me a shirt number ${visit.goal}, with size: large`;

const parts = (visit: Visit): string[] => {
  switch (visit.page) {
    case "search":
      return ["WebShop", "Instruction:", goalOf(visit), "Search"];
    case "results":
      return [
        "Instruction:",
        goalOf(visit),
        "Back to Search",
        "Page 1 (Total results: 2)",
        "Next >",
        "B01",
        "Red shirt",
      ];
    case "more":
      return ["Instruction:", goalOf(visit), "Back to Search", "Page 2 (Total results: 2)", "< Prev", "Next >"];
    case "item":
      // The page does not show the chosen size.
      return [
        "Instruction:",
        goalOf(visit),
        "Back to Search",
        "< Prev",
        "size",
        "small",
        "large",
        "Red shirt",
        "Buy Now",
      ];
    case "description":
      return ["Instruction:", goalOf(visit), "A red shirt."];
    case "done":
      return ["Thank you for shopping with us!"];
  }
};

const clickables: Readonly<Record<Visit["page"], readonly string[]>> = {
  search: ["search"],
  results: ["back to search", "next >", "b01"],
  more: ["back to search", "< prev", "next >"],
  item: ["back to search", "< prev", "description", "features", "reviews", "buy now", "small", "large"],
  description: ["back to search", "< prev"],
  done: [],
};

const click = (visit: Visit, button: string): number => {
  switch (button) {
    case "back to search":
      visit.page = "search";
      return 0;
    case "next >":
      visit.page = "more";
      return 0;
    case "< prev":
      visit.page = visit.page === "description" ? "item" : "results";
      return 0;
    case "b01":
      visit.page = "item";
      return 0;
    case "description":
    case "features":
    case "reviews":
      visit.page = "description";
      return 0;
    case "buy now":
      visit.page = "done";
      return visit.size === "large" ? 1 : 0.5;
    default:
      visit.size = button;
      return 0;
  }
};

const show = (socket: WebSocket, visit: Visit, reward: number | null): void =>
  observe(
    socket,
    {
      text: parts(visit).join(" [SEP] "),
      instruction: goalOf(visit),
      available_actions: { has_search_bar: visit.page === "search", clickables: clickables[visit.page] },
    },
    reward,
    visit.page === "done",
  );

export const shop = async (): Promise<Shop> => {
  const visits = new Map<WebSocket, Visit>();
  const resets: Record<string, unknown>[] = [];
  const actions: string[] = [];
  const server = await standIn({
    hear: (socket, { data, type }) => {
      if (type === "reset") {
        resets.push(data);
        visits.set(socket, { page: "search", goal: Number(data.session ?? data.seed), size: null });
        return show(socket, visits.get(socket)!, null);
      }
      const visit = visits.get(socket)!;
      const action = String(data.action);
      actions.push(action);
      const [, name, argument = ""] = /^(\w+)\[(.+)\]$/.exec(action) ?? [];
      if (name === "search") visit.page = "results";
      else if (name !== "click")
        return say(socket, { type: "error", data: { message: action, code: "EXECUTION_ERROR" } });
      show(socket, visit, name === "click" ? click(visit, argument.toLowerCase()) : 0);
    },
  });
  return { ...server, resets: () => resets, actions: () => actions };
};
