import "../styles/settings.css";
import "../styles/simulation.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Simulation } from "../../../src/views/contract-simulation.ts";
import { api } from "../api/client.ts";
import { SimulationForm } from "../parts/simulation-form.tsx";
import { SimulationHeld } from "../parts/simulation-held.tsx";
import { SimulationRunView } from "../parts/simulation-run.tsx";
import { Loaded, Nothing } from "../parts/states.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";

const RUNNING_MS = 700;
const IDLE_MS = 10_000;

function isBusy(state: Simulation | undefined): boolean {
  return state !== undefined && (state.purgeOrderedAt !== null || (state.run !== null && state.run.endedAt === null));
}

/** The proof that a visitor can touch: made-up traffic through the real webhook, disturbed, and looked up at the end. */
export function SimulationPage(): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  useTitle(t("simulation.title"));
  const state = useQuery({
    queryKey: ["simulation"],
    queryFn: ({ signal }) => api<Simulation>("GET", "/api/simulation", { signal }),
    refetchInterval: ({ state: { data } }) => (isBusy(data) ? RUNNING_MS : IDLE_MS),
  });
  const refresh = (): void => void client.invalidateQueries({ queryKey: ["simulation"] });
  return (
    <>
      <h1 className="large">{t("simulation.title")}</h1>
      <p className="lead">{t("simulation.lead")}</p>
      <Loaded data={state.data} error={state.error} again={() => void state.refetch()}>
        {(simulation) => (
          <>
            {simulation.available ? (
              <SimulationForm simulation={simulation} isBusy={isBusy(simulation)} onChanged={refresh} />
            ) : (
              <Nothing title={t("simulation.unavailable")}>
                <p>{t("simulation.unavailableHint")}</p>
              </Nothing>
            )}
            {simulation.run === null ? null : <SimulationRunView run={simulation.run} />}
            <SimulationHeld simulation={simulation} isBusy={isBusy(simulation)} onChanged={refresh} />
          </>
        )}
      </Loaded>
    </>
  );
}
