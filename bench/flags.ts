import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { PEERS, type Flags, type PeerName } from "./context.ts";

export const HELP = `Usage: npm run bench [-- SCENARIO … | report] [options]

Measures whole scenarios, each in turns with its peers and with what the machine could do at best, and prints the ratios.
Without names all scenarios but \`versions\` run. \`report\` measures nothing: it writes the tables and plots of the docs from bench/results/.

  --quick            seconds instead of minutes: only whether everything works, no goals, nothing is kept
  --rounds N         turns of each subject (default 3; quick: 1)
  --add              adds the rounds to the kept ones of an earlier run on the same machine, whose other cases stay
  --peers NAMES      ${PEERS.join(",")} or none (default: all that are installed; quick: none)
  --seconds N        of one measured window of the intake scenario (default 10; quick: 1), of one turn of the versions (1.5)
  --batches NUMBERS  events per POST of the intake scenario and the versions (default 1,10,100,500; quick: 1,100)
  --minutes N        under saturation in the cost scenario (default 10), of traffic in the live one (default 5)
  --sizes NUMBERS    stored events in the growth scenario (default 200000,2000000,20000000)
  --set NAME=VALUE   a setting of Holdfast; may be given several times
  --against FOLDER   another checkout of Holdfast with its packages installed, for the versions; both get this one's Node
  --profile FOLDER   keeps a CPU profile of each service there, and what PostgreSQL spent its time on
  --work FOLDER      for the databases (default: a folder for temporary files; growth needs 30 GB there)
`;

export interface CommandLine {
  flags: Flags;
  work: string | undefined;
}

/** @returns the settings of a run, or what is wrong with them; the help counts as wrong with nothing. */
export function readCommandLine(args: readonly string[]): CommandLine | { fault: string | undefined } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        rounds: { type: "string" },
        add: { type: "boolean", default: false },
        peers: { type: "string" },
        seconds: { type: "string" },
        batches: { type: "string" },
        minutes: { type: "string" },
        sizes: { type: "string" },
        set: { type: "string", multiple: true, default: [] },
        against: { type: "string" },
        profile: { type: "string" },
        work: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return { fault: undefined };
    const { quick } = values;
    return {
      work: values.work === undefined ? undefined : resolve(values.work),
      flags: {
        scenarios: positionals,
        quick,
        peers: readPeers(values.peers ?? (quick ? "none" : PEERS.join(","))),
        rounds: positive("--rounds", values.rounds ?? (quick ? "1" : "3")),
        add: values.add,
        seconds: values.seconds === undefined ? undefined : positive("--seconds", values.seconds),
        batches: list("--batches", values.batches ?? (quick ? "1,100" : "1,10,100,500")),
        minutes: values.minutes === undefined ? undefined : positive("--minutes", values.minutes),
        sizes: list("--sizes", values.sizes ?? (quick ? "5000,15000" : "200000,2000000,20000000")),
        settings: Object.fromEntries(values.set.map(readSetting)),
        against: values.against === undefined ? undefined : resolve(values.against),
        profile: values.profile === undefined ? undefined : resolve(values.profile),
      },
    };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} must be a number above 0, and not ${text}`);
  return value;
}

function list(name: string, text: string): number[] {
  return text.split(",").map((entry) => positive(name, entry));
}

function readPeers(text: string): PeerName[] {
  if (text === "none" || text === "") return [];
  return text.split(",").map((name) => {
    const peer = PEERS.find((candidate) => candidate === name);
    if (peer === undefined) throw new Error(`--peers: there is no peer ${name}; there are ${PEERS.join(", ")}`);
    return peer;
  });
}

function readSetting(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`--set must look like NAME=VALUE, and not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
