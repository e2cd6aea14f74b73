/** The address as state: the route it says, and a way to another. */
import { useEffect, useState } from "preact/hooks";
import { format, parse, type Route } from "./route.ts";

/** Goes to a route; `replace` leaves no entry in the history, as while the slider is dragged. */
export type Go = (route: Route, replace?: boolean) => void;

const go: Go = (route, replace = false) => {
  const hash = format(route);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  // Told at once, not after the event loop turned: the next key or click starts from this route.
  window.dispatchEvent(new HashChangeEvent("hashchange"));
};

export const useRoute = (): readonly [Route, Go] => {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const read = (): void => setRoute(parse(location.hash));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, []);
  return [route, go];
};
