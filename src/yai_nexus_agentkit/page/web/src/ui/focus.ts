/** Where the keyboard is. What was focused and is removed leaves it nowhere: at the body. */

/** The box for messages gets the focus, if nothing else has it. */
export function focusMessage(): void {
  if (document.activeElement === document.body) document.getElementById("message")?.focus({ preventScroll: true });
}

/** A pressed button goes away. Somebody with a keyboard goes on in the box for messages; a phone would open one. */
export function leave({ detail }: { detail: number }): void {
  if (detail === 0) document.getElementById("message")?.focus();
}

/** Whether the user is writing somewhere. A box for messages without a word may be left. */
export function isWriting(): boolean {
  const { activeElement } = document;
  if (activeElement?.id === "message") return (activeElement as HTMLTextAreaElement).value !== "";
  return activeElement?.matches("input, textarea, select") ?? false;
}
