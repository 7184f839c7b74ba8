import { type ReactNode, useEffect, useState } from "react";
import { flushSync } from "react-dom";

/** Characters that are drawn at once. */
const BUDGET = 16_000;
/** Milliseconds of drawing in each of the next frames. The browser needs about as many for the layout. */
const LONGEST = 50;

const queue: { show: () => void }[] = [];
let left = BUDGET;
let frame = 0;

/** Draws its children at once, or, if much else is drawn in this frame, in one of the next ones. The order stays. */
export function Later({ weight, children }: { weight: number; children: ReactNode }) {
  const [shown, setShown] = useState(() => queue.length === 0 && take(weight));
  useEffect(() => {
    if (shown) return undefined;
    const waits = { show: () => setShown(true) };
    queue.push(waits);
    frame ||= requestAnimationFrame(refill);
    return () => {
      const at = queue.indexOf(waits);
      if (at >= 0) queue.splice(at, 1);
    };
  }, [shown]);
  return shown ? children : null;
}

function take(weight: number): boolean {
  frame ||= requestAnimationFrame(refill);
  const fits = left > 0;
  if (fits) left -= weight;
  return fits;
}

function refill(): void {
  frame = 0;
  left = BUDGET;
  const until = performance.now() + LONGEST;
  // Each one is drawn at once, so that the clock knows it.
  for (let next = queue.shift(); next; next = performance.now() < until ? queue.shift() : undefined) {
    flushSync(next.show);
  }
  if (queue.length > 0) frame ||= requestAnimationFrame(refill);
}
