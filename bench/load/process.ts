/**
 * The load generator, in a process of its own: its work must not be done on the event loop of whoever starts it. It makes and
 * signs its bodies before a run, so that a run costs no more than sending.
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { webhookHeaders } from "../../src/simulator/wire.ts";
import { serveOrders } from "../child.ts";
import type { Answer, Order, Prepared, PrepareOrder } from "./orders.ts";
import { makePosts, type BenchPost } from "./posts.ts";
import { runLoad, type SignedPost } from "./run.ts";
import { loadSample, type Sample } from "./sample.ts";

/** Receivers that check the time would have to accept it; none here does. */
const SIGNED_AT = String(Date.UTC(2026, 0, 1) / 1000);

interface Stock {
  order: PrepareOrder;
  sample: Sample;
  key: KeyObject;
  posts: SignedPost[];
}

let stock: Stock | undefined;

serveOrders(async (order: Order): Promise<Answer> => {
  if (order.kind === "prepare") {
    stock = await prepare(order);
    return { kind: "prepared", posts: stock.posts.length } satisfies Prepared;
  }
  if (stock === undefined) throw new Error("nothing was prepared");
  return runLoad({ order, doubledOneIn: stock.order.doubledOneIn, postAt: supply(stock) });
});

async function prepare(order: PrepareOrder): Promise<Stock> {
  const sample = await loadSample(order.sampleFile);
  const key = createPrivateKey(order.privateKey);
  const posts: SignedPost[] = [];
  let bytes = 0;
  for (const post of makePosts(sample, order.cut)) {
    if (bytes >= order.bytes || posts.length >= (order.posts ?? Infinity)) break;
    posts.push(sign(key, post));
    bytes += post.body.length;
  }
  return { order, sample, key, posts };
}

/** The prepared POSTs, and after them new ones, which are not kept: a long run must not fill the memory. */
function supply({ order, sample, key, posts }: Stock): (number: number) => SignedPost {
  let beyond: Generator<BenchPost> | undefined;
  return (number) => {
    const post = posts[number];
    if (post !== undefined) return post;
    beyond ??= makePosts(sample, order.cut, number);
    const next = beyond.next();
    if (next.done === true) throw new Error("the traffic has no end, and yet it ended");
    return sign(key, next.value);
  };
}

function sign(key: KeyObject, post: BenchPost): SignedPost {
  const headers = { ...webhookHeaders(key, post.body, SIGNED_AT), "content-length": String(post.body.length) };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return { ...post, head: head.join("") };
}
