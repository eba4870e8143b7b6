import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { registerSends, type Mail } from "../docs/examples/register-sends.ts";
import { testDatabase, type TestDatabase } from "./database.ts";
import { seedSource } from "./seed.ts";
import { viewsApp, type ViewsApp } from "./views-app.ts";

/** As `@sendgrid/mail` does: a list is sent one by one through the same method. */
function fakeMail(fails = false): Mail {
  let sent = 0;
  return {
    async send(data) {
      if (fails) throw new Error("SendGrid refused it");
      if (Array.isArray(data)) return (await Promise.all(data.map(async (each) => this.send(each)))) as never;
      sent += 1;
      return [{ headers: { "x-message-id": `send-${sent}` } }, {}];
    },
  };
}

describe("the wrapper for @sendgrid/mail that the documents show", () => {
  let db: TestDatabase;
  let views: ViewsApp;
  let url: string;

  beforeAll(async () => {
    db = await testDatabase();
    await seedSource(db.pool, "default");
    views = await viewsApp(db);
    url = await views.listen();
  });
  afterAll(async () => {
    await views.close();
    await db.drop();
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE sends");
  });

  async function registered(): Promise<string[]> {
    const found = await db.pool.query<{ id: string }>("SELECT message_id AS id FROM sends ORDER BY 1");
    return found.rows.map(({ id }) => id);
  }

  it("registers each mail, also those of a list, and gives the client's own answer", async () => {
    const mail = fakeMail();
    const onError = vi.fn<(error: unknown) => void>();
    registerSends(mail, { url, token: views.tokens.compliance, onError });
    expect(await mail.send({ to: "ann@example.com" })).toEqual([{ headers: { "x-message-id": "send-1" } }, {}]);
    await mail.send([{ to: "bob@example.com" }, { to: "cid@example.com" }]);
    await vi.waitFor(async () => expect(await registered()).toEqual(["send-1", "send-2", "send-3"]));
    expect(onError).not.toHaveBeenCalled();
  });

  it("never fails a mail that was sent, and says why it was not registered", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const refused = fakeMail();
    registerSends(refused, { url, token: views.tokens.support, onError });
    expect((await refused.send({}))[0].headers["x-message-id"]).toBe("send-1");
    await vi.waitFor(() => expect(onError).toHaveBeenLastCalledWith(new Error("Holdfast answered 403")));
    const away = fakeMail();
    registerSends(away, { url: "http://127.0.0.1:1", token: "hf_x", onError });
    expect((await away.send({}))[0].headers["x-message-id"]).toBe("send-1");
    await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(2));
    expect(await registered()).toEqual([]);
  });

  it("registers nothing that SendGrid did not take", async () => {
    const mail = fakeMail(true);
    const onError = vi.fn<(error: unknown) => void>();
    registerSends(mail, { url, token: views.tokens.compliance, onError });
    await expect(mail.send({})).rejects.toThrow("SendGrid refused it");
    expect([await registered(), onError.mock.calls]).toEqual([[], []]);
  });
});
