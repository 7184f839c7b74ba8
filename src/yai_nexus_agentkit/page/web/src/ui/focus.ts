/** Where the keyboard is. What was focused and is removed leaves it nowhere: at the body. */

/** The box for messages gets the focus, if nothing else has it. */
export function focusMessage(): void {
  if (document.activeElement === document.body) document.getElementById("message")?.focus({ preventScroll: true });
}

/**
 * What was pressed by a key may be gone then. The keyboard goes on nearby: at the next field of the form, at the call or
 * the question, and else at the box for messages. Not at a button that answers: the key may still be down.
 */
export function stayNearby(event: MouseEvent): void {
  if (event.detail !== 0) return;
  const around = event.composedPath().filter((one) => one instanceof HTMLElement);
  // After React has drawn the page.
  queueMicrotask(() => {
    if (document.activeElement !== document.body) return;
    const near = around.find((one) => one.isConnected);
    if (near?.closest(".question")) {
      const field = near.closest("form") && near.querySelector<HTMLElement>("input, select, textarea, button");
      (field ?? near.closest<HTMLElement>("[tabindex='-1']"))?.focus();
    }
    focusMessage();
  });
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

/** Whether the user goes through a list with the keys. Each of them may draw the page anew. */
export const isChoosing = (): boolean => document.activeElement?.matches("select:focus-visible") ?? false;
