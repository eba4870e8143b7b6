import type { ErrorBody } from "../../../src/views/contract.ts";

/** What the API answered instead of data. `status` 0: no answer at all. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** An answer that takes longer is treated as none: the page can then say so. */
const REQUEST_MS_MAX = 20_000;

/** Turns an answer that is not a 2xx into an ApiError. The body may be anything when a proxy answered. */
export async function errorOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = isErrorBody(body) ? body.error : { code: "internal", message: response.statusText };
  return new ApiError(response.status, error.code, error.message);
}

function isErrorBody(body: unknown): body is ErrorBody {
  if (typeof body !== "object" || body === null || !("error" in body)) return false;
  const { error } = body;
  return typeof error === "object" && error !== null && "code" in error && "message" in error;
}

/**
 * Asks the API. The answer's type is the contract's word; the server checks its answers against the same schemas.
 *
 * @throws ApiError for everything that is not a 2xx, and for no answer.
 */
export async function api<T>(
  method: "GET" | "POST" | "DELETE",
  path: string,
  options: { body?: unknown; signal?: AbortSignal } = {},
): Promise<T> {
  const timeout = AbortSignal.timeout(REQUEST_MS_MAX);
  const { body, signal } = options;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      headers:
        body === undefined
          ? { accept: "application/json" }
          : { accept: "application/json", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, "unreachable", "no answer");
  }
  if (!response.ok) throw await errorOf(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}
