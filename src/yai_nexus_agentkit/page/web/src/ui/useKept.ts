import { useState } from "react";
import { Kept } from "../agent/kept.ts";

/** As `useState`, and the value is there again after a reload: see `Kept`. Null, or no name: it is not kept. */
export function useKept<T>(name: string | undefined, initial: () => T): [T, (value: T) => void] {
  // In an object, because a value may be undefined.
  const kept = name === undefined ? undefined : new Kept<{ value?: T }>(name);
  const [value, setValue] = useState<T>(() => {
    const found = kept?.value;
    return found ? (found.value as T) : initial();
  });
  const change = (next: T) => {
    setValue(next);
    if (kept) kept.value = next === null ? null : { value: next };
  };
  return [value, change];
}
