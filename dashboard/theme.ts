/**
 * Light, dark, or the system's setting: a class on the root element. The page loads this file before its first paint, so
 * that the chosen theme does not flash; it is a separate file because the content security policy forbids inline scripts.
 */
import { readStored, writeStored } from './storage.ts';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const themeKey = 'tollgate.theme';

export function storedTheme(): Theme {
  const stored = readStored(themeKey);
  return themes.find((theme) => theme === stored) ?? 'system';
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  writeStored(themeKey, theme);
}

function applyTheme(theme: Theme): void {
  document.documentElement.classList.remove('light', 'dark');
  if (theme !== 'system') document.documentElement.classList.add(theme);
}

applyTheme(storedTheme());
