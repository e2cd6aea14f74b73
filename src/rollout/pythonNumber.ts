/**
 * Numbers as Python prints them, because RAGEN's prompts carry rewards in that form and models were trained on it: the shortest digits
 * that read back to the same double, `1.0` for a whole float, an exponent below 1e-4 and from 1e16 on.
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
 * A turn's reward, the sum of `executed` rewards: of no rewards at all it is Python's integer `0`, of whole ones (`whole`: the environment has
 * no others) an integer, and a float of any others.
 */
export const pythonReward = (reward: number, executed: number, whole: boolean): string =>
  executed === 0 || (whole && Number.isSafeInteger(reward)) ? String(reward) : pythonFloat(reward);
