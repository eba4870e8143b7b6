import { describe, expect, test } from "vitest";
import { accessSubject } from "./access-text.ts";

describe("what an access was about", () => {
  test("a search is its question", () => {
    expect(accessSubject("messages.search", '{"q":"ada@example.com","state":"opened"}')).toBe(
      "q: ada@example.com, state: opened",
    );
  });

  test.each(["", "not json", "[1]", "null", "7", '{"q":'])("what is no question stays as it is: %j", (subject) => {
    expect(accessSubject("messages.search", subject)).toBe(subject);
  });

  test("any other subject stays as it is, also where it looks like one", () => {
    expect(accessSubject("token.create", '{"q":"x"}')).toBe('{"q":"x"}');
  });
});
