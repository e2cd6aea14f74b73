/** The promises of every environment, by the checks of the package, as tests of one bound environment. All it needs must be here. */
import { beforeAll, describe, expect, it } from "vitest";
import { runCheck, type Subject } from "../../../src/env/validate/Check.ts";
import { checks } from "../../../src/env/validate/main.ts";

/** The checks that do not apply to an environment without a solver or an adviser, or with short plans. */
const optional: ReadonlySet<string> = new Set([
  "the solver reaches success on every instance",
  "a thought names the plan's first action",
  "advice is legal",
  "no answer is visible in the text",
  // An environment with a handful of instances, as BanditTest, has none left.
  "training has instances that are not validation's",
]);

export const contract = (name: string, subject: Subject): void => {
  describe(name, () => {
    beforeAll(async () => {
      await subject.environment.prepare?.();
      await subject.certain?.prepare?.();
    });

    it.each(checks)("$name", async (check) => {
      const finding = await runCheck(check, subject);
      if (finding.status === "does not apply" && optional.has(check.name)) return;
      expect(finding).toMatchObject({ status: "pass" });
    });
  });
};
