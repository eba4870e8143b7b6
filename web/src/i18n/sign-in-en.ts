/** Signing in through the reader's own organisation, and how long a token is valid. */
export const signInEn = {
  signIn: {
    organisation: "Sign in with your organisation",
    or: "or",
    faults: {
      address:
        "The sign-in through your organisation does not work at this address. An admin must set HOLDFAST_PUBLIC_URL.",
      away: "Your organisation's sign-in does not answer at the moment. Try again, or use a token.",
      expired: "This sign-in took too long, or was begun in another window. Begin again.",
      failed:
        "The sign-in through your organisation failed. Begin again; if it lasts, an admin finds the reason in the log.",
      many: "Too many attempts. Wait a minute.",
      no_role:
        "Your organisation knows you, but has given you no role in Holdfast. Ask whoever looks after it for the group that has one.",
      refused: "The sign-in was cancelled at your organisation.",
    },
  },
  tokenEnd: {
    label: "Valid",
    never: "until it is ended",
    days: "{{formatted}} days",
    ended: "ended",
  },
};
