/** Light, dark, or whatever the system says: a class on the root element, remembered in this browser. */
const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

const place = 'tollgate.theme';

export function storedTheme(): Theme {
  try {
    const text = localStorage.getItem(place);
    return themes.find((theme) => theme === text) ?? 'system';
  } catch {
    return 'system';
  }
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    localStorage.setItem(place, theme);
  } catch {
    // A browser that keeps nothing still shows the choice until it is closed.
  }
}

export function applyTheme(theme: Theme): void {
  document.documentElement.classList.remove('light', 'dark');
  if (theme !== 'system') document.documentElement.classList.add(theme);
}
