/** Reads 2x2 cubes, with or without words around them. Every colour has four stickers, whatever turns were made. */
import { type Colour, type CubeDrawing, colours, type Face, faces } from "./Drawing.ts";

const names: Readonly<Record<Face, string>> = { U: "Up", L: "Left", F: "Front", R: "Right", B: "Back", D: "Down" };

const isColour = (letter: string): letter is Colour => colours.some((colour) => colour === letter);

const drawn = (letters: readonly string[]): CubeDrawing | null => {
  const stickers = letters.filter(isColour);
  if (letters.length !== 24 || colours.some((colour) => stickers.filter((one) => one === colour).length !== 4)) {
    return null;
  }
  const [U, L, F, R, B, D] = faces.map((_, at) => stickers.slice(4 * at, 4 * at + 4));
  if (!(U && L && F && R && B && D)) return null;
  return { kind: "rubikscube", faces: { U, L, F, R, B, D } };
};

/** Two lines for each face, the first with its name. */
const faceText = (face: Face): string =>
  `${names[face]} \\(${face}\\): *\\[([A-Z]), ([A-Z])\\]\\n *\\[([A-Z]), ([A-Z])\\]`;

const worded = new RegExp(
  `^=== Rubik's Cube 2x2 ===\\nStep: \\d+/\\d+\\n\\n${faces.map(faceText).join("\\n")}(?:\\n|$)`,
);
const short = new RegExp(`^${faces.map((face) => `${face} ([A-Z])([A-Z])([A-Z])([A-Z])`).join("\\n")}$`);

export const readCube = (text: string): CubeDrawing | null => {
  const match = worded.exec(text) ?? short.exec(text);
  return match === null ? null : drawn(match.slice(1));
};
