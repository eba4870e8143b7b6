/** What is wrong and what to do, for each kind of alert. */
export const alertsEn = {
  alerts: {
    title: "Alerts",
    none: "Nothing needs you.",
    noneHint: "An alert appears here when a person must act, and goes when the cause is gone.",
    since: "Since {{moment}}",
    resolved: "Over since {{moment}}",
    past: "Over",
    acknowledge: "I have seen this",
    acknowledged: "Seen by {{name}}",
    inSource: "Source {{source}}",
    inbox_old: {
      what_one: "{{formatted}} accepted POST has been waiting for over a minute to be filed.",
      what_other: "{{formatted}} accepted POSTs are waiting; the oldest for over a minute.",
      todo: "Nothing is lost: they are stored. New states appear late until the ledger catches up. If the number grows, look at the log and the load of PostgreSQL.",
    },
    receipt_failing: {
      what_one: "{{formatted}} receipt cannot be filed and is tried again and again.",
      what_other: "{{formatted}} receipts cannot be filed and are tried again and again.",
      todo: "Their bytes are stored. The log names the error; until it is mended their events are not in the ledger.",
    },
    quarantine_open: {
      what_one: "{{formatted}} item is in quarantine.",
      what_other: "{{formatted}} items are in quarantine.",
      todo: "Look at them: what cannot be read is not counted for any mail.",
    },
    balance_broken: {
      what_one: "The balance is off by {{formatted}} event.",
      what_other: "The balance is off by {{formatted}} events.",
      todo: "This must never happen. Keep the database and the log as they are and tell whoever runs Holdfast.",
    },
    enrichment_failing: {
      what_one: "SendGrid did not answer for {{formatted}} message.",
      what_other: "SendGrid did not answer for {{formatted}} messages.",
      todo: "Their states are right; subject and sender are missing. Each can be asked for again on its page.",
    },
    enrichment_forbidden: {
      what_one: "SendGrid refuses to show messages to this API key.",
      what_other: "SendGrid refuses to show messages to this API key.",
      todo: "States are right; subjects and senders are missing. Give the key the right to read Email Logs or Email Activity and restart.",
    },
    signature_failing: {
      what_one: "{{formatted}} POST was refused: its signature is missing or wrong.",
      what_other: "{{formatted}} POSTs were refused: their signatures are missing or wrong.",
      todo: "{{left}} Compare the verification key in SendGrid with the keys under Settings, and add the right one there; SendGrid then sends again what it was refused.",
    },
    source_unknown: {
      what_one: "{{formatted}} POST went to an address that is no source.",
      what_other: "{{formatted}} POSTs went to addresses that are no source.",
      todo: "{{left}} Compare the webhook's URL in SendGrid with the sources configured here.",
    },
    spool_in_use: {
      what_one: "{{formatted}} POST waits on disk, because PostgreSQL did not take it.",
      what_other: "{{formatted}} POSTs wait on disk, because PostgreSQL did not take them.",
      todo: "Nothing is lost: they are filed as soon as it does. If the number grows, PostgreSQL is away: look at its log.",
    },
    disk_low: {
      what_one: "The disk of {{formatted}} process is nearly full.",
      what_other: "The disks of {{formatted}} processes are nearly full.",
      todo: "POSTs are refused before PostgreSQL has to stop, and SendGrid sends them again for 24 hours. Free space.",
    },
    durability_unsafe: {
      what_one: "PostgreSQL is set up to lose what it commits ({{formatted}} process says so).",
      what_other: "PostgreSQL is set up to lose what it commits ({{formatted}} processes say so).",
      todo: "Turn fsync and synchronous_commit on. Until then an acknowledged event can be lost in a power cut.",
    },
    silence: {
      what_one: "No POST has come for {{formatted}} whole hour, and in earlier weeks these hours had many.",
      what_other: "No POST has come for {{formatted}} whole hours, and in earlier weeks these hours had many.",
      todo: "If mail is being sent, see in SendGrid whether the webhook is on and its address leads here. If none is, nothing is wrong.",
    },
    events_missing: {
      what_one: "{{formatted}} event is in SendGrid's records and not in the ledger.",
      what_other: "{{formatted}} events are in SendGrid's records and not in the ledger.",
      todo: "They can be filed from those records: holdfast reconcile --repair, with the days concerned.",
    },
    events_repaired: {
      what_one: "{{formatted}} event of the last 7 days never came by webhook and was filed from SendGrid's records.",
      what_other:
        "{{formatted}} events of the last 7 days never came by webhook and were filed from SendGrid's records.",
      todo: "Nothing of it is missing now, but something on the way to Holdfast loses events. Look at proxies and at other receivers of the webhook.",
    },
    reconciliation_failing: {
      what_one: "The ledger is not being compared with SendGrid's records.",
      what_other: "The ledger is not being compared with SendGrid's records.",
      todo: "The last comparison failed, or none has run for three days. The log has the reason; until then a gap would not be noticed.",
    },
    receiver_failing: {
      what_one: "The {{source}} of alerts does not take them; {{formatted}} waits.",
      what_other: "The {{source}} of alerts does not take them; {{formatted}} wait.",
      todo: "Whoever reads there does not hear of alerts. Check its address in HOLDFAST_ALERT_WEBHOOKS and whether it answers.",
    },
    sends_unseen: {
      what_one: "No event has come of {{formatted}} mail that was handed to SendGrid.",
      what_other: "No event has come of {{formatted}} mails that were handed to SendGrid.",
      todo: "Look for them in SendGrid. If they are not there either, the application never handed them over; else their webhook is missing.",
    },
    left: "The first of these events are lost for good in {{hours}} h {{minutes}} min.",
    leftNone: "The first of these events are lost for good.",
    other: {
      what_one: "Something needs you: {{kind}} ({{formatted}}).",
      what_other: "Something needs you: {{kind}} ({{formatted}}).",
      todo: "The log has the details.",
    },
    openQuarantine: "Open the quarantine",
  },
};
