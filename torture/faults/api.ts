import { API_FAULTS } from "../../src/simulator/api-context.ts";
import type { Fault } from "../fault.ts";

/** SendGrid's API on its bad days, one fault for each. None of them may touch what the webhooks bring. */
export const apiFaults: readonly Fault[] = API_FAULTS.map((kind) => ({
  name: `api-${kind}`,
  description: `SendGrid's API: ${{ hang: "never answers", 500: "answers 500", 429: "answers 429", garbage: "answers garbage", half: "answers half a body" }[kind]}`,
  worlds: ["embedded"],
  holdSeconds: [2, 10],
  strike: ({ world }) => ({
    async inject() {
      world.api.fault(kind);
    },
    async heal() {
      world.api.fault(undefined);
    },
  }),
}));
