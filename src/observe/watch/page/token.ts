/** The token for controls: given once in the address, kept for this tab, and gone from the address before anything else is shown. */

const KEY = "millrace.token";

/**
 * Splits a hash into the rest and the token; null if it has none. `#token=T`, `#/line?token=T` and `#/line&token=T` are
 * understood.
 */
export const splitToken = (hash: string): { readonly hash: string; readonly token: string | null } => {
  const match = /(?<before>[#?&])token=(?<token>[^&]*)(?<more>&?)/.exec(hash);
  if (match?.groups === undefined) return { hash, token: null };
  const { before = "", more = "", token = "" } = match.groups;
  const rest = hash.slice(match.index + match[0].length);
  const joint = more === "" ? (before === "#" ? "#" : "") : before;
  return { hash: hash.slice(0, match.index) + joint + rest, token: decodeURIComponent(token) };
};

export const takeFromAddress = (): void => {
  const { hash, token } = splitToken(location.hash);
  if (token === null) return;
  if (token !== "") sessionStorage.setItem(KEY, token);
  history.replaceState(null, "", hash === "#" || hash === "" ? location.pathname + location.search : hash);
};

export const read = (): string | null => sessionStorage.getItem(KEY);

export const keep = (token: string): void => sessionStorage.setItem(KEY, token);

export const forget = (): void => sessionStorage.removeItem(KEY);
