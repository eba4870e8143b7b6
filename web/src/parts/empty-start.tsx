import type { ReactNode } from "react";
import type { Status } from "../../../src/views/contract.ts";
import { Copyable } from "./copyable.tsx";
import { useText } from "./use-text.ts";

const isLocal = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

/** The first thing a new installation shows: how to make SendGrid talk to it. */
export function EmptyStart({ status }: { status: Status }): ReactNode {
  const { t } = useText();
  const source =
    status.sources.find((candidate) => candidate.name === "default") ??
    status.sources.find((candidate) => !candidate.simulated);
  const address = window.location.origin + (source?.path ?? "/webhooks/sendgrid");
  return (
    <section className="start" aria-labelledby="start">
      <h2 id="start" className="large">
        {t("empty.title")}
      </h2>
      <ol>
        <li>
          {t("empty.step1")}
          <Copyable value={address} />
          {isLocal(window.location.hostname) ? <p className="muted">{t("empty.local")}</p> : null}
        </li>
        <li>{t("empty.step2")}</li>
        <li>{(source?.keys ?? 0) > 0 ? t("empty.step3done") : t("empty.step3")}</li>
      </ol>
      <p>{t("empty.simulate")}</p>
      <Copyable value="npm run demo" />
    </section>
  );
}
