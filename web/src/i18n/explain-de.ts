import type { explainEn } from "./explain-en.ts";

export const explainDe: typeof explainEn = {
  no_mailbox: {
    what: "Die Adresse gibt es auf diesem Mailserver nicht.",
    todo: "Prüfen Sie die Schreibweise mit dem Kunden und senden Sie dann an die richtige Adresse.",
  },
  no_domain: {
    what: "Die Domain hinter dem @ wurde nicht gefunden.",
    todo: "Prüfen Sie die Schreibweise hinter dem @. Stimmt sie, muss der Anbieter des Kunden sein DNS in Ordnung bringen.",
  },
  no_mail_domain: { what: "Diese Domain nimmt keine Mails an.", todo: "Bitten Sie den Kunden um eine andere Adresse." },
  bad_address: {
    what: "Die Adresse ist nicht so geschrieben, wie eine Mailadresse sein kann.",
    todo: "Berichtigen Sie die Adresse und senden Sie noch einmal.",
  },
  moved: {
    what: "Das Postfach ist zu einer anderen Adresse umgezogen.",
    todo: "Bitten Sie den Kunden um die neue Adresse.",
  },
  sender_refused: {
    what: "Der Server nimmt diese Absenderadresse nicht an.",
    todo: "Prüfen Sie, ob es die Domain des Absenders gibt und ob sie bei SendGrid eingerichtet ist.",
  },
  mailbox_disabled: {
    what: "Das Postfach gibt es, es ist aber abgeschaltet.",
    todo: "Bitten Sie den Kunden um eine andere Adresse.",
  },
  mailbox_full: {
    what: "Das Postfach ist voll.",
    todo: "Bitten Sie den Kunden um eine andere Adresse oder darum, Platz zu schaffen, und senden Sie dann noch einmal.",
  },
  too_large: {
    what: "Die Mail ist größer, als der Server erlaubt.",
    todo: "Senden Sie sie mit kleineren Anhängen oder stattdessen mit einem Link.",
  },
  list_problem: {
    what: "Die Adresse ist eine Verteilerliste, die diese Mail nicht annimmt.",
    todo: "Bitten Sie den Kunden um eine persönliche Adresse.",
  },
  mailbox_unavailable: {
    what: "Der Server konnte dieses Postfach nicht verwenden.",
    todo: "Prüfen Sie die Adresse mit dem Kunden. Stimmt sie, senden Sie später noch einmal.",
  },
  server_full: {
    what: "Der Mailserver hat keinen Platz mehr.",
    todo: "Senden Sie später noch einmal; der Anbieter des Kunden muss handeln.",
  },
  server_trouble: {
    what: "Der Mailserver hatte eine eigene Störung.",
    todo: "Senden Sie später noch einmal. Kommt es wieder vor, sollte der Kunde seinem Anbieter Bescheid geben.",
  },
  unreachable: {
    what: "Der Mailserver war nicht erreichbar.",
    todo: "Prüfen Sie die Schreibweise hinter dem @. Stimmt sie, senden Sie später noch einmal.",
  },
  gave_up: {
    what: "Der Server hat die Mail nicht rechtzeitig angenommen.",
    todo: "Senden Sie später noch einmal oder bitten Sie den Kunden um eine andere Adresse.",
  },
  loop: {
    what: "Die Mailserver des Kunden reichen die Mail im Kreis herum.",
    todo: "Der Anbieter des Kunden muss seine Weiterleitung in Ordnung bringen.",
  },
  protocol: {
    what: "Die beiden Mailserver haben sich nicht verstanden.",
    todo: "Senden Sie einmal neu. Kommt es wieder vor, geben Sie die Worte des Servers an die Technik weiter.",
  },
  content: {
    what: "Der Server hat den Inhalt abgelehnt, als Spam oder als verboten.",
    todo: "Prüfen Sie Text, Links und Anhänge der Mail.",
  },
  policy: {
    what: "Der Server lehnt die Mail nach einer eigenen Regel ab.",
    todo: "Lesen Sie unten die Worte des Servers; oft muss die Mailverwaltung des Kunden den Absender zulassen.",
  },
  authentication: {
    what: "Die Mail hat die Prüfung des Absenders (SPF, DKIM oder DMARC) nicht bestanden.",
    todo: "Geben Sie der Technik Bescheid: Die Domain des Absenders muss bei SendGrid beglaubigt sein.",
  },
  reverse_dns: {
    what: "Der Server traut der sendenden Adresse nicht, weil ihr Name und ihre Nummer nicht zusammenpassen.",
    todo: "Geben Sie der Technik Bescheid: Die sendende IP braucht Reverse DNS.",
  },
  too_many: {
    what: "Der Server nimmt von diesem Absender zurzeit keine weiteren Mails an.",
    todo: "Warten Sie und senden Sie später und langsamer noch einmal.",
  },
  reputation: {
    what: "Der Server traut dem Ruf des Absenders nicht oder hat ihn auf einer Sperrliste gefunden.",
    todo: "Geben Sie der Technik Bescheid: Die sendende IP oder Domain muss von der Liste genommen werden.",
  },
  relay: {
    what: "Dieser Server fühlt sich für die Adresse nicht zuständig.",
    todo: "Prüfen Sie die Schreibweise hinter dem @. Stimmt sie, muss der Anbieter des Kunden seine Einstellungen berichtigen.",
  },
  greylisted: {
    what: "Der Server bittet jeden unbekannten Absender, etwas später wiederzukommen.",
    todo: "Sie müssen nichts tun: SendGrid versucht es von selbst wieder.",
  },
  busy: {
    what: "Der Mailserver ist beschäftigt.",
    todo: "Sie müssen nichts tun: SendGrid versucht es von selbst wieder.",
  },
  technical: {
    what: "Zwischen den Mailservern gab es einen technischen Fehler.",
    todo: "Senden Sie später noch einmal. Kommt es wieder vor, geben Sie die Worte des Servers an die Technik weiter.",
  },
  unclear: { what: "Der Server hat keinen erkennbaren Grund genannt.", todo: "Lesen Sie unten die Worte des Servers." },
  drop_bounced: {
    what: "Eine frühere Mail an diese Adresse kam zurück, darum versucht SendGrid es nicht wieder.",
    todo: "Stimmt die Adresse inzwischen, entfernen Sie sie aus der Bounce-Liste von SendGrid und senden Sie dann noch einmal.",
  },
  drop_unsubscribed: {
    what: "Diese Person hat sich bei SendGrid abgemeldet.",
    todo: "Achten Sie das. War es ein Versehen, muss sich der Kunde wieder anmelden.",
  },
  drop_spam_report: {
    what: "Diese Person hat einmal eine Mail von uns als Spam gemeldet.",
    todo: "Achten Sie das. Nur auf Wunsch des Kunden entfernen Sie die Adresse aus den Spam-Meldungen von SendGrid.",
  },
  drop_invalid: {
    what: "Die Adresse ist keine mögliche Mailadresse.",
    todo: "Berichtigen Sie die Adresse und senden Sie noch einmal.",
  },
  drop_spam_content: {
    what: "Die Spam-Prüfung von SendGrid hat die Mail angehalten.",
    todo: "Geben Sie der Technik Bescheid: Text und Grenzwert der Spam-Prüfung von SendGrid prüfen.",
  },
  drop_header: {
    what: "Die Mail trug Anweisungen, die SendGrid nicht lesen konnte (Kopfzeile X-SMTPAPI).",
    todo: "Geben Sie der Technik Bescheid: Die sendende Anwendung hat einen Fehler.",
  },
  drop_quota: {
    what: "Das SendGrid-Konto hat sein Kontingent aufgebraucht.",
    todo: "Geben Sie der Person Bescheid, die das SendGrid-Konto verwaltet; senden Sie dann noch einmal.",
  },
  drop_other: { what: "SendGrid hat die Mail nicht gesendet.", todo: "Lesen Sie unten die Worte von SendGrid." },
};
