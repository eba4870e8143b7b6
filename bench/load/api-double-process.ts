/** The double of SendGrid's API, in a process of its own, knowing the events of the benchmark's traffic. */
import type { ApiCalls } from "../../src/simulator/api-context.ts";
import { startApiDouble, type ApiDouble } from "../../src/simulator/api-double.ts";
import { serveOrders } from "../child.ts";
import { makePosts, type Cut } from "./posts.ts";
import { loadSample } from "./sample.ts";

export type DoubleOrder =
  | { kind: "start"; sampleFile: string; cut: Cut; posts: number; callsPerMinute: number; apiKey: string }
  | { kind: "calls" };

export type DoubleAnswer = { url: string } | { calls: ApiCalls };

let double: ApiDouble | undefined;

serveOrders(async (order: DoubleOrder): Promise<DoubleAnswer> => {
  if (order.kind === "calls") {
    if (double === undefined) throw new Error("the double was not started");
    return { calls: { ...double.calls } };
  }
  const { sampleFile, cut, posts, callsPerMinute, apiKey } = order;
  const started = await startApiDouble({ callsPerMinute, apiKey, visibleAfterSeconds: 0 });
  double = started;
  let post = 0;
  for (const { body } of makePosts(await loadSample(sampleFile), cut)) {
    if (post === posts) break;
    for (const event of JSON.parse(body.toString()) as Record<string, unknown>[]) started.record(event);
    post += 1;
  }
  return { url: started.url };
});
