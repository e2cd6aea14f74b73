/** A chart as a picture file: its title and the runs' names above what is drawn. */

export interface Picture {
  readonly title: string;
  readonly runs: readonly { readonly name: string; readonly colour: string }[];
  readonly ground: string;
  readonly text: string;
}

const HEAD = 44;

/** The picture, drawn on a canvas of its own. */
export const painted = (chart: HTMLCanvasElement, { ground, runs, text, title }: Picture): HTMLCanvasElement => {
  const scale = devicePixelRatio;
  const canvas = document.createElement("canvas");
  canvas.width = chart.width;
  canvas.height = chart.height + HEAD * scale;
  const ctx = canvas.getContext("2d");
  if (ctx === null) return canvas;
  ctx.fillStyle = ground;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(chart, 0, HEAD * scale);
  ctx.scale(scale, scale);
  ctx.fillStyle = text;
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.fillText(title, 12, 18);
  ctx.font = "11px system-ui, sans-serif";
  let x = 12;
  for (const { colour, name } of runs) {
    ctx.fillStyle = colour;
    ctx.fillRect(x, 28, 9, 9);
    ctx.fillStyle = text;
    ctx.fillText(name, x + 13, 37);
    x += ctx.measureText(name).width + 32;
  }
  return canvas;
};

/** A file's name from a metric's: no folder, nothing but plain characters. */
export const fileNameOf = (text: string): string => text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "");

/** Gives the browser a file to save. */
export const save = (blob: Blob, name: string): void => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser takes the file a while after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};

export const download = (canvas: HTMLCanvasElement, name: string): void =>
  canvas.toBlob((blob) => {
    if (blob !== null) save(blob, name);
  });
