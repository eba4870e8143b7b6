import { afterEach, describe, expect, test, vi } from "vitest";
import { chosenColumns, DEFAULT_COLUMNS, keepColumns, readColumns } from "./columns.ts";

function storage(): void {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
}

afterEach(() => vi.unstubAllGlobals());

describe("the columns of the list", () => {
  test("stand in their own order, each once, and unknown ones are left out", () => {
    expect(readColumns("source,time,time,weather,<b>")).toEqual(["time", "source"]);
    expect(readColumns("")).toEqual([]);
  });

  test("the address goes before the reader's own choice, and that before the first one", () => {
    storage();
    expect(chosenColumns("")).toEqual(DEFAULT_COLUMNS);
    keepColumns(["state", "id"]);
    expect(chosenColumns("")).toEqual(["state", "id"]);
    expect(chosenColumns("source")).toEqual(["source"]);
  });

  test("a browser without storage still shows a list", () => {
    vi.stubGlobal("localStorage", undefined);
    keepColumns(["state"]);
    expect(chosenColumns("")).toEqual(DEFAULT_COLUMNS);
  });
});
