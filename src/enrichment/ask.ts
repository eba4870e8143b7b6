import type { Answer, ApiList, ApiMessage, ProviderApi } from "../sendgrid/api-types.ts";
import { idQuery, rangeQuery } from "../sendgrid/query.ts";
import { applyAnswer, applyFailure, applyRefusal, applyScout, nextAsk, type Batch } from "./batch.ts";
import { counted, inTransaction, noteAnswer, type Context } from "./context.ts";
import { writeFound } from "./found.ts";
import type { Target } from "./windows.ts";

/**
 * Whether the batch can go on. `forbidden`: its API may not be asked. `stuck`: none of its questions had a usable answer
 * lately, so that others should be asked first.
 */
export type Asked = "asked" | "forbidden" | "stuck";

/** Makes a batch's next call, writes what it found and takes it off the targets. */
export async function askNext(context: Context, batch: Batch): Promise<Asked> {
  if (batch.scout !== undefined) return askScout(context, batch, batch.scout);
  const ask = nextAsk(batch);
  if (ask === undefined) return "asked";
  const answer = await list(context, batch.api, rangeQuery(batch.api, ask, ask.only));
  if (context.isStopping()) {
    batch.asks.push(ask);
    return "asked";
  }
  if (answer.kind === "bad_request" && ask.only !== undefined) {
    // The API answers, so it is well; but it does not take so narrow a question.
    await noteAnswer(context, batch.api, { kind: "not_found" });
    context.log.warn({ api: batch.api, reason: answer.reason }, "SendGrid's API refuses a narrowed question");
    applyRefusal(batch, ask);
    return "asked";
  }
  const failures = await noteAnswer(context, batch.api, answer);
  switch (answer.kind) {
    case "ok":
      await write(context, batch, answer.value.messages);
      applyAnswer(batch, ask, answer.value);
      return "asked";
    case "rate_limited":
      batch.asks.push(ask);
      return "asked";
    case "forbidden":
      batch.asks.push(ask);
      return "forbidden";
    case "unavailable":
    case "bad_request":
      return applyFailure(batch, ask, { reason: answer.reason, failures });
  }
}

async function askScout(context: Context, batch: Batch, scout: Target): Promise<Asked> {
  const answer = await list(context, batch.api, idQuery(batch.api, scout.messageId));
  if (context.isStopping()) return "asked";
  const failures = await noteAnswer(context, batch.api, answer);
  if (answer.kind === "ok") {
    await write(context, batch, answer.value.messages);
    const found = answer.value.messages.find(({ messageId }) => messageId === scout.messageId);
    applyScout(batch, scout, found);
  } else if (failures === 1) batch.scout = undefined;
  if (failures > 1) return "stuck";
  return answer.kind === "forbidden" ? "forbidden" : "asked";
}

type ListAnswer = Exclude<Answer<ApiList>, { kind: "not_found" }>;

async function list(context: Context, api: ProviderApi, query: string): Promise<ListAnswer> {
  const answer = await counted(api, context.client.list(api, query));
  // A list that is not there is an API that is not there.
  if (answer.kind === "not_found") {
    return { kind: "forbidden", reason: "HTTP 404: there is no such API at SENDGRID_API_URL" };
  }
  return answer;
}

async function write(context: Context, batch: Batch, messages: readonly ApiMessage[]): Promise<void> {
  const options = { refresh: false, now: context.now() };
  const written = await inTransaction(context, (tx) => writeFound(tx, batch.api, messages, options));
  for (const message of written) batch.targets.delete(message);
}
