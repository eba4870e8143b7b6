import { describe, expect, it } from "vitest";
import { readTableAddress } from "./compare-address.ts";

describe("the address of a table", () => {
  it.each([
    [
      "postgres://u@h/shop.events",
      { url: "postgres://u@h/shop", database: "shop", schema: undefined, table: "events", shown: "h/shop.events" },
    ],
    [
      "postgresql://u:pw@h:5433/shop.public.events?sslmode=require",
      {
        url: "postgresql://u:pw@h:5433/shop?sslmode=require",
        database: "shop",
        schema: "public",
        table: "events",
        shown: "h:5433/shop.public.events",
      },
    ],
    [
      "postgres://u@[::1]/my%2Eshop.Public.a%20table%3F",
      {
        url: "postgres://u@[::1]/my.shop",
        database: "my.shop",
        schema: "Public",
        table: "a table?",
        shown: "[::1]/my.shop.Public.a table?",
      },
    ],
  ])("%s names a database and its table", (text, expected) => {
    expect(readTableAddress(text)).toEqual(expected);
  });

  it.each([
    "",
    "events",
    "mysql://u:secret@h/shop.events",
    "postgres://u:secret@h/shop",
    "postgres://u:secret@h/",
    "postgres://u:secret@h/shop.",
    "postgres://u:secret@h/.events",
    "postgres://u:secret@h/a.b.c.d",
    "postgres://u:secret@h/shop.a%00b",
    "postgres://u:secret@h/shop.%E0%A4%A",
    "postgres://u:secret@h:port/shop.events",
  ])("%j is refused, and no password repeated", (text) => {
    // Neither begins nor goes on with anything of what was given.
    expect(() => readTableAddress(text)).toThrow(/^--table must (?!.*secret)/);
  });
});
