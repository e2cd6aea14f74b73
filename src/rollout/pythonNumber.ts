/**
 * Numbers as Python prints them, because models were trained on RAGEN's prompts, which carry rewards in that form. A float has the shortest
 * digits that read back to the same double; a whole one is `1.0`; exponents stand below 1e-4 and from 1e16 on.
 */

/** `repr(float)` of Python. */
export const pythonFloat = (value: number): string => {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, exponentText] = value.toExponential().split("e") as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 16) {
    // Within this range JavaScript prints the same digits, without an exponent and without a trailing ".0".
    return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
};

/**
 * A turn's reward as the sum of `executed` rewards in Python: an integer where there are none, or where all are whole (`whole`), else a
 * float.
 */
export const pythonReward = (reward: number, executed: number, whole: boolean): string =>
  executed === 0 || (whole && Number.isSafeInteger(reward)) ? String(reward) : pythonFloat(reward);
