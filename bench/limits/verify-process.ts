/** Limit (c): signatures checked on one core, of the very POSTs that are sent. */
import { generateKeyPairSync } from "node:crypto";
import { signBody, verifySignature } from "../../src/sendgrid/signature.ts";
import { serveOrders } from "../child.ts";
import { makePosts, type Cut } from "../load/posts.ts";
import { loadSample } from "../load/sample.ts";

export interface VerifyOrder {
  sampleFile: string;
  cut: Cut;
  measureMs: number;
}

export interface VerifyAnswer {
  seconds: number;
  posts: number;
  events: number;
}

const POSTS = 64;
const TIMESTAMP = "1767225600";

serveOrders(async ({ sampleFile, cut, measureMs }: VerifyOrder): Promise<VerifyAnswer> => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const sample = await loadSample(sampleFile);
  const signed: { body: Buffer; events: number; signature: string }[] = [];
  for (const { body, events } of makePosts(sample, cut)) {
    if (signed.length === POSTS) break;
    signed.push({ body, events, signature: signBody(privateKey, TIMESTAMP, body) });
  }
  const startMs = performance.now();
  let posts = 0;
  let events = 0;
  while (performance.now() - startMs < measureMs) {
    for (const post of signed) {
      if (!verifySignature(publicKey, TIMESTAMP, post.body, post.signature)) throw new Error("a good signature failed");
      events += post.events;
    }
    posts += signed.length;
  }
  return { seconds: (performance.now() - startMs) / 1000, posts, events };
});
