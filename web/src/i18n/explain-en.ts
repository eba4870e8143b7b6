/** What a refusal means and what to do about it, in plain words. The codes are chosen by text/explain.ts. */
export const explainEn = {
  no_mailbox: {
    what: "The address does not exist at this mail server.",
    todo: "Check the spelling with the customer, then resend to the right address.",
  },
  no_domain: {
    what: "The domain after the @ was not found.",
    todo: "Check the spelling after the @. If it is right, the customer's provider must mend its DNS.",
  },
  no_mail_domain: { what: "This domain takes no mail.", todo: "Ask the customer for another address." },
  bad_address: {
    what: "The address is not written as a mail address can be.",
    todo: "Correct the address, then resend.",
  },
  moved: { what: "The mailbox has moved to another address.", todo: "Ask the customer for the new address." },
  sender_refused: {
    what: "The server does not accept this sender's address.",
    todo: "Check that the sender's domain exists and is set up for sending at SendGrid.",
  },
  mailbox_disabled: { what: "The mailbox exists but is switched off.", todo: "Ask the customer for another address." },
  mailbox_full: {
    what: "The mailbox is full.",
    todo: "Ask the customer for another address or to free space, then resend.",
  },
  too_large: {
    what: "The mail is larger than the server allows.",
    todo: "Send it with smaller attachments, or with a link instead.",
  },
  list_problem: {
    what: "The address is a mailing list that does not take this mail.",
    todo: "Ask the customer for a personal address.",
  },
  mailbox_unavailable: {
    what: "The server could not use this mailbox.",
    todo: "Check the address with the customer. If it is right, resend later.",
  },
  server_full: {
    what: "The mail server has no space left.",
    todo: "Resend later; the customer's provider has to act.",
  },
  server_trouble: {
    what: "The mail server had trouble of its own.",
    todo: "Resend later. If it happens again, the customer should tell the provider.",
  },
  unreachable: {
    what: "The mail server could not be reached.",
    todo: "Check the spelling after the @. If it is right, resend later.",
  },
  gave_up: {
    what: "The server did not take the mail in the time allowed.",
    todo: "Resend later, or ask the customer for another address.",
  },
  loop: {
    what: "The customer's mail servers pass the mail round in a circle.",
    todo: "The customer's provider has to mend its forwarding.",
  },
  protocol: {
    what: "The two mail servers did not understand each other.",
    todo: "Resend once. If it happens again, pass the server's words on to the technical staff.",
  },
  content: {
    what: "The server refused the content, as spam or as forbidden.",
    todo: "Check the text, links and attachments of the mail.",
  },
  policy: {
    what: "The server refuses the mail by a rule of its own.",
    todo: "Read the server's words below; often the customer's mail administrator must allow the sender.",
  },
  authentication: {
    what: "The mail did not pass the server's check of the sender (SPF, DKIM or DMARC).",
    todo: "Tell the technical staff: the sender's domain must be authenticated at SendGrid.",
  },
  reverse_dns: {
    what: "The server does not trust the sending address, because its name and number do not match.",
    todo: "Tell the technical staff: the sending IP needs reverse DNS.",
  },
  too_many: {
    what: "The server takes no more mails from this sender for now.",
    todo: "Wait and resend later, more slowly.",
  },
  reputation: {
    what: "The server does not trust the sender's reputation or found it on a block list.",
    todo: "Tell the technical staff: the sending IP or domain must be taken off the list.",
  },
  relay: {
    what: "This server does not feel responsible for the address.",
    todo: "Check the spelling after the @. If it is right, the customer's provider must mend its settings.",
  },
  greylisted: {
    what: "The server asks every unknown sender to come again a little later.",
    todo: "Nothing to do: SendGrid tries again by itself.",
  },
  busy: { what: "The mail server is busy.", todo: "Nothing to do: SendGrid tries again by itself." },
  technical: {
    what: "There was a technical fault between the mail servers.",
    todo: "Resend later. If it happens again, pass the server's words on to the technical staff.",
  },
  unclear: { what: "The server gave no reason that can be recognised.", todo: "Read the server's words below." },
  drop_bounced: {
    what: "An earlier mail to this address bounced, so SendGrid does not try again.",
    todo: "If the address is right now, remove it from SendGrid's bounce list, then resend.",
  },
  drop_unsubscribed: {
    what: "This person has unsubscribed at SendGrid.",
    todo: "Respect it. If it was a mistake, the customer must subscribe again.",
  },
  drop_spam_report: {
    what: "This person once marked a mail of ours as spam.",
    todo: "Respect it. Only on the customer's wish remove the address from SendGrid's spam reports.",
  },
  drop_invalid: { what: "The address is not a possible mail address.", todo: "Correct the address, then resend." },
  drop_spam_content: {
    what: "SendGrid's own spam check stopped the mail.",
    todo: "Tell the technical staff: check the text, and the limit of SendGrid's spam checker.",
  },
  drop_header: {
    what: "The mail carried instructions that SendGrid could not read (X-SMTPAPI header).",
    todo: "Tell the technical staff: the sending application has a fault.",
  },
  drop_quota: {
    what: "The SendGrid account has used up its quota.",
    todo: "Tell whoever manages the SendGrid account; then resend.",
  },
  drop_other: { what: "SendGrid did not send the mail.", todo: "Read SendGrid's words below." },
};
