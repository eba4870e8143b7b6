/** What is wrong and what to do, for each kind of alert. */
export const alertsDe = {
  alerts: {
    title: "Hinweise",
    none: "Nichts braucht Sie.",
    noneHint: "Ein Hinweis erscheint hier, wenn ein Mensch handeln muss, und geht, wenn die Ursache behoben ist.",
    since: "Seit {{moment}}",
    resolved: "Vorbei seit {{moment}}",
    past: "Vorbei",
    acknowledge: "Ich habe es gesehen",
    acknowledged: "Gesehen von {{name}}",
    inSource: "Quelle {{source}}",
    inbox_old: {
      what_one: "{{formatted}} angenommener POST wartet seit über einer Minute darauf, abgelegt zu werden.",
      what_other: "{{formatted}} angenommene POSTs warten, der älteste seit über einer Minute.",
      todo: "Verloren ist nichts: Sie sind gespeichert. Neue Stände erscheinen verspätet, bis das Ledger aufgeholt hat. Wächst die Zahl, sehen Sie in das Protokoll und nach der Last von PostgreSQL.",
    },
    receipt_failing: {
      what_one: "{{formatted}} Beleg lässt sich nicht ablegen und wird immer wieder versucht.",
      what_other: "{{formatted}} Belege lassen sich nicht ablegen und werden immer wieder versucht.",
      todo: "Ihre Bytes sind gespeichert. Das Protokoll nennt den Fehler; bis er behoben ist, fehlen ihre Ereignisse im Ledger.",
    },
    quarantine_open: {
      what_one: "{{formatted}} Eintrag ist in Quarantäne.",
      what_other: "{{formatted}} Einträge sind in Quarantäne.",
      todo: "Sehen Sie sie an: Was nicht lesbar ist, zählt bei keiner Mail.",
    },
    balance_broken: {
      what_one: "Die Bilanz weicht um {{formatted}} Ereignis ab.",
      what_other: "Die Bilanz weicht um {{formatted}} Ereignisse ab.",
      todo: "Das darf nie geschehen. Lassen Sie Datenbank und Protokoll, wie sie sind, und geben Sie der Person Bescheid, die Holdfast betreibt.",
    },
    enrichment_failing: {
      what_one: "SendGrid hat zu {{formatted}} Nachricht nicht geantwortet.",
      what_other: "SendGrid hat zu {{formatted}} Nachrichten nicht geantwortet.",
      todo: "Ihre Stände stimmen; Betreff und Absender fehlen. Auf der Seite jeder Nachricht lässt sich noch einmal fragen.",
    },
    enrichment_forbidden: {
      what_one: "SendGrid verweigert diesem API-Schlüssel, Nachrichten zu lesen.",
      what_other: "SendGrid verweigert diesem API-Schlüssel, Nachrichten zu lesen.",
      todo: "Die Stände stimmen; Betreff und Absender fehlen. Geben Sie dem Schlüssel das Recht, Email Logs oder Email Activity zu lesen, und starten Sie neu.",
    },
    signature_failing: {
      what_one: "{{formatted}} POST wurde abgewiesen: Die Signatur fehlt oder ist falsch.",
      what_other: "{{formatted}} POSTs wurden abgewiesen: Die Signaturen fehlen oder sind falsch.",
      todo: "{{left}} Vergleichen Sie den Prüfschlüssel in SendGrid mit den Schlüsseln unter Einstellungen und fügen Sie dort den richtigen hinzu; SendGrid schickt dann noch einmal, was abgewiesen wurde.",
    },
    source_unknown: {
      what_one: "{{formatted}} POST ging an eine Adresse, zu der es keine Quelle gibt.",
      what_other: "{{formatted}} POSTs gingen an Adressen, zu denen es keine Quelle gibt.",
      todo: "{{left}} Vergleichen Sie die URL des Webhooks in SendGrid mit den hier eingerichteten Quellen.",
    },
    spool_in_use: {
      what_one: "{{formatted}} POST wartet auf der Festplatte, weil PostgreSQL ihn nicht angenommen hat.",
      what_other: "{{formatted}} POSTs warten auf der Festplatte, weil PostgreSQL sie nicht angenommen hat.",
      todo: "Nichts ist verloren: Sie werden abgelegt, sobald es wieder annimmt. Wächst die Zahl, fehlt PostgreSQL: Sehen Sie in dessen Protokoll.",
    },
    disk_low: {
      what_one: "Die Festplatte von {{formatted}} Prozess ist fast voll.",
      what_other: "Die Festplatten von {{formatted}} Prozessen sind fast voll.",
      todo: "POSTs werden abgewiesen, bevor PostgreSQL anhalten muss; SendGrid schickt sie 24 Stunden lang erneut. Schaffen Sie Platz.",
    },
    durability_unsafe: {
      what_one: "PostgreSQL ist so eingestellt, dass es Bestätigtes verlieren kann ({{formatted}} Prozess meldet das).",
      what_other:
        "PostgreSQL ist so eingestellt, dass es Bestätigtes verlieren kann ({{formatted}} Prozesse melden das).",
      todo: "Schalten Sie fsync und synchronous_commit ein. Bis dahin kann ein bestätigtes Ereignis bei einem Stromausfall verloren gehen.",
    },
    silence: {
      what_one: "Seit {{formatted}} vollen Stunde kam kein POST; in früheren Wochen kamen zu dieser Zeit viele.",
      what_other: "Seit {{formatted}} vollen Stunden kam kein POST; in früheren Wochen kamen zu dieser Zeit viele.",
      todo: "Wenn Mails verschickt werden: Sehen Sie in SendGrid nach, ob der Webhook an ist und seine Adresse hierher führt. Wenn nicht, ist alles in Ordnung.",
    },
    events_missing: {
      what_one: "{{formatted}} Ereignis steht in SendGrids Aufzeichnungen und fehlt hier.",
      what_other: "{{formatted}} Ereignisse stehen in SendGrids Aufzeichnungen und fehlen hier.",
      todo: "Sie lassen sich aus diesen Aufzeichnungen ablegen: holdfast reconcile --repair mit den betroffenen Tagen.",
    },
    events_repaired: {
      what_one:
        "{{formatted}} Ereignis der letzten 7 Tage kam nie per Webhook und stammt aus SendGrids Aufzeichnungen.",
      what_other:
        "{{formatted}} Ereignisse der letzten 7 Tage kamen nie per Webhook und stammen aus SendGrids Aufzeichnungen.",
      todo: "Davon fehlt jetzt nichts, aber auf dem Weg zu Holdfast gehen Ereignisse verloren. Prüfen Sie Proxys und andere Empfänger des Webhooks.",
    },
    reconciliation_failing: {
      what_one: "Der Bestand wird nicht mit SendGrids Aufzeichnungen verglichen.",
      what_other: "Der Bestand wird nicht mit SendGrids Aufzeichnungen verglichen.",
      todo: "Der letzte Vergleich ist gescheitert, oder seit drei Tagen lief keiner. Das Protokoll nennt den Grund; bis dahin fiele eine Lücke nicht auf.",
    },
    receiver_failing: {
      what_one: "Der Alarmempfänger „{{source}}“ nimmt nichts an; {{formatted}} Meldung wartet.",
      what_other: "Der Alarmempfänger „{{source}}“ nimmt nichts an; {{formatted}} Meldungen warten.",
      todo: "Wer dort liest, erfährt nichts von Alarmen. Prüfen Sie die Adresse in HOLDFAST_ALERT_WEBHOOKS und ob sie antwortet.",
    },
    sends_unseen: {
      what_one: "Von {{formatted}} Mail, die SendGrid übergeben wurde, kam kein Ereignis.",
      what_other: "Von {{formatted}} Mails, die SendGrid übergeben wurden, kam kein Ereignis.",
      todo: "Suchen Sie die Mails in SendGrid. Stehen sie auch dort nicht, hat die Anwendung sie nie übergeben; sonst fehlt ihr Webhook.",
    },
    left: "Die ersten dieser Ereignisse sind in {{hours}} h {{minutes}} min endgültig verloren.",
    leftNone: "Die ersten dieser Ereignisse sind endgültig verloren.",
    other: {
      what_one: "Etwas braucht Sie: {{kind}} ({{formatted}}).",
      what_other: "Etwas braucht Sie: {{kind}} ({{formatted}}).",
      todo: "Das Protokoll enthält die Einzelheiten.",
    },
    openQuarantine: "Quarantäne öffnen",
  },
};
