/** The text of a search's documents, and its limits. */
import { describe, expect, it } from "vitest";
import { retrievedText, truncate } from "../../../../src/env/games/search/Retrieval.ts";

describe("a cut", () => {
  it("leaves a text of the limit as it is, and marks a longer one", () => {
    expect(truncate("x".repeat(800), 800)).toBe("x".repeat(800));
    expect(truncate("x".repeat(801), 800)).toBe(`${"x".repeat(800)}...`);
  });

  it("counts characters and halves none", () => {
    expect(truncate("𝛼𝛽𝛾", 3)).toBe("𝛼𝛽𝛾");
    expect(truncate("𝛼𝛽𝛾", 2)).toBe("𝛼𝛽...");
    expect(truncate("a𝛽c", 2)).toBe("a𝛽...");
  });
});

describe("the text of documents", () => {
  it("numbers them and names their ids and scores", () => {
    const documents = [
      { id: "frostgate", content: "Frostgate\nA town.", score: 12.34567 },
      { id: "7", content: "Another.", score: 0 },
    ];
    expect(retrievedText(documents, 4000)).toBe(
      "Document 1 (ID: frostgate, score: 12.346)\nFrostgate\nA town.\n\nDocument 2 (ID: 7, score: 0.000)\nAnother.",
    );
  });

  it("is cut as a whole", () => {
    const documents = Array.from({ length: 5 }, (_, index) => ({
      id: `d${index}`,
      content: truncate("y".repeat(2000), 800),
      score: 1,
    }));
    const text = retrievedText(documents, 4000);
    expect(text.length).toBe(4003);
    expect(text.endsWith("y...")).toBe(true);
    expect(text).toContain("Document 5");
  });

  it("says that there is none", () => {
    expect(retrievedText([], 4000)).toBe("No document matches the query.");
  });
});
