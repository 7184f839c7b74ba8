import type { Root } from "hast";
import { useEffect, useRef, useState } from "react";
import { share } from "../agent/share.ts";

/** `under`: the level of the heading before the text. `open`: it is still being written. */
export type Request = { text: string; under: number; open: boolean; clobberPrefix: string };

/** A tree; "plain": the text is too hard to read; undefined: nothing yet. */
export type Parsed = Root | "plain" | undefined;

/** From this length on a text is read by the worker. */
export const LONG = 16_000;
/** From here on it is read there as well, so that there is a tree when it becomes long. */
const EARLY = 12_000;
/** Some texts take time that grows with the square of their length. */
const PATIENCE = 20_000;

type Job = { request: Request; answer: (parsed: Parsed) => void };

/** The newest text of each piece: those between are skipped. */
const waiting = new Map<object, Job>();
let worker: Worker | undefined;
let busy = false;

/** The tree of a text that may be growing. It may be that of an older text, while the newest one is read. */
export function useParsed(request: Request): Parsed {
  const { text, under, open, clobberPrefix } = request;
  const [parsed, setParsed] = useState<Parsed>();
  const piece = useRef({}).current;
  const wanted = text.length > EARLY;
  useEffect(() => {
    if (!wanted) return;
    const answer = (next: Parsed) => setParsed((now) => share(now, next));
    waiting.set(piece, { request: { text, under, open, clobberPrefix }, answer });
    void next();
  }, [piece, wanted, text, under, open, clobberPrefix]);
  useEffect(() => () => void waiting.delete(piece), [piece]);
  return parsed;
}

async function next(): Promise<void> {
  const [piece, job] = waiting.entries().next().value ?? [];
  if (busy || !piece || !job) return;
  waiting.delete(piece);
  busy = true;
  job.answer(await answered(job.request));
  busy = false;
  void next();
}

/** A worker that fails or hangs is given up; the next text gets a new one. */
function answered(request: Request): Promise<Parsed> {
  return new Promise((done) => {
    const fail = () => {
      worker?.terminate();
      worker = undefined;
      done("plain");
    };
    const late = setTimeout(fail, PATIENCE);
    worker ??= new Worker(new URL("./parse.worker.ts", import.meta.url), { type: "module" });
    worker.onerror = (event) => {
      event.preventDefault();
      clearTimeout(late);
      fail();
    };
    worker.onmessage = ({ data }: MessageEvent<Root>) => {
      clearTimeout(late);
      done(data);
    };
    worker.postMessage(request);
  });
}
