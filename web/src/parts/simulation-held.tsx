import { Button, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Simulation } from "../../../src/views/contract-simulation.ts";
import type { Ordered } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { formatCount } from "../text/number.ts";
import { Failure } from "./states.tsx";
import { useText } from "./use-text.ts";

interface HeldProps {
  simulation: Simulation;
  isBusy: boolean;
  onChanged: () => void;
}

/** What simulations left behind, and the means to remove it. */
export function SimulationHeld({ simulation, isBusy, onChanged }: HeldProps): ReactNode {
  const { t, locale } = useText();
  const [isAsking, setIsAsking] = useState(false);
  const { receipts, events } = simulation.held;
  const purge = useMutation({
    mutationFn: () => api<Ordered>("POST", "/api/simulation/purge"),
    onSuccess: () => setIsAsking(false),
    onSettled: onChanged,
  });
  const isPurging = simulation.purgeOrderedAt !== null;
  const isEmpty = receipts === 0;
  return (
    <section className="held" aria-labelledby="held">
      <h2 id="held">{t("simulation.held")}</h2>
      <div className="paper-actions">
        <p>
          {isEmpty
            ? t("simulation.heldNone")
            : t("simulation.heldSum", { events: formatCount(events, locale), receipts: formatCount(receipts, locale) })}
        </p>
        {isEmpty && !isPurging ? null : (
          <Button
            variant="default"
            size="compact-sm"
            disabled={isBusy && !isPurging}
            loading={isPurging}
            onClick={() => setIsAsking(true)}
          >
            {t("simulation.purge")}
          </Button>
        )}
        {isPurging ? <output className="muted">{t("simulation.purging")}</output> : null}
      </div>
      {isAsking ? (
        <Modal
          opened
          onClose={() => setIsAsking(false)}
          title={t("simulation.purgeTitle")}
          closeButtonProps={{ "aria-label": t("settings.close") }}
        >
          <p>{t("simulation.purgeConfirm")}</p>
          {purge.error === null ? null : <Failure error={purge.error} />}
          <div className="dialog-actions">
            <Button variant="default" onClick={() => setIsAsking(false)}>
              {t("settings.cancel")}
            </Button>
            <Button loading={purge.isPending} onClick={() => purge.mutate()}>
              {t("simulation.purgeYes")}
            </Button>
          </div>
        </Modal>
      ) : null}
    </section>
  );
}
