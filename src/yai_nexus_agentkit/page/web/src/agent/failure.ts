import { isObject, objectOf, textOf } from "./json.ts";

/** Why a request failed. Without a status the server was not reached, or the connection broke. */
export type Failure = { message: string; code: string | undefined; status: number | undefined };

export function failureOf(error: unknown): Failure {
  const { status, payload, message } = isObject(error) || error instanceof Error ? (error as unknown as Thrown) : {};
  const detail = objectOf(objectOf(payload).detail);
  if (status === undefined) {
    const unreachable = error instanceof TypeError || !message;
    return { message: unreachable ? "The server cannot be reached." : message, code: undefined, status };
  }
  const given = OWN[status] ?? textOf(detail.error_description);
  const words = given ?? OF_STATUS[status] ?? `The server answered with ${status}.`;
  return { message: words, code: textOf(detail.error), status };
}

type Thrown = { status?: number; payload?: unknown; message?: string };

/** Instead of the server's words, which are for programmers. */
const OWN: Record<number, string> = {
  413: "The message is too large for the server. Send less, or smaller files.",
};

const OF_STATUS: Record<number, string> = {
  401: "You are not signed in.",
  403: "You may not do this.",
  404: "The server does not know this agent.",
  429: "The server is busy. Try again in a moment.",
};
