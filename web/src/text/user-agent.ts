/** What can be said of a reader's program. Only well-known, stable marks are read; the rest stays unsaid. */
export interface Agent {
  /** A service that fetches pictures or follows links instead of the person. */
  proxy: string | undefined;
  device: "phone" | "tablet" | "computer" | undefined;
  system: string | undefined;
  program: string | undefined;
}

const PROXIES: readonly (readonly [RegExp, string])[] = [
  [/GoogleImageProxy/, "Gmail"],
  [/YahooMailProxy/, "Yahoo"],
  [/OutlookImageProxy|Microsoft Office Outlook Proxy/i, "Outlook"],
  [/Barracuda/i, "Barracuda"],
  [/Mimecast/i, "Mimecast"],
  [/Proofpoint/i, "Proofpoint"],
];

const SYSTEMS: readonly (readonly [RegExp, string, Agent["device"]])[] = [
  [/iPhone|iPod/, "iOS", "phone"],
  [/iPad/, "iPadOS", "tablet"],
  [/Android(?=.*Mobile)/, "Android", "phone"],
  [/Android/, "Android", "tablet"],
  [/Windows NT|Windows;/, "Windows", "computer"],
  [/Macintosh|Mac OS X/, "macOS", "computer"],
  [/CrOS/, "ChromeOS", "computer"],
  [/Linux|X11/, "Linux", "computer"],
];

// Order matters: Edge calls itself Chrome, Chrome calls itself Safari.
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/Thunderbird\//, "Thunderbird"],
  [/Microsoft Outlook|MSOffice|Outlook-/, "Outlook"],
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\/|Opera/, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/Chrome\/|CriOS\//, "Chrome"],
  [/Version\/[\d.]+.*Safari\//, "Safari"],
  [/AppleWebKit\/[\d.]+ \(KHTML, like Gecko\)( Mobile\/\w+)?$/, "Apple Mail"],
];

/** Reads a User-Agent header. Long ones are cut: nothing of use stands after the first 1,000 characters. */
export function describeAgent(userAgent: string): Agent {
  const text = userAgent.slice(0, 1_000);
  const system = SYSTEMS.find(([pattern]) => pattern.test(text));
  return {
    proxy: PROXIES.find(([pattern]) => pattern.test(text))?.[1],
    device: system?.[2],
    system: system?.[1],
    program: PROGRAMS.find(([pattern]) => pattern.test(text))?.[1],
  };
}
