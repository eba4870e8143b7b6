/**
 * What the simulated marketplace sends. Webhooks carry neither subject nor sender, so both are made from what they do
 * carry: that way the API double and a test can say independently what the API must answer.
 */

export const MAIL_KINDS = ["registration", "password_reset", "invoice"] as const;
export type MailKind = (typeof MAIL_KINDS)[number];

export interface Mail {
  subject: string;
  from: string;
  templateId: string;
}

const SUBJECTS: Record<MailKind, (args: Readonly<Record<string, string>>) => string> = {
  registration: () => "Confirm your registration",
  password_reset: () => "Reset your password",
  invoice: (args) => `Invoice for your order ${args["order_id"] ?? "without a number"}`,
};

const SENDERS: Record<MailKind, string> = {
  registration: "welcome@market.example.com",
  password_reset: "security@market.example.com",
  invoice: "billing@market.example.com",
};

const TEMPLATES: Record<MailKind, string> = {
  registration: "d-3f0c1b7a5e9d4c6f8a2b1c0d9e8f7a61",
  password_reset: "d-91d2e4c8b7a6453f9e8d7c6b5a4f3e21",
  invoice: "d-c5b4a3928170465e8f9a0b1c2d3e4f57",
};

/** The mail behind an event, from its custom args and categories; an unknown kind still has a subject and a sender. */
export function mailOf(args: Readonly<Record<string, string>>, categories: readonly string[]): Mail {
  const kind = MAIL_KINDS.find((candidate) => candidate === args["mail_kind"] || categories.includes(candidate));
  if (kind === undefined) {
    return {
      subject: `News from the marketplace${categories[0] === undefined ? "" : `: ${categories[0]}`}`,
      from: "hello@market.example.com",
      templateId: "",
    };
  }
  return { subject: SUBJECTS[kind](args), from: SENDERS[kind], templateId: TEMPLATES[kind] };
}
