import type { signInEn } from "./sign-in-en.ts";

/** Anmeldung über die eigene Organisation, und wie lange ein Token gilt. */
export const signInDe: typeof signInEn = {
  signIn: {
    organisation: "Mit Ihrer Organisation anmelden",
    or: "oder",
    faults: {
      address:
        "Unter dieser Adresse geht die Anmeldung über Ihre Organisation nicht. Ein Admin muss HOLDFAST_PUBLIC_URL setzen.",
      away: "Die Anmeldung Ihrer Organisation antwortet gerade nicht. Versuchen Sie es noch einmal, oder nehmen Sie ein Token.",
      expired: "Diese Anmeldung dauerte zu lange oder begann in einem anderen Fenster. Beginnen Sie noch einmal.",
      failed:
        "Die Anmeldung über Ihre Organisation ist gescheitert. Beginnen Sie noch einmal; bleibt es dabei, findet ein Admin den Grund im Protokoll.",
      many: "Zu viele Versuche. Warten Sie eine Minute.",
      no_role:
        "Ihre Organisation kennt Sie, hat Ihnen aber keine Rolle in Holdfast gegeben. Fragen Sie dort nach der Gruppe, die eine hat.",
      refused: "Die Anmeldung wurde bei Ihrer Organisation abgebrochen.",
    },
  },
  tokenEnd: {
    label: "Gültig",
    never: "bis es beendet wird",
    days: "{{formatted}} Tage",
    ended: "beendet",
  },
};
