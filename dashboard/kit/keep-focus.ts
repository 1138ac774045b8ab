/** The focus when what had it is gone, such as the button of a row that was removed. */

import { useEffect } from 'react';

/** Moves a lost focus to this place, or to the title of the page, so that the keyboard goes on from there. */
export function keepFocus(place: HTMLElement | null = null): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  (place ?? document.querySelector<HTMLElement>('h1[tabindex]'))?.focus({ preventScroll: true });
}

/** For what goes away when its own button is pressed. */
export function useKeptFocus(): void {
  useEffect(() => () => keepFocus(), []);
}
