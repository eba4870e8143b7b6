/** One message of a stream of Server-Sent Events. */
export interface SseMessage {
  event: string;
  data: string;
  id: string | undefined;
}

/** A line longer than this is no event of ours; the connection is then given up. The server stops at a quarter of it. */
const BUFFER_CHARS_MAX = 4 * 1024 * 1024;

/**
 * Takes a stream apart as it comes, in chunks cut anywhere. Comments (the server's heartbeat) give no message.
 * Written here because EventSource hides the status code and the heartbeat: with it, a dead connection looks alive.
 *
 * @throws RangeError when a line does not end.
 */
export function createSseParser(onMessage: (message: SseMessage) => void): (chunk: string) => void {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | undefined;

  const takeLine = (text: string): void => {
    if (text === "") {
      if (data.length > 0) onMessage({ event: event === "" ? "message" : event, data: data.join("\n"), id });
      event = "";
      data = [];
      id = undefined;
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  };

  return (chunk) => {
    const endsNoLine = !/[\r\n]/.test(chunk) && !rest.endsWith("\r");
    rest += chunk;
    if (rest.length > BUFFER_CHARS_MAX) throw new RangeError("a line of the stream does not end");
    // Taking a growing line apart again with every chunk would cost its length squared.
    if (endsNoLine) return;
    // A carriage return at the very end may be half of a line end: it waits for the next chunk.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const text of lines) takeLine(text);
  };
}
