/** Whether a page is accessible and fits, in every look that the dashboard has. */
import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { desktop, type Look, phone, pictureFolder, take, takePicture } from './browser.ts';

const axe = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');

const laptop: Look = { ...desktop, width: 1024 };
const atNight = (look: Look): Look => ({ ...look, colorScheme: 'dark' });
const looks = {
  light: desktop,
  dark: atNight(desktop),
  'laptop-dark': atNight(laptop),
  laptop,
  phone,
  'phone-dark': atNight(phone),
};
/** For all rules, in every look and on everything, however often the same was checked before. */
const isEverything = process.env.TOLLGATE_ALL_LOOKS !== undefined;
/** The rules that colours can affect. */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

type AxeNode = { html: string; element: unknown };
type AxeResult = { id: string; help: string; nodes: AxeNode[] };

/** What an accessibility checker finds on the page as it is now, with every rule and however small. */
export async function violationsOf(page: Page): Promise<string[]> {
  return await runAxe(page, { without: [], isPartial: false });
}

type AxeOptions = Readonly<{
  without: readonly string[];
  /** Leaves out what was checked with another state of the page: the sidebar and, behind a dialog, everything. */
  isPartial: boolean;
}>;

async function runAxe(page: Page, options: AxeOptions): Promise<string[]> {
  await loadAxe(page);
  return await page.evaluate(runAxeInPage, options);
}

/** Over the debugging protocol, to which the page's policy against foreign scripts does not apply. */
async function loadAxe(page: Page): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
}

type PageGlobals = {
  axe: { run: (context: unknown, options: object) => Promise<Record<string, AxeResult[]>> };
  document: { querySelector: (selector: string) => unknown };
  textsByStyle: Map<string, { isConnected: boolean }[]>;
};

async function runAxeInPage({ without, isPartial }: AxeOptions): Promise<string[]> {
  const { axe: checker, document } = globalThis as unknown as PageGlobals;
  const dialog = isPartial ? document.querySelector('dialog:modal') : null;
  // The rows of a table are alike.
  const exclude = [['tbody tr:nth-child(n + 13)'], ...(isPartial ? [['aside']] : [])];
  const { violations = [] } = await checker.run(
    { include: dialog ?? document, exclude },
    {
      resultTypes: ['violations'],
      // Only experimental rules, which are off, need the style sheets that it would otherwise load.
      preload: false,
      // Reports the HTML of an element instead of its selector, which takes ten times as long to compute.
      selectors: false,
      rules: Object.fromEntries(without.map((rule) => [rule, { enabled: false }])),
    },
  );
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}

/**
 * Tries the rules of colour on the texts in these styles. Also returns the styles in which a text was found good. Null if
 * the page has changed since it was seen.
 */
async function checkColours(page: Page, styles: readonly string[]) {
  await loadAxe(page);
  return await page.evaluate(checkColoursInPage, { styles, rules: rulesOfColour });
}

async function checkColoursInPage({
  styles,
  rules,
}: {
  styles: readonly string[];
  rules: readonly string[];
}) {
  const { axe: checker, textsByStyle } = globalThis as unknown as PageGlobals;
  const include = styles.flatMap((style) => textsByStyle.get(style) ?? []);
  if (!include.every(({ isConnected }) => isConnected)) return null;
  const { violations = [], passes = [] } = await checker.run(
    { include },
    {
      resultTypes: ['violations', 'passes'],
      preload: false,
      selectors: false,
      elementRef: true,
      runOnly: rules,
    },
  );
  const passed = new Set(
    passes
      .filter(({ id }) => id === 'color-contrast')
      .flatMap(({ nodes }) => nodes.map(({ element }) => element)),
  );
  return {
    violations: violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html}`),
    ),
    good: styles.filter((style) => textsByStyle.get(style)?.some((element) => passed.has(element))),
  };
}

/** Whether anything makes the page wider than the window, which on a phone means scrolling sideways. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/**
 * What crosses the edge of its cell or figure, and tables that are wider than their page, as text. Elements for screen
 * readers only are left out.
 */
const crossings = `(() => {
  const visible = (element) => element.getClientRects().length > 0 && element.closest('.sr-only') === null;
  const wide = [...document.querySelectorAll('main td, main th, main dd')]
    .filter((cell) => visible(cell) && cell.scrollWidth > cell.clientWidth + 1);
  const width = document.documentElement.clientWidth;
  const beyond = [...document.querySelectorAll('main table')]
    .filter((table) => width >= 1024 && visible(table) && table.getBoundingClientRect().right > width - 8);
  return [...wide, ...beyond].map((element) => element.textContent.trim().slice(0, 80));
})()`;

/**
 * Everything that a look can change and that the rules other than those of colour depend on: which elements are shown, and
 * which of them scroll.
 */
const shape = `(() => {
  const facts = [];
  for (const element of document.querySelectorAll('body, body *')) {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
    facts.push(element.tagName, element.firstElementChild === null ? element.textContent : '', scrolls);
  }
  return facts.join();
})()`;

/**
 * The styles of the texts on the page: everything that the rules of colour depend on, which is the colour of the letters,
 * whether they are large, and what is behind them. Whatever else covers the middle of a text counts as behind it. The
 * texts are kept for checkColours.
 */
const textStyles = (isPartial: boolean) => `(() => {
  const root = (${isPartial} && document.querySelector('dialog:modal')) || document.body;
  const leftOut = 'tbody tr:nth-child(n + 13), .sr-only, :disabled, [aria-disabled=true]${isPartial ? ', aside' : ''}';
  const fields = 'select, textarea, input:not([type=checkbox], [type=radio])';
  const known = new Map();
  const filled = [];
  /** What this element and those around it are painted with, down to the first that nothing is seen through, and with which effects. */
  const layersOf = (element) => {
    if (element === null) return { paint: '', effects: '' };
    if (known.has(element)) return known.get(element);
    const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(element);
    const outer = layersOf(element.parentElement);
    const isClear = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none';
    const isOpaque = backgroundColor.startsWith('rgb(') && backgroundImage === 'none';
    const isPlain = opacity === '1' && filter === 'none' && mixBlendMode === 'normal';
    const effects = isPlain ? outer.effects : [opacity, filter, mixBlendMode, outer.effects].join('<');
    // With an effect, everything around it may be seen through it.
    const isLast = isOpaque && effects === '';
    const paint = isClear && isPlain ? outer.paint : backgroundColor + backgroundImage + (isLast ? '' : '<' + outer.paint);
    const layers = { paint, effects };
    known.set(element, layers);
    if (!isClear) filled.push([element, backgroundColor + backgroundImage]);
    return layers;
  };
  const hasLetters = (text) => /[\\p{L}\\p{N}]/u.test(text);
  const isInText = (element) => element.tagName === 'A' && hasLetters(element.textContent)
    && element.parentElement.textContent.trim() !== element.textContent.trim();
  const texts = [];
  for (const element of document.querySelectorAll('body, body *')) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    layersOf(element);
    const isText = element.matches(fields)
      ? element.value !== ''
      : [...element.childNodes].some((node) => node.nodeType === 3 && hasLetters(node.data))
        || (isInText(element) && getComputedStyle(element).display === 'inline');
    if (isText && root.contains(element) && element.closest(leftOut) === null) texts.push(element);
  }
  const boxes = filled.map(([element, paint]) => [element, paint, element.getBoundingClientRect()]);
  globalThis.textsByStyle = new Map();
  for (const element of texts) {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const near = boxes.filter(([other, , box]) =>
      box.left <= x && x <= box.right && box.top <= y && y <= box.bottom
      && !other.contains(element) && !element.contains(other));
    const { color, fontSize, fontWeight, textDecorationLine, textShadow } = getComputedStyle(element);
    // As WCAG has it: 18 points, or 14 in bold.
    const isLarge = parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 14 : 18) * 96 / 72;
    const link = isInText(element)
      ? [getComputedStyle(element.parentElement).color, textDecorationLine, fontWeight, fontSize]
      : [];
    const { paint, effects } = layersOf(element);
    const style = [isLarge, color, textShadow, paint, effects, link, ...near.map(([, paint]) => paint)].join('|');
    const same = textsByStyle.get(style);
    if (same === undefined) textsByStyle.set(style, [element]);
    else same.push(element);
  }
  return [...textsByStyle].map(([style, elements]) =>
    [style, [...new Set(elements.map(({ textContent }) => textContent.slice(0, 100)))].join().slice(0, 500)]);
})()`;

/** Styles in which a text was found good, on any page. */
const goodStyles = new Set<string>();
/** Texts that the checker could not tell about, as where something covers them, with their style and look. */
const triedTexts = new Set<string>();

/** Tries the rules of colour on the texts of a page whose style is new. */
async function colourViolations(page: Page, look: Look, isPartial: boolean): Promise<string[]> {
  const nameOf = (style: string, texts: string) => JSON.stringify([look.width, style, texts]);
  for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
    const styles = await page.evaluate<[string, string][]>(textStyles(isPartial));
    const fresh = styles.filter(
      ([style, texts]) => !goodStyles.has(style) && !triedTexts.has(nameOf(style, texts)),
    );
    if (fresh.length === 0) return [];
    const checked = await checkColours(
      page,
      fresh.map(([style]) => style),
    );
    if (checked === null) continue;
    if (checked.violations.length > 0) return checked.violations;
    for (const style of checked.good) goodStyles.add(style);
    for (const [style, texts] of fresh) triedTexts.add(nameOf(style, texts));
    return [];
  }
  throw new Error('The page does not stop changing.');
}

const maxAttempts = 20;

/**
 * Looks at what is on the screen by day, at night, on a small screen and on a phone, and leaves it as on a desktop. Each page is
 * checked thoroughly once; for a dialog or another state of it, the accessibility of a few looks tells enough. What
 * looks have in common is checked once: the rules of colour for each style of text, the others for each shape of the page.
 */
export async function checkLooks(page: Page, name: string, isThorough = false): Promise<void> {
  const shapes = new Set<string>();
  for (const [lookName, look] of Object.entries(looks)) {
    const isWanted = isThorough || lookName === 'light' || lookName === 'dark' || lookName === 'phone';
    if (!isEverything && !isWanted && look.colorScheme === 'dark' && pictureFolder === undefined) continue;
    await take(page, look);
    await takePicture(page, `${name}-${lookName}`);
    const violations: string[] = [];
    if (isEverything) violations.push(...(await violationsOf(page)));
    else if (isWanted) {
      const seen = await page.evaluate<string>(shape);
      if (!shapes.has(seen))
        violations.push(...(await runAxe(page, { without: ['color-contrast'], isPartial: !isThorough })));
      shapes.add(seen);
      violations.push(...(await colourViolations(page, look, !isThorough)));
    }
    const overflow = await overflowOf(page);
    const crossing = await page.evaluate<string[]>(crossings);
    expect({ name, look: lookName, violations, overflow, crossing }).toEqual({
      name,
      look: lookName,
      violations: [],
      overflow: 0,
      crossing: [],
    });
  }
  await take(page, desktop);
}
