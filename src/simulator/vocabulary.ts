/** Made-up people, companies and servers. Every address is in a domain, and every IP in a range, reserved for examples. */

type Choices<T> = readonly [T, ...T[]];

export const FIRST_NAMES: Choices<string> = [
  "anna",
  "ben",
  "chiara",
  "daniel",
  "elif",
  "farid",
  "greta",
  "hugo",
  "ines",
  "jonas",
  "katarzyna",
  "luca",
  "maja",
  "noah",
  "olga",
  "pavel",
  "quentin",
  "rosa",
  "stefan",
  "tomoko",
  "ursula",
  "viktor",
  "wanda",
  "yusuf",
  "zoe",
];
export const LAST_NAMES: Choices<string> = [
  "adler",
  "brandt",
  "costa",
  "dubois",
  "eriksen",
  "ferrari",
  "graf",
  "horvat",
  "ivanova",
  "jansen",
  "keller",
  "lindqvist",
  "moreau",
  "novak",
  "okafor",
  "petit",
  "quist",
  "rossi",
  "sato",
  "toth",
  "urban",
  "vermeer",
  "weiss",
  "yilmaz",
  "zeman",
];
export const COMPANIES: Choices<string> = [
  "alder-fittings.example.com",
  "bluebay-paper.example.com",
  "copperline.example.com",
  "dunefield-foods.example.org",
  "elmgate-optics.example.com",
  "fjordware.example.net",
  "granit-bau.example.org",
  "harbour-chemicals.example.com",
  "ironwood-tools.example.com",
  "juniper-textiles.example.net",
  "kestrel-logistics.example.com",
  "lakeside-labs.example.org",
  "example.com",
  "example.net",
  "example.org",
];

/** What the mail servers of the recipients say; `%t` becomes the time, `%h` something random, `%d` the recipient's domain. */
export const DELIVERED_RESPONSES: Choices<string> = [
  "250 2.0.0 OK  %t %h - gsmtp",
  "250 2.6.0 <%h@mx.%d> [InternalId=%t, Hostname=mail01.%d] Queued mail for delivery",
  "250 2.0.0 Ok: queued as %h",
  "250 ok:  Message %t accepted",
];
export const DEFERRED_RESPONSES: Choices<string> = [
  "421 4.7.0 Too many connections from your IP, try again later (%h)",
  "450 4.2.0 <%d>: Recipient address rejected: Greylisted for 300 seconds",
  "451 4.3.2 mx.%d temporarily unavailable, please retry",
  "452 4.2.2 Mailbox over quota, try again later",
  "unable to get mx info: failed to get IPs from PTR record: lookup mx.%d: server misbehaving",
];

export interface Refusal {
  type: "bounce" | "blocked";
  reason: string;
  /** Absent where no mail server was reached. */
  status?: string;
  classification: string;
}

export const BOUNCES: Choices<readonly [weight: number, value: Refusal]> = [
  [
    50,
    {
      type: "bounce",
      reason: "550 5.1.1 <%d>: Recipient address rejected: User unknown",
      status: "5.1.1",
      classification: "Invalid Address",
    },
  ],
  [
    20,
    {
      type: "bounce",
      reason: "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found",
      status: "5.1.10",
      classification: "Invalid Address",
    },
  ],
  [
    15,
    { type: "bounce", reason: "552 5.2.2 The mailbox is full", status: "5.2.2", classification: "Mailbox Unavailable" },
  ],
  [10, { type: "bounce", reason: "550 No such recipient here", status: "550", classification: "Unclassified" }],
];
export const BLOCKS: Choices<readonly [weight: number, value: Refusal]> = [
  [
    40,
    {
      type: "blocked",
      reason: "554 5.7.1 Service unavailable; client host blocked by the recipient's policy",
      status: "5.7.1",
      classification: "Reputation",
    },
  ],
  [
    25,
    {
      type: "blocked",
      reason: "550 5.7.1 Message rejected due to content restrictions",
      status: "5.7.1",
      classification: "Content",
    },
  ],
  [
    20,
    {
      type: "blocked",
      reason: "unable to get mx info: failed to get IPs from PTR record: lookup mx.%d: no such host",
      classification: "Technical",
    },
  ],
  [
    15,
    {
      type: "blocked",
      reason: "421 4.7.28 Unusual rate of mail from this sender, limits exceeded",
      status: "4.7.28",
      classification: "Frequency or Volume Too High",
    },
  ],
];
export const DROP_REASONS: Choices<readonly [weight: number, value: string]> = [
  [60, "Bounced Address"],
  [15, "Unsubscribed Address"],
  [12, "Invalid"],
  [8, "Spam Reporting Address"],
  [5, "Spam Content"],
];

export const PERSON_AGENTS: Choices<string> = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
  "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
  "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
];
/** How a mail program's privacy proxy names itself: nothing but this. */
export const MACHINE_AGENT = "Mozilla/5.0";
export const SCANNER_AGENT = "Mozilla/5.0 (compatible; link-check; +https://scanner.example.org)";

export const IP_PREFIXES: Choices<string> = ["192.0.2.", "198.51.100.", "203.0.113."];
