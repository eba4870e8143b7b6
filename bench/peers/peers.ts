import type { Bench } from "../context.ts";
import type { Recorder } from "../recorder.ts";
import type { Subject } from "../subjects/subject.ts";
import { findDjango } from "./django.ts";
import { findExpress } from "./express.ts";

/** A peer that is ready to be started, or why it is not. */
export type FoundPeer = { subject: Subject } | { missing: string };

/** The wanted peers whose parts are installed; a line says of each other one why it is left out. */
export async function findPeers(bench: Bench, recorder: Recorder): Promise<Subject[]> {
  const subjects: Subject[] = [];
  for (const name of bench.flags.peers) {
    const found = name === "express" ? await findExpress(bench) : await findDjango(bench, name);
    if ("subject" in found) {
      subjects.push(found.subject);
      continue;
    }
    const line = `the peer ${name} is left out: ${found.missing}`;
    bench.say(line);
    recorder.note(line);
  }
  return subjects;
}
