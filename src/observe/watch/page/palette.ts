/** Colours of runs, told apart in light and dark and by most who see colours differently; the current run has the first. */

/** As many as style.css names for each theme. */
export const RUN_COLOURS = 8;

/** The current run is 0, those laid over it follow in their order. A colour of the theme, as style sheets write it. */
export const runColour = (place: number): string => `var(--run-${place % RUN_COLOURS})`;

/** A `#rrggbb` colour at an opacity. */
export const faded = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0")}`;
