import type { ProviderApi } from "../sendgrid/api-types.ts";
import { takeCall } from "../sendgrid/budget.ts";
import { counted, DONE, inTransaction, noteAnswer, NOTHING_TO_DO, type Context, type Step } from "./context.ts";
import { writeFound } from "./found.ts";
import { closeOrder, nextOrder, postponeOrder, type Order } from "./orders.ts";

/** Answers one person's order, at the cost of one call. An order for a failed message asks about it again. */
export async function orderStep(context: Context, api: ProviderApi): Promise<Step> {
  const { pool, enrichSimulated, callsPerMinute } = context;
  const order = await inTransaction(context, (tx) => nextOrder(tx, { enrichSimulated, now: context.now() }));
  if (order === undefined) return NOTHING_TO_DO;
  const permit = await takeCall(pool, api, callsPerMinute, { now: context.now() });
  if (!permit.granted) return { done: false, waitSeconds: permit.waitSeconds };
  await answerOrder(context, api, order);
  return DONE;
}

/** While no API may be asked, the orders for failed messages wait as pending ones. */
export async function foldOrders(context: Context): Promise<void> {
  const { enrichSimulated } = context;
  await inTransaction(context, (tx) => nextOrder(tx, { enrichSimulated, singlyMax: 0, now: context.now() }));
}

async function answerOrder(context: Context, api: ProviderApi, order: Order): Promise<void> {
  const { pool } = context;
  const answer = await counted(api, context.client.get(api, order.messageId));
  if (context.isStopping()) return;
  const now = context.now();
  if (answer.kind === "bad_request") {
    // It is this id that the API does not take: the API itself is well.
    await noteAnswer(context, api, { kind: "not_found" });
    await closeOrder(pool, order, answer.reason, now);
    return;
  }
  await noteAnswer(context, api, answer);
  if (answer.kind === "ok") {
    const message = { ...answer.value, messageId: order.messageId };
    await inTransaction(context, async (tx) => {
      await writeFound(tx, api, [message], { refresh: true, now });
      await closeOrder(tx, order, undefined, now);
    });
  } else if (answer.kind === "not_found") await closeOrder(pool, order, "SendGrid does not know this message", now);
  else if (answer.kind === "unavailable") await postponeOrder(pool, order);
}
