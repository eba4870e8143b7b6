import type { FastifyReply } from "fastify";

/**
 * Aborts when the client closes the request before it has its answer: a page does so as soon as the reader wants something
 * else, and nobody waits for the search any more.
 */
export function abandonedSignal(reply: FastifyReply): AbortSignal {
  const { raw } = reply;
  const abandoned = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) abandoned.abort();
  };
  if (raw.closed) onClose();
  else raw.once("close", onClose);
  return abandoned.signal;
}
