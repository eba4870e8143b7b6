import type { NotReady } from "../../../src/views/contract-live.ts";

export type Readiness = { ready: true } | { ready: false; spool: NotReady["spool"] | undefined };

const READY_MS_MAX = 5_000;

/**
 * Asks whether the service can do its work. Needs no session, since without a database there is none. A service that
 * does not answer at all is no answer either: that is said elsewhere.
 */
export async function askReadiness(signal: AbortSignal): Promise<Readiness> {
  const response = await fetch("/readyz", {
    headers: { accept: "application/json" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(READY_MS_MAX)]),
  });
  if (response.status !== 503) return { ready: true };
  const body: unknown = await response.json().catch(() => undefined);
  return { ready: false, spool: isNotReady(body) ? body.spool : undefined };
}

/** Something between here and there may have answered 503 too. */
function isNotReady(body: unknown): body is NotReady {
  return typeof body === "object" && body !== null && "spool" in body && typeof body.spool === "object";
}
