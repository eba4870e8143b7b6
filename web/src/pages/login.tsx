import { Button, PasswordInput } from "@mantine/core";
import { useMutation, type UseMutationResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import type { SignInFault, SignInWays } from "../../../src/views/contract-sign-in.ts";
import type { Session, SessionRequest } from "../../../src/views/contract.ts";
import { api, ApiError } from "../api/client.ts";
import { Logo } from "../parts/icons.tsx";
import { LanguageSwitch } from "../parts/settings-menu.tsx";
import { useTitle } from "../parts/use-title.ts";
import { safeNext } from "../text/message-filters.ts";

type Fault = "wrong" | "linkWrong" | "many" | "unreachable";

/** Takes the token out of the address and the history at once: it must not stand in a screenshot or come back. */
function takeLinkToken(): string | undefined {
  const token = window.location.hash.slice(1);
  if (token === "") return undefined;
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

function faultOf(error: unknown, fromLink: boolean): Fault {
  if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) return "unreachable";
  if (error.status === 429) return "many";
  return fromLink ? "linkWrong" : "wrong";
}

interface SignIn {
  token: string;
  fromLink: boolean;
}

function useSignIn(): UseMutationResult<Session, unknown, SignIn> {
  const [, navigate] = useLocation();
  const search = useSearch();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ token }: SignIn) =>
      api<Session>("POST", "/api/session", { body: { token } satisfies SessionRequest }),
    onSuccess: (session) => {
      client.clear();
      client.setQueryData(["session"], session);
      navigate(safeNext(new URLSearchParams(search).get("next")), { replace: true });
    },
  });
}

const ORGANISATION_FAULTS = [
  "address",
  "away",
  "expired",
  "failed",
  "many",
  "no_role",
  "refused",
] as const satisfies readonly SignInFault[];

/** What became of the sign-in through the reader's own organisation, when they come back from there without a session. */
function OrganisationFault(): ReactNode {
  const { t } = useTranslation();
  const given = new URLSearchParams(useSearch()).get("organisation");
  const fault = ORGANISATION_FAULTS.find((candidate) => candidate === given);
  return fault === undefined ? null : (
    <p className="fault" role="alert">
      {t(`signIn.faults.${fault}`)}
    </p>
  );
}

/** The way through the reader's own organisation, where there is one. Below the form, which must not jump when it appears. */
function Organisation(): ReactNode {
  const { t } = useTranslation();
  const query = new URLSearchParams(useSearch());
  const ways = useQuery({
    queryKey: ["sign-in"],
    queryFn: ({ signal }) => api<SignInWays>("GET", "/api/sign-in", { signal }),
  });
  const organisation = ways.data?.organisation ?? "off";
  if (organisation === "off") return null;
  const next = safeNext(query.get("next"));
  return (
    <div className="organisation">
      <p className="muted">{t("signIn.or")}</p>
      <Button
        component="a"
        variant="default"
        href={next === "/" ? "/login/oidc" : `/login/oidc?${new URLSearchParams({ next }).toString()}`}
      >
        {t("signIn.organisation")}
      </Button>
      {organisation === "away" ? <p className="fault">{t("signIn.faults.away")}</p> : null}
    </div>
  );
}

/** Exchanges a login link's token, or a pasted one, for a session. */
export function LoginPage(): ReactNode {
  const { t } = useTranslation();
  const [token, setToken] = useState("");
  const { mutate: signIn, isPending, error, variables } = useSignIn();
  // React runs effects twice in development, and a link works once.
  const linkTaken = useRef(false);
  useTitle(t("login.title"));

  useEffect(() => {
    const linkToken = linkTaken.current ? undefined : takeLinkToken();
    if (linkToken === undefined) return;
    linkTaken.current = true;
    signIn({ token: linkToken, fromLink: true });
  }, [signIn]);

  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") signIn({ token: token.trim(), fromLink: false });
  };

  return (
    <main className="login">
      <div className="brand">
        <Logo />
        <span>Holdfast</span>
        <LanguageSwitch />
      </div>
      <h1>{t("login.title")}</h1>
      <p className="muted">{t("login.lead")}</p>
      <OrganisationFault />
      <form onSubmit={onSubmit}>
        <PasswordInput
          label={t("login.token")}
          name="token"
          autoComplete="current-password"
          value={token}
          disabled={isPending}
          error={error === null ? undefined : t(`login.${faultOf(error, variables.fromLink)}`)}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Button type="submit" loading={isPending} mt={16}>
          {isPending ? t("login.checking") : t("login.submit")}
        </Button>
      </form>
      <Organisation />
    </main>
  );
}
