/** The focus when what had it is gone, such as the button of a row that was removed. */

import { useEffect } from 'react';

/** Moves a lost focus to the first of these places, or to the title of the page, so that the keyboard goes on from there. */
export function keepFocus(...places: readonly (HTMLElement | null)[]): void {
  for (const place of [...places, document.querySelector<HTMLElement>('h1[tabindex]')]) {
    if (document.activeElement !== null && document.activeElement !== document.body) return;
    // It may be hidden, and does not take the focus then.
    place?.focus({ preventScroll: true });
  }
}

/** For what goes away when its own button is pressed. `selector` finds the places where the keyboard goes on. */
export function useKeptFocus(selector = 'h1[tabindex]'): void {
  useEffect(() => () => keepFocus(...document.querySelectorAll<HTMLElement>(selector)), [selector]);
}

/**
 * Whether someone uses the keyboard: the focus is shown. What they pressed has to stay in sight, for example when a list is
 * turned to its next page.
 */
export function isFocusShown(): boolean {
  return document.activeElement?.matches(':focus-visible') ?? false;
}
