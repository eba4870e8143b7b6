import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { violationsInEveryLook } from "./accessibility.ts";
import { startBrowser } from "./browser.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type PageWorld, startPageWorld } from "./page-world.ts";

/** What support and operations do all day: watch, search, look a person up, by keyboard, on every paper, in an outage. */

const PERSON = "person+1@example.com";
const PERSON_PATH = `/recipients/${encodeURIComponent(PERSON)}`;

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

describe.skipIf(isSkipped)("the workspace in a browser", () => {
  let world: PageWorld;
  const { open, opened, at } = keepPages(started, () => world);

  /** What Chrome writes to the console for every answer that is no 2xx is asked for by some tests. */
  function expectComplaints(pattern: RegExp): void {
    for (const { complaints } of opened) {
      complaints.splice(0, Infinity, ...complaints.filter((complaint) => !pattern.test(complaint)));
    }
  }

  beforeAll(async () => {
    world = await startPageWorld();
    const now = Math.floor(Date.now() / 1000);
    const mail = (name: string, event: string, minutesAgo: number, more: object = {}) =>
      itemOf(name, event, { email: PERSON, timestamp: now - minutesAgo * 60, category: ["invoice"], ...more });
    await world.post([mail("one", "processed", 60), mail("one", "deferred", 59), mail("one", "delivered", 58)]);
    await world.post([mail("two", "processed", 50), mail("two", "delivered", 49), mail("two", "open", 48)]);
    const refused = { type: "bounce", status: "5.1.1", reason: "550 5.1.1 <b>No such</b> user" };
    await world.post([
      mail("three", "bounce", 30, refused),
      mail("four", "dropped", 20, { reason: "Bounced Address" }),
    ]);
    await world.post([itemOf("else", "delivered", { email: "other@example.com" })]);
  });

  test("the course of events is drawn by kind, grows by itself, and can be read by keyboard", async () => {
    const page = await at("/");
    const legend = page.locator(".legend li").filter({ hasText: "complaints" }).locator("b");
    await legend.waitFor();
    expect(await legend.textContent()).toBe("0");
    await world.post([itemOf("complains", "spamreport", { email: "complains@example.com" })]);
    await page.locator(".chart-kind.objected[d^='M']").waitFor({ state: "attached" });
    expect(await legend.textContent()).toBe("1");
    await page.locator(".chart-area").focus();
    await page.keyboard.press("ArrowLeft");
    await page.locator(".chart-chosen").waitFor({ state: "attached" });
    for (const [button, labels] of [
      ["24 h", 5],
      ["30 days", 5],
    ] as const) {
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.locator(".chart-kind.delivered[d^='M']").waitFor({ state: "attached" });
      expect(await page.locator(".chart-times span").count()).toBe(labels);
    }
  });

  test("the pipeline says when each source was last heard of, and what waits on disk", async () => {
    const page = await at("/");
    await page.locator(".last-seen").getByText("default").waitFor();
    const spool = page.locator(".flow li").filter({ hasText: "Spool" });
    expect(await spool.textContent()).toContain("empty");
    const status = (await (await page.context().request.get("/api/status")).json()) as { instances: object[] };
    const [instance] = status.instances;
    const oldestEventAt = new Date(Date.now() - 2 * 3_600_000).toISOString();
    const late = { ...instance, diskLow: true, unsafe: ["fsync=off"], spool: { posts: 3, bytes: 9, oldestEventAt } };
    const body = `event: status\ndata: ${JSON.stringify({ ...status, instances: [late] })}\n\n`;
    const balance = await (await page.context().request.get("/api/balance")).text();
    await page.route("**/api/live?*", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: `event: balance\ndata: ${balance}\n\n${body}` }),
    );
    await page.reload();
    await spool.getByText("3 POSTs").waitFor();
    expect(await spool.textContent()).toMatch(/SendGrid sends on for (22 h|21 h 59 min)/);
    expect(await page.locator(".fault").allTextContents()).toEqual([
      expect.stringContaining("nearly full"),
      "PostgreSQL is set up to lose what it commits (fsync=off).",
    ]);
  });

  test("an outage is said above every page, with the time SendGrid still gives, and ends by itself", async () => {
    const page = await at("/alerts");
    await page.getByRole("heading", { name: "Alerts" }).waitFor();
    const oldestEventAt = new Date(Date.now() - 3 * 3_600_000).toISOString();
    await page.route("**/readyz", (route) =>
      route.fulfill({
        status: 503,
        json: {
          error: { code: "not_ready", message: "" },
          spool: { posts: 12, bytes: 1, oldestEventAt, givesUpAt: oldestEventAt },
        },
      }),
    );
    await page.reload();
    const alarm = page.getByRole("alert").filter({ hasText: "The database does not answer." });
    await alarm.waitFor();
    expect(await alarm.textContent()).toMatch(/12 POSTs wait on disk.*for (21 h|20 h 59 min)/);
    await page.unroute("**/readyz");
    await alarm.waitFor({ state: "detached" });
    expectComplaints(/503/);
  });

  test("what happened to a mail on its way is found, also when it ended well", async () => {
    const page = await at("/messages");
    await page.getByLabel("What happened, at any time").selectOption("deferred");
    await page.waitForURL("**/messages?kind=deferred");
    // Until the answer is there, the rows of before stay.
    await page.locator("output").getByText("1 message", { exact: true }).waitFor();
    expect(await page.locator(".messages tbody tr .states").allTextContents()).toEqual(["Delivered"]);
    await page.getByLabel("Show only one source").selectOption("default");
    await page.waitForURL("**/messages?kind=deferred&source=default");
    await page.goto("/messages?kind=deferred&source=nobody");
    await page.getByText("source names no source").waitFor();
    expect(await page.getByLabel("Show only one source").inputValue()).toBe("nobody");
    expectComplaints(/400/);
  });

  test("the columns are the reader's choice: in the address, and remembered", async () => {
    const page = await at("/messages");
    await page.locator(".messages tbody tr").first().waitFor();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Source" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Opened" }).click();
    await page.waitForURL("**/messages?columns=first%2Cstate%2Csubject%2Cabout%2Cclicked%2Csource");
    await page.keyboard.press("Escape");
    const heads = page.locator(".messages thead th");
    expect(await heads.allTextContents()).toContain("Source");
    await page.goto("/messages");
    await heads.first().waitFor();
    expect(await heads.allTextContents()).toEqual([
      "First event",
      "State",
      "Recipient",
      "Subject",
      "About",
      "Clicked",
      "Source",
    ]);
    await page.goto("/messages?columns=id");
    await heads.first().waitFor();
    expect(await heads.allTextContents()).toEqual(["Recipient", "Message id"]);
  });

  test("the result can be taken away as a file by those who may", async () => {
    const page = await at("/messages?kind=deferred");
    await page.locator(".messages tbody tr").first().waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export CSV" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^messages-.*\.csv$/);
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\r\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain(`"${PERSON}"`);
    await page.route("**/api/session", (route) => route.fulfill({ json: { name: "s", role: "support" } }));
    await page.reload();
    await page.getByRole("button", { name: "Export CSV" }).waitFor();
    expect(await page.getByRole("link", { name: "Export CSV" }).count()).toBe(0);
  });

  test("a person's page says whether they can be reached, why not, in whose words, and lists their mails", async () => {
    const page = await at("/messages?q=two.recvd");
    await page.locator(".messages tbody tr").getByRole("link").click();
    await page.locator("aside").getByRole("link", { name: PERSON }).click();
    await page.waitForURL(`**${PERSON_PATH}`);
    await page.getByRole("heading", { level: 1, name: "gets no mail: SendGrid has been dropping it since" }).waitFor();
    const why = page.locator(".papers > li");
    expect(await why.count()).toBe(1);
    expect(await why.locator("blockquote").textContent()).toBe("550 5.1.1 <b>No such</b> user");
    expect(await why.textContent()).toContain("The address does not exist at this mail server (5.1.1).");
    await page.locator(".messages tbody tr").nth(3).waitFor();
    expect(await page.locator(".messages tbody tr").count()).toBe(4);
    expect(await page.locator(".strip li").count()).toBe(4);
    expect(await page.getByText("4 mails · 50% delivered · 25% opened").count()).toBe(1);
  });

  test.each(["/recipients/nobody%40example.com", "/recipients/%3Cscript%3E", `/recipients/${"a".repeat(400)}`])(
    "nobody at %s: that is said, and what to do",
    async (path) => {
      const page = await at(path);
      await page.getByText("No event has named this address.").waitFor();
      expectComplaints(/40[04]/);
    },
  );

  test("the whole way by keyboard: search, walk down and up, open, and back", async () => {
    const page = await at("/");
    await page.locator(".events").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type(PERSON);
    await page.keyboard.press("Enter");
    await page.locator(".messages tbody tr").nth(3).waitFor();
    const focused = (): Promise<number> =>
      page.evaluate(
        "[...document.querySelectorAll('.messages tbody tr')].indexOf(document.activeElement.closest('tr'))",
      );
    for (const [key, row] of [
      ["ArrowDown", 0],
      ["ArrowDown", 1],
      ["ArrowDown", 2],
      ["ArrowDown", 3],
      ["ArrowDown", 3],
      ["ArrowUp", 2],
      ["ArrowUp", 1],
      ["ArrowUp", 0],
      ["ArrowUp", -1],
      ["ArrowDown", 0],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(row);
    }
    await page.keyboard.press("Enter");
    await page.locator(".timeline li").first().waitFor();
  });

  test("tab goes through a page in the order it is read: past the rail, search, state, settings, content", async () => {
    const page = await at("/messages");
    await page.locator(".messages tbody tr").first().waitFor();
    const names: string[] = [];
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press("Tab");
      names.push(
        await page.evaluate(
          "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()",
        ),
      );
    }
    const order = [
      "Skip to the content",
      "Holdfast",
      "Live",
      "Messages",
      "Search messages",
      "EN English",
      "View and account",
      "State",
      "What happened, at any time",
      "Columns",
    ];
    const places = order.map((name) => names.findIndex((found) => found.startsWith(name)));
    expect(
      places.every((place) => place !== -1),
      names.join(" | "),
    ).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test("an old question is given up as soon as there is a new one, however slow it is", async () => {
    const page = await at("/messages");
    await page.locator(".messages tbody tr").first().waitFor();
    await page.route("**/api/messages?q=slow", () => undefined);
    const asked = page.waitForRequest("**/api/messages?q=slow");
    const givenUp = page.waitForEvent("requestfailed", (request) => request.url().endsWith("q=slow"));
    await page.keyboard.press("/");
    await page.keyboard.type("slow");
    await page.keyboard.press("Enter");
    await asked;
    await page.getByRole("searchbox").fill("other@example.com");
    await page.keyboard.press("Enter");
    await givenUp;
    await page.locator(".messages tbody tr").getByText("other@example.com").waitFor();
    await page.locator("output").getByText("1 message", { exact: true }).waitFor();
    expect(await page.locator(".messages tbody tr").count()).toBe(1);
  });

  test("a session that ends leads back to where one was", async () => {
    const page = await at(PERSON_PATH);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.context().clearCookies();
    await page.reload();
    await page.waitForURL(`**/login?next=${encodeURIComponent(PERSON_PATH)}`);
    await page.getByLabel("Token", { exact: true }).fill(world.adminToken);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**${PERSON_PATH}`);
    await page.getByRole("heading", { level: 1, name: "gets no mail" }).waitFor();
    expectComplaints(/401/);
  });

  describe("axe finds nothing against WCAG 2.2 AA on light and on dark paper", () => {
    const message = `/messages/${encodeURIComponent(String(itemOf("three", "open")["sg_message_id"]))}`;
    test.each([
      ["live", "/", ".events tbody tr"],
      ["the balance", "/?balance=today", ".difference"],
      ["messages", "/messages", ".messages tbody tr"],
      ["a message", message, ".timeline li"],
      ["a person", PERSON_PATH, ".messages tbody tr"],
      ["quarantine", "/quarantine", ".papers, .nothing"],
      ["alerts", "/alerts", ".papers, .nothing"],
      ["nothing at this address", "/nowhere", ".nothing"],
    ])("%s", async (_name, path, content) => {
      const page = await at(path);
      await page.getByText("Live", { exact: true }).last().waitFor();
      expect(await violationsInEveryLook(page, content, ["en"])).toEqual([]);
    });

    test("sign-in", async () => {
      const { page } = await open();
      await page.goto("/login");
      expect(await violationsInEveryLook(page, "input[type=password]", ["en"])).toEqual([]);
    });
  });
});
