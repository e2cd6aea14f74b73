/**
 * Reads a page of the shop from the server's observation: the text for the model, and the actions of the page. The observation has the fields
 * of WebShop's text environment: `text`, the page with its parts joined by ` [SEP] `, and `available_actions`, `{has_search_bar,
 * clickables}` in lower case. A third field, `instruction`, is the goal in words.
 */
import { Schema } from "effect";

export const PageObservation = Schema.Struct({
  text: Schema.String,
  available_actions: Schema.Struct({ has_search_bar: Schema.Boolean, clickables: Schema.Array(Schema.String) }),
  instruction: Schema.optionalKey(Schema.NullOr(Schema.String)),
});

export interface Page {
  readonly text: string;
  readonly hasSearchBar: boolean;
  /** The names of the buttons, in lower case. */
  readonly clickables: readonly string[];
}

/** The hints on every page, in RAGEN's order. */
const advice = (actionLimit: number): readonly string[] => [
  `A product has to be bought within ${actionLimit} actions. It does not have to match the description perfectly.`,
  "Leave details such as size and color out of the search words.",
  "Never search more than twice.",
  "Do not be too strict about the description: buying a product that is close enough within the action limit matters more.",
  "Rather click a product on the current page than go to the next page.",
  "Hardly ever click[next >] more than twice.",
  "Hardly ever click[< prev], unless you are sure that the product is on one of the previous pages.",
  "With fewer than 3 actions left, just buy the first product you see on the current page.",
  "If there are matching options, click[size] and then click[color], one at a time, before click[buy now]; with only 1 action left, click[buy now] right away. Never click description.",
];

/** The buttons of a dead end: back, previous and next. */
const deadEnd: readonly string[] = ["back to search", "< prev", "next >"];

const isDeadEnd = (clickables: readonly string[]): boolean =>
  clickables.length === deadEnd.length && clickables.every((name, at) => name === deadEnd[at]);

/** The buttons that prompts list: without the search button, which belongs to the search bar, and without "next" at a dead end. */
export const shownClickables = ({ clickables, hasSearchBar }: Page): readonly string[] => {
  const buttons = clickables.filter((name) => name !== "search");
  return !hasSearchBar && isDeadEnd(buttons) ? deadEnd.slice(0, 2) : buttons;
};

/** The actions of a page as prompts write them. */
export const pageActions = (page: Page): readonly string[] => [
  ...(page.hasSearchBar ? ["search[<content>]"] : []),
  ...shownClickables(page).map((name) => `click[${name}]`),
];

/** True if the page lists only the ways back. */
export const isEndOfPage = (page: Page): boolean => pageActions(page).join() === "click[back to search],click[< prev]";

export const pageText = (page: Page, actionLimit: number): string =>
  `${page.text}.${advice(actionLimit).join("\n")}\n You must choose from these actions:${pageActions(page).join(", ")}.`;

/** True if the page has the action: a search with words on a page with a search bar, or a button of the page. */
export const hasAction = (page: Page, action: string): boolean => {
  const [line = ""] = action.split(/[\n\r\u2028\u2029]/, 1);
  const close = line.lastIndexOf("]");
  const open = line.lastIndexOf("[", close - 2);
  if (open < 1) return false;
  const [name, argument] = [line.slice(0, open), line.slice(open + 1, close)];
  if (name === "search") return page.hasSearchBar;
  const button = argument.toLowerCase();
  return name === "click" && button !== "search" && page.clickables.includes(button);
};
