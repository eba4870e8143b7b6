/** The public interface of signing in, beside the session of contract.ts. The rules at the top of contract.ts hold here too. */
import Type, { type Static } from "typebox";

/** GET /api/sign-in: the ways in besides a token and a login link. Needs no token. */
export const SignInWaysSchema = Type.Object({
  organisation: Type.Enum(["off", "ready", "away"], {
    description:
      "OpenID Connect: not configured; at /login/oidc; configured, but the identity provider does not answer",
  }),
});
export type SignInWays = Static<typeof SignInWaysSchema>;

/** What `/login?organisation=` says when the way through the identity provider came to nothing. */
export type SignInFault = "address" | "away" | "expired" | "failed" | "many" | "no_role" | "refused";
