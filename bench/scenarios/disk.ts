import { recordDisk } from "../disk.ts";
import type { Scenario } from "../scenario.ts";
import { fillDatabase } from "../subjects/fill.ts";

const SUBJECT = "holdfast";
const DATABASE = "disk";
const EVENTS = 300_000;
const QUICK_EVENTS = 1_000;
/** Bytes per event at each number of events per POST. */
const GOALS = [
  [1, 900],
  [100, 450],
] as const;

export const DISK: Scenario = {
  name: "disk",
  description: "bytes on disk per event, all tables and indexes, at 1 and at 100 events per POST",
  async run(bench, recorder) {
    const { server, flags } = bench;
    for (const [batch, bytes] of GOALS) {
      bench.say(`disk, ${batch} events per POST`);
      const events = flags.quick ? QUICK_EVENTS : EVENTS;
      const inCase = `B=${batch}`;
      await server.create(DATABASE);
      const cut = { eventsMin: batch, eventsMax: batch, firstEvent: 0 };
      await fillDatabase(bench, { database: DATABASE, cut, posts: events / batch, roles: "intake,projector" });
      await recordDisk(server, recorder, { database: DATABASE, subject: SUBJECT, inCase, events });
      await server.drop(DATABASE);
      const figure = { subject: SUBJECT, case: inCase, metric: "disk", unit: "bytes/event" };
      recorder.goal("disk per event", figure, { direction: "at most", value: bytes });
    }
  },
};
