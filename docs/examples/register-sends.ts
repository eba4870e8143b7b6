/** What of `@sendgrid/mail` is used. */
export interface Mail {
  send: (data: unknown, isMultiple?: boolean) => Promise<[{ headers: Record<string, string> }, unknown]>;
}

/**
 * Has every send of `@sendgrid/mail` registered with Holdfast. Copy it into your application and call it once:
 * `registerSends(sgMail, { url: "https://holdfast.example.com", token, onError: console.error })`.
 */
export function registerSends(
  mail: Mail,
  { url, token, onError }: { url: string; token: string; onError: (error: unknown) => void },
): void {
  const send = mail.send.bind(mail);
  mail.send = async (data, isMultiple) => {
    const answer = await send(data, isMultiple);
    // A list of mails is sent one by one, each through here.
    if (Array.isArray(data)) return answer;
    const body = JSON.stringify({ sends: [{ messageId: answer[0].headers["x-message-id"] }] });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    // Not waited for: the mail is sent, whatever becomes of its registration.
    void fetch(`${url}/v1/sends`, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) })
      .then((told) => (told.ok ? undefined : onError(new Error(`Holdfast answered ${told.status}`))))
      .catch(onError);
    return answer;
  };
}
