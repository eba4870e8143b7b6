import type { Command } from "commander";
import { examine, type Examined } from "../health/examine.ts";
import { withLedger, type LedgerCommandOptions } from "./ledger-command.ts";

const MARKS: Readonly<Record<Examined["state"], string>> = { ok: "ok   ", amber: "look ", red: "WRONG" };

/** `holdfast doctor`: looks at all that a promise rests on. Exit code 1 when something is wrong. */
export function addDoctorCommand(program: Command, options: LedgerCommandOptions = {}): void {
  const { print = (text) => process.stdout.write(`${text}\n`) } = options;
  program
    .command("doctor")
    .description(
      "look at all that Holdfast's promises rest on: durability, clocks, balance, inbox, disk, spool, alerts",
    )
    .option("--json", "print the result as JSON")
    .action(async (flags: { json?: boolean }) => {
      const examined = await withLedger("holdfast doctor", options, examine);
      if (examined.some(({ state }) => state === "red")) process.exitCode = 1;
      print(flags.json === true ? JSON.stringify(examined) : examined.map(describe).join("\n"));
    });
}

function describe({ what, state, found }: Examined): string {
  return `${MARKS[state]}  ${what}: ${found}`;
}
