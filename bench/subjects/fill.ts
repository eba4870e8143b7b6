import type { Bench } from "../context.ts";
import { startLoad } from "../load/load.ts";
import type { Cut } from "../load/posts.ts";
import { serve } from "./holdfast.ts";
import { drained } from "./ledger.ts";

const CONNECTIONS = 20;
const PREPARED_BYTES = 200e6;

export interface Fill {
  database: string;
  cut: Cut;
  posts: number;
  /** With the projector among them, the inbox is empty at the end. */
  roles: "intake" | "intake,projector";
  settings?: Record<string, string>;
}

/** Fills a database through the real service: with receipts, and events where the projector takes part. */
export async function fillDatabase(bench: Bench, { database, cut, posts, roles, settings = {} }: Fill): Promise<void> {
  const { server, sampleFile, key } = bench;
  const prepare = { sampleFile, cut, bytes: PREPARED_BYTES, posts, doubledOneIn: 0, privateKey: key.privateKeyText };
  const load = await startLoad(prepare);
  try {
    const databaseUrl = server.address(database);
    const service = await serve(bench, { name: database, databaseUrl, roles, settings, isMeasured: false });
    try {
      const order = { connections: CONNECTIONS, warmUpMs: 0, measureMs: Infinity, postsMax: posts };
      const { answered } = await load.run({ ...order, url: service.url });
      if (answered !== posts) throw new Error(`only ${answered} of ${posts} POSTs were acknowledged while filling`);
      if (roles.includes("projector")) await drained(service.databaseUrl);
    } finally {
      await service.stop();
    }
  } finally {
    await load.stop();
  }
}
