/** Pure. The numbers beside a chart. */

const TICKS = 5;

/** Round numbers, evenly spaced, from below the smallest value to above the largest. 0 is one of them. */
export function ticksOf(values: readonly number[]): number[] {
  const known = values.filter(Number.isFinite);
  const low = known.reduce((one, other) => Math.min(one, other), 0);
  const high = known.reduce((one, other) => Math.max(one, other), 0) || (low < 0 ? 0 : 1);
  const least = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  const first = Math.floor(low / step);
  const count = Math.ceil(high / step) - first + 1;
  return Array.from({ length: count }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}
