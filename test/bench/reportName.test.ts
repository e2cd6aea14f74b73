import { describe, expect, it } from "vitest";
import { reportName } from "../../bench/Report.ts";

describe("the name of a bench's report", () => {
  it("is the day and the commit", () => {
    expect(reportName("20261126", "23255706", undefined)).toBe("20261126-23255706.json");
  });

  it("has the folder of another checkout, so that neither replaces the other", () => {
    expect(reportName("20261126", "23255706", "/elsewhere/other/")).toBe("20261126-23255706-other.json");
  });
});
