import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OIDC_FLOW_SECONDS, OIDC_FLOWS_REMEMBERED_MAX, OIDC_NAME_CHARS_MAX, OIDC_NEXT_CHARS_MAX } from "../limits.ts";
import { nameOf, roleOf, valuesOf } from "./oidc-claims.ts";
import { createFlowSeal, localPlace } from "./oidc-flow.ts";

const FLOW = {
  state: "state-1",
  nonce: "nonce-1",
  verifier: "verifier-1",
  callback: "https://mail.example/login/oidc/callback",
  next: "/messages",
};

describe("a sealed flow", () => {
  test("opens in every process with the same secret, until its time is over", () => {
    let nowMs = 1_000;
    const now = (): number => nowMs;
    const sealed = createFlowSeal("secret", now).seal(FLOW);
    const other = createFlowSeal("secret", now);
    nowMs += OIDC_FLOW_SECONDS * 1000 - 1;
    expect(other.open(sealed)).toMatchObject(FLOW);
    nowMs += 1;
    expect(other.open(sealed)).toBeUndefined();
  });

  test("opens with no other secret, and not when anything of it was changed", () => {
    const seal = createFlowSeal("secret");
    const sealed = seal.seal(FLOW);
    expect(createFlowSeal("another").open(sealed)).toBeUndefined();
    const bytes = Buffer.from(sealed, "base64url");
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = 255 - (changed[at] ?? 0);
      expect(seal.open(changed.toString("base64url"))).toBeUndefined();
    }
    for (const nonsense of ["", "x", sealed.slice(0, 30), sealed.slice(0, -4)])
      expect(seal.open(nonsense)).toBeUndefined();
  });

  test("ends once, and what is remembered of it is bounded", () => {
    const seal = createFlowSeal("secret", () => 0);
    const ending = (state: string): boolean => seal.end({ ...FLOW, state, expiresMs: OIDC_FLOW_SECONDS * 1000 });
    expect([ending("first"), ending("first")]).toEqual([true, false]);
    for (let n = 1; n < OIDC_FLOWS_REMEMBERED_MAX; n += 1) ending(`flow ${n}`);
    expect(ending("first")).toBe(false);
    expect(ending("one more")).toBe(true);
    // The oldest made room. By then the provider has long refused its code.
    expect(ending("first")).toBe(true);
  });

  test("fits into the cookie with the longest place", () => {
    const next = `/${"x".repeat(OIDC_NEXT_CHARS_MAX - 1)}`;
    const long = { ...FLOW, state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43) };
    expect(createFlowSeal("secret").seal({ ...long, next: localPlace(next) }).length).toBeLessThan(3_500);
  });
});

describe("the place to return to", () => {
  test.each([
    ["/", "/"],
    ["/messages?q=a%20b&state=bounced#x", "/messages?q=a%20b&state=bounced#x"],
    ["/messages/ä", "/messages/%C3%A4"],
    [`/${"x".repeat(OIDC_NEXT_CHARS_MAX - 1)}`, `/${"x".repeat(OIDC_NEXT_CHARS_MAX - 1)}`],
    [`/${"x".repeat(OIDC_NEXT_CHARS_MAX)}`, "/"],
    [undefined, "/"],
    ["", "/"],
    ["messages", "/"],
    ["https://evil.example", "/"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["/\n/evil.example", "/"],
    ["/.//evil.example", "/"],
    ["/x/..//evil.example", "/"],
    ["/%2e//evil.example", "/"],
    ["/login?next=/", "/"],
    ["/api/messages.csv", "/"],
    ["javascript:alert(1)", "/"],
  ])("of %j is %j", (next, place) => {
    expect(localPlace(next)).toBe(place);
  });

  test("is always one of our own", () => {
    const hostile = fc.string({ unit: fc.constantFrom("/", "\\", ".", "a", ":", "@", "\t", "%2f", "?", "#", "é") });
    fc.assert(
      fc.property(hostile, (text) => {
        const place = localPlace(`/${text}`);
        expect(new URL(place, "https://mail.example").origin).toBe("https://mail.example");
        expect(place).toMatch(/^\/(?!\/)/);
      }),
    );
  });
});

describe("the claims of a person", () => {
  const roles = new Map([
    ["admin", ["a"]],
    ["compliance", ["c 1", "c 2"]],
    ["support", ["s"]],
  ] as const);

  test.each([
    [{ roles: ["s", "c 2"] }, "roles", "compliance"],
    [{ roles: "a" }, "roles", "admin"],
    [{ roles: "s a" }, "roles", undefined],
    [{ "https://example.com/roles": ["s"] }, "https://example.com/roles", "support"],
    [{ realm_access: { roles: ["a"] } }, "realm_access.roles", "admin"],
    [{ realm_access: "roles" }, "realm_access.roles", undefined],
    [{}, "constructor.name", undefined],
    [{}, "__proto__", undefined],
    [{ roles: null }, "roles", undefined],
  ])("%j by %s give the role %s", (claims, claim, role) => {
    expect(roleOf(claims, claim, roles)).toBe(role);
  });

  test("are never anything but a list of texts, whatever stands in them", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.anything()), fc.string(), (claims, claim) => {
        for (const value of valuesOf(claims, claim)) expect(typeof value).toBe("string");
      }),
    );
  });

  test.each([
    [{ sub: "7", name: "Ada", email: "ada@example.com" }, "sso: Ada (ada@example.com)"],
    [{ sub: "7", email: "ada@example.com" }, "sso: ada@example.com"],
    [{ sub: "7", preferred_username: "ada" }, "sso: ada"],
    [{ sub: "7", name: " \n " }, "sso: 7"],
    [{ sub: "7", name: "HOLDFAST_ADMIN_TOKEN" }, "sso: HOLDFAST_ADMIN_TOKEN"],
    [{ sub: "7", name: "a\u0000b\ud800" }, "sso: a b\ufffd"],
  ])("%j give the name %j", (claims, name) => {
    expect(nameOf(claims)).toBe(name);
  });

  test("give no name longer than a token's", () => {
    expect(Array.from(nameOf({ sub: "7", name: "😀".repeat(500) }))).toHaveLength(OIDC_NAME_CHARS_MAX);
  });
});
