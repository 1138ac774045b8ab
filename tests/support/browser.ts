/** A real Chromium that walks through the dashboard as a person would. */
import { expect } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type ConsoleMessage, chromium, type Locator, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.ts';

const root = join(import.meta.dir, '../..');
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

export type Look = Readonly<{ width: number; height: number; colorScheme: 'light' | 'dark' }>;
export const desktop: Look = { width: 1440, height: 900, colorScheme: 'light' };
const laptop: Look = { ...desktop, width: 1024 };
export const phone: Look = { width: 390, height: 844, colorScheme: 'light' };
const atNight = (look: Look): Look => ({ ...look, colorScheme: 'dark' });
const looks = {
  light: desktop,
  dark: atNight(desktop),
  'laptop-dark': atNight(laptop),
  laptop,
  phone,
  'phone-dark': atNight(phone),
};
const pictureFolder = process.env.TOLLGATE_PICTURES;
/** For all rules, in every look and on everything, however often the same was checked before. */
const isEverything = process.env.TOLLGATE_ALL_LOOKS !== undefined;
/** The rules that colours can affect. */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error('There is no Chromium. npm test says how to get one.');
  // Chromium has no sandbox when run as root; the pages are our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return await chromium.launch({ executablePath, args });
}

/** Unused tabs, by the address of their gateway. */
const idlePages = new WeakMap<Browser, Map<string, Page[]>>();

/**
 * A new person at a new browser. The tab may have been used before, but everything stored in it is deleted: starting a new
 * one and compiling the pages takes longer than most tests. Every error that the pages log to the console is
 * collected, including violations of the browser's policy.
 */
export async function openPage(browser: Browser, origin: string, look: Look = desktop): Promise<Watched> {
  const byOrigin = idlePages.get(browser) ?? new Map<string, Page[]>();
  idlePages.set(browser, byOrigin);
  const idle = byOrigin.get(origin) ?? [];
  byOrigin.set(origin, idle);
  const page = idle.pop() ?? (await openTab(browser, origin));
  await take(page, look);
  page.setDefaultTimeout(maxWaitMs);
  const complaints: string[] = [];
  const onError = (error: Error) => complaints.push(`${error}`);
  const onMessage = (message: ConsoleMessage) => {
    // The browser itself logs every error response, which a page may expect.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
  };
  page.on('pageerror', onError).on('console', onMessage);
  const close = async () => {
    page.off('pageerror', onError).off('console', onMessage);
    await page.unrouteAll();
    await forget(page);
    idle.push(page);
  };
  return { page, complaints, close };
}

/** For a busy machine. */
const maxWaitMs = 40_000;

async function openTab(browser: Browser, origin: string): Promise<Page> {
  const context = await browser.newContext({
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  return await context.newPage();
}

/** Goes where no page can store anything, and deletes what they have stored. */
async function forget(page: Page): Promise<void> {
  await page.context().clearCookies();
  await page.goto('/healthz');
  await page.evaluate('localStorage.clear(); sessionStorage.clear();');
}

async function take(page: Page, { width, height, colorScheme }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height });
}

export type Watched = Readonly<{ page: Page; complaints: string[]; close: () => Promise<void> }>;

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

/**
 * Goes to a place within the app, as a link would. Reloading the app takes several times as long, and is for tests of what
 * a page shows when it is loaded, or of data that changed without the app's knowledge. The page must have a title and be
 * a different route.
 */
export async function visit(page: Page, path: string): Promise<void> {
  await page.locator('h1').first().waitFor();
  // Marks the title of the old page, so that nothing is searched before the next page is shown.
  await page.evaluate(
    `document.querySelector('h1')?.setAttribute('data-left', ''); history.pushState({}, '', ${JSON.stringify(path)})`,
  );
  await page.locator('h1:not([data-left])').first().waitFor();
}

/** Waits until everything has loaded and no placeholder is left. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('.animate-breathe').first().waitFor({ state: 'detached' });
}

/** Presses Tab until this has the focus and shows it, as someone without a mouse does. */
export async function tabTo(page: Page, goal: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await goal.first().waitFor();
  for (let presses = 0; presses < maxPresses; presses += 1) {
    await page.keyboard.press(key);
    if (await hasFocus(goal)) return;
  }
  throw new Error(`${key} does not lead to ${goal}.`);
}

const maxPresses = 150;

async function hasFocus(goal: Locator): Promise<boolean> {
  return (await goal.and(goal.page().locator(':focus-visible')).count()) === 1;
}

/** Waits until this has the focus. */
export async function focused(goal: Locator): Promise<void> {
  await goal.and(goal.page().locator(':focus')).waitFor();
}

/** Saves a screenshot, if the environment names a folder for them. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (pictureFolder === undefined) return;
  mkdirSync(pictureFolder, { recursive: true });
  await page.screenshot({ path: join(pictureFolder, `${name}.png`), fullPage: true });
}

export function expectNoComplaints({ complaints }: Watched): void {
  expect(complaints).toEqual([]);
}
