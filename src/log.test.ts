import { describe, expect, test } from "vitest";
import { describeError } from "./log.ts";

describe("an error in the log", () => {
  test("has its name, code, message, place and causes", () => {
    const cause = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" });
    expect(describeError(new TypeError("no way", { cause }))).toMatchObject({
      name: "TypeError",
      message: "no way",
      stack: expect.stringContaining("log.test.ts") as string,
      cause: { code: "ECONNREFUSED", message: "connect refused" },
    });
  });

  test("has nothing of what hangs on it: no connection with its keys, no row", () => {
    const error = Object.assign(new Error("terminating connection"), {
      code: "57P01",
      client: { secretKey: 4711, password: "hunter2" },
      detail: "Failing row contains (customer@example.com)",
    });
    expect(JSON.stringify(describeError(error))).not.toMatch(/4711|hunter2|customer/);
  });

  test("of PostgreSQL that quotes a value is logged by its code and constraint only", () => {
    const message = 'invalid input syntax for type integer: "customer@example.com"';
    const error = Object.assign(new Error(message), { code: "22P02", constraint: "c" });
    expect(describeError(error)).toMatchObject({ code: "22P02", constraint: "c", message: undefined });
    expect(JSON.stringify(describeError(error))).not.toContain("customer");
  });

  test("that causes itself ends somewhere, and what is no error is not shown", () => {
    const error = new Error("round");
    error.cause = error;
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(10_000);
    expect(describeError({ email: "customer@example.com" })).toEqual({ message: "object" });
  });
});
