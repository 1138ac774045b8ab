import type { KeyboardEvent } from 'react';

/** Enter sends, Shift + Enter starts a new line. Enter may also confirm a character in an input method. */
export function sendOnEnter(event: KeyboardEvent, send: () => void): void {
  if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  send();
}
