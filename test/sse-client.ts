/** One message of a stream of Server-Sent Events, with its data read as JSON. */
export interface SseMessage {
  event: string;
  id: string | undefined;
  data: unknown;
}

export interface SseClient {
  response: Response;
  /** The next message of this kind; those of other kinds before it are passed over. Throws when the stream ends first. */
  next(event: string): Promise<SseMessage>;
  /** Resolves when the server ends the stream; gives the kinds of the messages that were left. */
  ended(): Promise<string[]>;
  close(): void;
}

/** Opens a stream as a browser's EventSource does. */
export async function openSse(url: string, headers: Record<string, string>): Promise<SseClient> {
  const abort = new AbortController();
  const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: abort.signal });
  const messages = read(response);
  return {
    response,
    async next(event) {
      for (;;) {
        const { value, done } = await messages.next();
        if (done === true) throw new Error(`the stream ended before ${event} came`);
        if (value.event === event) return value;
      }
    },
    async ended() {
      const kinds: string[] = [];
      for (;;) {
        const { value, done } = await messages.next();
        if (done === true) return kinds;
        kinds.push(value.event);
      }
    },
    close: () => abort.abort(),
  };
}

async function* read(response: Response): AsyncGenerator<SseMessage, void> {
  if (response.body === null) return;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const fields = new Map(
        part.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
      );
      const data = fields.get("data");
      if (data !== undefined)
        yield { event: fields.get("event") ?? "message", id: fields.get("id"), data: JSON.parse(data) };
    }
  }
}
