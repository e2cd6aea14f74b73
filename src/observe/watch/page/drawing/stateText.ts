/** Finds the text of a state in a user message: the whole message, or the part of a template's turn that shows the state. */

const ragenTurn =
  /(?:^|\n)Turn \d+:\nState:\n([\s\S]*?)\n(?:No valid action provided previously\.[^\n]*\n)?You have -?\d+ actions left\. /;
const compactTurn = /^([\s\S]*)\n\d+\n?$/;

/** Texts that may be the state, the likeliest first. */
export const stateTexts = (message: string): readonly string[] =>
  [message, ragenTurn.exec(message)?.[1], compactTurn.exec(message)?.[1]].filter((text) => text !== undefined);
