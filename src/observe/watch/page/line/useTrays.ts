/** Measures the trays of the stages inside the line, again whenever anything of it changes its size. */
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Tray } from "./trays.ts";

export interface Trays {
  readonly lineRef: { current: HTMLElement | null };
  /** Takes a tray's element, by the name of its stage. */
  readonly refOf: (name: string) => (element: HTMLElement | null) => void;
  readonly trays: ReadonlyMap<string, Tray>;
}

const same = (a: ReadonlyMap<string, Tray>, b: ReadonlyMap<string, Tray>): boolean =>
  a.size === b.size &&
  [...a].every(([name, tray]) => {
    const other = b.get(name);
    return other?.x === tray.x && other.y === tray.y && other.width === tray.width && other.height === tray.height;
  });

export const useTrays = (): Trays => {
  const lineRef = useRef<HTMLElement | null>(null);
  const elements = useRef(new Map<string, HTMLElement>());
  const refs = useRef(new Map<string, (element: HTMLElement | null) => void>());
  const [trays, setTrays] = useState<ReadonlyMap<string, Tray>>(new Map());
  const measure = useCallback(() => {
    const line = lineRef.current?.getBoundingClientRect();
    if (line === undefined) return;
    const next = new Map<string, Tray>();
    for (const [name, element] of elements.current) {
      const { height, left, top, width } = element.getBoundingClientRect();
      next.set(name, { x: left - line.left, y: top - line.top, width, height });
    }
    setTrays((before) => (same(before, next) ? before : next));
  }, []);
  // After every drawing: a tray moves when a card above it grows, without any size of its own changing.
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    if (lineRef.current !== null) observer.observe(lineRef.current);
    return () => observer.disconnect();
  }, []);
  const refOf = (name: string) => {
    const existing = refs.current.get(name);
    if (existing !== undefined) return existing;
    const ref = (element: HTMLElement | null): void => {
      if (element === null) elements.current.delete(name);
      else elements.current.set(name, element);
    };
    refs.current.set(name, ref);
    return ref;
  };
  return { lineRef, refOf, trays };
};
