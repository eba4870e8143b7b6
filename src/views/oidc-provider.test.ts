import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IdentityProvider, RedirectFollower, startIdentityProvider } from "../../test/identity-provider.ts";
import { OIDC_ANSWER_BYTES_MAX, OIDC_METADATA_MS } from "../limits.ts";
import { createOidcProvider, type OidcSettings } from "./oidc-provider.ts";

/** Nobody listens there: the answer is looked at before it arrives. */
const CALLBACK = "http://localhost/login/oidc/callback";

let idp: IdentityProvider;

beforeAll(async () => {
  idp = await startIdentityProvider({ redirectUris: [CALLBACK] });
  idp.person = { sub: "person-17", roles: ["helpdesk"] };
});
afterAll(async () => {
  await idp.stop();
});

function settingsOf({ issuer, clientId, clientSecret }: IdentityProvider): OidcSettings {
  return { issuer, clientId, clientSecret, roleClaim: "roles" };
}

const isCallback = (next: URL): boolean => next.href.startsWith(CALLBACK);

describe("the answer of an identity provider", () => {
  test("is refused when the nonce in the ID token is another flow's", async () => {
    const provider = await createOidcProvider(settingsOf(idp));
    const begun = await provider.begin(CALLBACK);
    if (begun.outcome !== "begun") throw new Error("not begun");
    const browser = new RedirectFollower();
    const answer = new URL((await browser.follow(begun.url, isCallback)).url);
    const flow = { ...begun.flow, callback: CALLBACK, next: "/", expiresMs: Infinity };
    expect(await provider.finish({ ...flow, nonce: "another" }, answer.search)).toEqual({
      outcome: "failed",
      cause: "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
    });
  });

  test("is refused when the code's verifier is another flow's", async () => {
    const provider = await createOidcProvider(settingsOf(idp));
    const begun = await provider.begin(CALLBACK);
    if (begun.outcome !== "begun") throw new Error("not begun");
    const answer = new URL((await new RedirectFollower().follow(begun.url, isCallback)).url);
    const flow = { ...begun.flow, callback: CALLBACK, next: "/", expiresMs: Infinity };
    const verifier = "x".repeat(43);
    expect(await provider.finish({ ...flow, verifier }, answer.search)).toEqual({
      outcome: "failed",
      cause: "invalid_grant",
    });
  });

  test("is asked once in a while, however many look at the button", async () => {
    let nowMs = 0;
    const provider = await createOidcProvider(settingsOf(idp), () => nowMs);
    const discoveries = () => idp.asked.filter((path) => path.startsWith("/.well-known/")).length;
    const before = discoveries();
    await Promise.all(Array.from({ length: 50 }, () => provider.isThere()));
    expect(discoveries()).toBe(before + 1);
    nowMs += OIDC_METADATA_MS;
    await provider.isThere();
    expect(discoveries()).toBe(before + 2);
  });

  test("fills no memory with an answer that is too large", async () => {
    const provider = await createOidcProvider(settingsOf(idp));
    idp.flood = OIDC_ANSWER_BYTES_MAX + 1;
    try {
      expect(await provider.begin("http://localhost/x")).toEqual({ outcome: "away", cause: "TooLargeError" });
    } finally {
      idp.flood = 0;
    }
  });
});
