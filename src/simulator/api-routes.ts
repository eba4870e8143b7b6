import { exportLink, orderExport } from "./activity-export.ts";
import { errors, type Answer, type ApiCalls, type Asked } from "./api-context.ts";
import { listLogs, listMessages, singleLog, singleMessage } from "./api-lists.ts";
import { answerStats } from "./stats-api.ts";
import { listSuppressions } from "./suppressions-api.ts";

export interface Route {
  api: "messages" | "logs" | "stats" | "suppressions" | "subusers" | "exports";
  kind: Exclude<keyof ApiCalls, "refused">;
  answer: (asked: Asked) => Answer;
}

interface Pattern extends Omit<Route, "answer"> {
  method: "GET" | "POST";
  /** Its group, if any, is the path's variable part. */
  path: RegExp;
  answer: (asked: Asked, variable: string) => Answer;
}

const PATTERNS: readonly Pattern[] = [
  { method: "GET", path: /^\/v3\/messages$/, api: "messages", kind: "messages", answer: listMessages },
  { method: "POST", path: /^\/v3\/messages\/download$/, api: "exports", kind: "exports", answer: orderExport },
  { method: "GET", path: /^\/v3\/messages\/download\/([^/]+)$/, api: "exports", kind: "exports", answer: exportLink },
  { method: "GET", path: /^\/v3\/messages\/([^/]+)$/, api: "messages", kind: "message", answer: singleMessage },
  { method: "POST", path: /^\/v3\/logs$/, api: "logs", kind: "logs", answer: listLogs },
  { method: "GET", path: /^\/v3\/logs\/([^/]+)$/, api: "logs", kind: "log", answer: singleLog },
  { method: "GET", path: /^\/v3\/stats$/, api: "stats", kind: "stats", answer: stats },
  {
    method: "GET",
    path: /^\/v3\/suppression\/([a-z_]+)$/,
    api: "suppressions",
    kind: "suppressions",
    answer: listSuppressions,
  },
  { method: "GET", path: /^\/v3\/subusers$/, api: "subusers", kind: "subusers", answer: listSubusers },
];

export function findRoute(method: string, pathname: string): Route | undefined {
  for (const { path, answer, ...route } of PATTERNS) {
    const found = route.method === method ? path.exec(pathname) : null;
    if (found === null) continue;
    const variable = decodeURIComponentSafely(found[1] ?? "");
    if (variable === undefined) return undefined;
    return { api: route.api, kind: route.kind, answer: (asked) => answer(asked, variable) };
  }
  return undefined;
}

function stats({ context, account, parameters }: Asked): Answer {
  const { now, timeZone, statsLagSeconds } = context.options;
  const nowMs = now();
  const heardUntilMs = nowMs - statsLagSeconds * 1000;
  const { truth, moved } = account;
  const answer = answerStats({ truth, moved, timeZone, nowMs, heardUntilMs }, parameters);
  return answer.ok ? { status: 200, body: answer.body } : errors(400, answer.message, answer.field);
}

function listSubusers({ context, parameters }: Asked): Answer {
  const beginning = parameters.get("username") ?? "";
  const subusers = [...context.accounts.values()].filter(({ name }) => name !== "" && name.startsWith(beginning));
  return {
    status: 200,
    body: subusers.map(({ id, name }) => ({
      disabled: false,
      email: `${name}@example.com`,
      id: Number(id),
      username: name,
    })),
  };
}

function decodeURIComponentSafely(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
