/** Limit (a): one connection inserting the same bodies as bytea rows, with a commit each time; nothing else happens to them. */
import pg from "pg";
import { serveOrders } from "../child.ts";
import { makePosts, type Cut } from "../load/posts.ts";
import { loadSample } from "../load/sample.ts";

export interface AppendOrder {
  sampleFile: string;
  cut: Cut;
  databaseUrl: string;
  /** Bodies in one statement, and so in one commit, at most; and their bytes. */
  rowsMax: number;
  bytesMax: number;
  measureMs: number;
  /** Bodies made before the clock starts; used again when they are all inserted. */
  bodyBytes: number;
}

export interface AppendAnswer {
  seconds: number;
  posts: number;
  events: number;
}

interface Group {
  bodies: Buffer[];
  events: number;
}

serveOrders(async (order: AppendOrder): Promise<AppendAnswer> => {
  const groups = await makeGroups(order);
  const client = new pg.Client({ connectionString: order.databaseUrl, options: "-c synchronous_commit=on" });
  await client.connect();
  try {
    await client.query("DROP TABLE IF EXISTS bodies");
    await client.query("CREATE TABLE bodies (body bytea NOT NULL)");
    // Prepares the statement.
    await insert(client, groups[0] ?? { bodies: [], events: 0 });
    const startMs = performance.now();
    let posts = 0;
    let events = 0;
    for (let at = 0; performance.now() - startMs < order.measureMs; at += 1) {
      const group = groups[at % groups.length] ?? { bodies: [], events: 0 };
      await insert(client, group);
      posts += group.bodies.length;
      events += group.events;
    }
    return { seconds: (performance.now() - startMs) / 1000, posts, events };
  } finally {
    await client.end();
  }
});

/** A statement's text depends on its number of rows, so all groups but the last of a kind are equally large. */
async function makeGroups({ sampleFile, cut, rowsMax, bytesMax, bodyBytes }: AppendOrder): Promise<Group[]> {
  const sample = await loadSample(sampleFile);
  const groups: Group[] = [];
  let group: Group = { bodies: [], events: 0 };
  let total = 0;
  let inGroup = 0;
  for (const { body, events } of makePosts(sample, cut)) {
    if (total >= bodyBytes && groups.length > 0) break;
    group.bodies.push(body);
    group.events += events;
    inGroup += body.length;
    total += body.length;
    if (group.bodies.length < rowsMax && inGroup + body.length <= bytesMax) continue;
    groups.push(group);
    group = { bodies: [], events: 0 };
    inGroup = 0;
  }
  return groups;
}

async function insert(client: pg.Client, { bodies }: Group): Promise<void> {
  const rows = bodies.map((_body, index) => `($${index + 1})`).join(", ");
  await client.query({ name: `append ${bodies.length}`, text: `INSERT INTO bodies VALUES ${rows}`, values: bodies });
}
