import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { Simulation, SimulationOrder } from "../../../src/views/contract-simulation.ts";
import type { Ordered } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { formatCount } from "../text/number.ts";
import { Failure } from "./states.tsx";
import { useText } from "./use-text.ts";

interface FormProps {
  simulation: Simulation;
  isBusy: boolean;
  onChanged: () => void;
}

interface Draft {
  events: string;
  rate: string;
  duplicates: string;
  deadlocks: string;
  shuffle: boolean;
  dropConnection: boolean;
  seed: string;
}

/** Half a minute in which everything that is promised can be seen. */
const FIRST_DRAFT: Draft = {
  events: "6000",
  rate: "250",
  duplicates: "10",
  deadlocks: "4",
  shuffle: true,
  dropConnection: true,
  seed: "1",
};

/** The server's own bounds; it says no to anything else whatever the page does. */
const BOUNDS = { events: [1, 200_000], rate: [0, 10_000], duplicates: [0, 100], deadlocks: [0, 20] } as const;
type NumberField = keyof typeof BOUNDS;

function isWithin(field: NumberField, value: string): boolean {
  const [min, max] = BOUNDS[field];
  return /^\d{1,6}$/.test(value.trim()) && Number(value) >= min && Number(value) <= max;
}

function toOrder(draft: Draft): SimulationOrder | undefined {
  const seed = draft.seed.trim();
  const fields = Object.keys(BOUNDS) as NumberField[];
  if (seed === "" || !fields.every((field) => isWithin(field, draft[field]))) return undefined;
  return {
    events: Number(draft.events),
    rate: Number(draft.rate),
    duplicates: Number(draft.duplicates) / 100,
    deadlocks: Number(draft.deadlocks),
    shuffle: draft.shuffle,
    dropConnection: draft.dropConnection,
    seed,
  };
}

/** What to simulate, and the button that starts it. While one runs, the same button ends it. */
export function SimulationForm({ simulation, isBusy, onChanged }: FormProps): ReactNode {
  const { t } = useText();
  const [draft, setDraft] = useState(FIRST_DRAFT);
  const order = toOrder(draft);
  const start = useMutation({
    mutationFn: (body: SimulationOrder) => api<Simulation>("POST", "/api/simulation", { body }),
    onSettled: onChanged,
  });
  const stop = useMutation({
    mutationFn: () => api<Ordered>("DELETE", "/api/simulation"),
    onSettled: onChanged,
  });
  const isPosting = simulation.run?.phase === "posting" && simulation.run.endedAt === null;
  const change = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const number = (field: NumberField, label: string, hint?: string): ReactNode => (
    <NumberInput
      field={field}
      label={label}
      hint={hint}
      value={draft[field]}
      onChange={(text) => change({ [field]: text })}
    />
  );
  return (
    <form
      className="simulation-form"
      aria-label={t("simulation.order")}
      onSubmit={(event) => {
        event.preventDefault();
        if (order !== undefined && !isBusy) start.mutate(order);
      }}
    >
      <div className="fields">
        {number("events", t("simulation.events"))}
        {number("rate", t("simulation.rate"), t("simulation.rateHint"))}
        {number("duplicates", t("simulation.duplicates"), t("simulation.duplicatesHint"))}
        {number("deadlocks", t("simulation.deadlocks"), t("simulation.deadlocksHint"))}
        <TextInput
          size="sm"
          label={t("simulation.seed")}
          description={t("simulation.seedHint")}
          inputWrapperOrder={["label", "input", "description", "error"]}
          value={draft.seed}
          maxLength={40}
          onChange={(event) => change({ seed: event.currentTarget.value })}
        />
      </div>
      <div className="checks">
        <Checks draft={draft} change={change} />
        <div className="start-stop">
          {isPosting ? (
            <Button variant="default" loading={stop.isPending} onClick={() => stop.mutate()}>
              {simulation.run?.stopped === true ? t("simulation.stopping") : t("simulation.stop")}
            </Button>
          ) : (
            <Button type="submit" disabled={order === undefined || isBusy} loading={start.isPending}>
              {t("simulation.start")}
            </Button>
          )}
        </div>
      </div>
      {start.error === null ? null : <Failure error={start.error} />}
      {stop.error === null ? null : <Failure error={stop.error} />}
    </form>
  );
}

function Checks({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }): ReactNode {
  const { t } = useText();
  return (
    <>
      <Check
        label={t("simulation.shuffle")}
        hint={t("simulation.shuffleHint")}
        checked={draft.shuffle}
        onChange={(shuffle) => change({ shuffle })}
      />
      <Check
        label={t("simulation.drop")}
        hint={t("simulation.dropHint")}
        checked={draft.dropConnection}
        onChange={(dropConnection) => change({ dropConnection })}
      />
    </>
  );
}

interface NumberInputProps {
  field: NumberField;
  label: string;
  hint: string | undefined;
  value: string;
  onChange: (text: string) => void;
}

function NumberInput({ field, label, hint, value, onChange }: NumberInputProps): ReactNode {
  const { t, locale } = useText();
  const [min, max] = BOUNDS[field];
  const bounds = t("simulation.between", { min: formatCount(min, locale), max: formatCount(max, locale) });
  return (
    <TextInput
      size="sm"
      label={label}
      description={hint}
      inputWrapperOrder={["label", "input", "description", "error"]}
      inputMode="numeric"
      value={value}
      maxLength={6}
      error={isWithin(field, value) ? undefined : bounds}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface CheckProps {
  label: string;
  hint: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

function Check({ label, hint, checked, onChange }: CheckProps): ReactNode {
  const id = useId();
  return (
    <div className="check">
      <input type="checkbox" id={id} checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <label htmlFor={id}>
        {label} <span className="muted">{hint}</span>
      </label>
    </div>
  );
}
