/** Colours of runs, told apart in light and dark and by most who see colours differently; the current run has the first. */

export const runColours = [
  "#2f6fde",
  "#d9730d",
  "#14866d",
  "#b0388f",
  "#8a6d00",
  "#6b54c6",
  "#c2413a",
  "#4d7a1f",
] as const;

/** The current run is 0, those laid over it follow in their order. */
export const runColour = (place: number): string => runColours[place % runColours.length] ?? runColours[0];

/** A `#rrggbb` colour at an opacity. */
export const faded = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0")}`;
