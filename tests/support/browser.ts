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
/** The rules that the dark scheme can affect: it changes colours, and neither elements nor layout. */
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

type AxeViolation = {
  id: string;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
};

type AxeOptions = Readonly<{
  /** By default every rule is tried. */
  rules?: readonly string[];
  /** Leaves out what was checked with another state of the page: the sidebar and, behind a dialog, everything. */
  isPartial?: boolean;
}>;

/** What an accessibility checker finds on the page as it is now, however small. */
export async function violationsOf(
  page: Page,
  { rules, isPartial = false }: AxeOptions = {},
): Promise<string[]> {
  // Evaluated over the debugging protocol, to which the page's policy against foreign scripts does not apply.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const violations = await page.evaluate(runAxe, { rules: rules ?? null, isPartial });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}

/** Runs in the page. */
async function runAxe({ rules, isPartial }: { rules: readonly string[] | null; isPartial: boolean }) {
  const { axe: checker, document } = globalThis as unknown as {
    axe: { run: (context: unknown, options: object) => Promise<{ violations: AxeViolation[] }> };
    document: { querySelector: (selector: string) => unknown };
  };
  const dialog = isPartial ? document.querySelector('dialog:modal') : null;
  // The rows of a table are alike.
  const exclude = [['tbody tr:nth-child(n + 13)'], ...(isPartial ? [['aside']] : [])];
  const { violations } = await checker.run(
    { include: dialog ?? document, exclude },
    {
      resultTypes: ['violations'],
      // Only experimental rules, which are off, need the style sheets that it would otherwise load.
      preload: false,
      // Reports the HTML of an element instead of its selector, which takes ten times as long to compute.
      selectors: false,
      ...(rules === null ? {} : { runOnly: rules }),
    },
  );
  return violations;
}

/** Whether anything makes the page wider than the window, which on a phone means scrolling sideways. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/**
 * What crosses the edge of its cell or figure, and tables that are wider than their page, as text. Elements for screen
 * readers only are left out.
 */
async function crossingsOf(page: Page): Promise<string[]> {
  return await page.evaluate(`(() => {
    const visible = (element) => element.getClientRects().length > 0 && element.closest('.sr-only') === null;
    const wide = [...document.querySelectorAll('main td, main th, main dd')]
      .filter((cell) => visible(cell) && cell.scrollWidth > cell.clientWidth + 1);
    const width = document.documentElement.clientWidth;
    const beyond = [...document.querySelectorAll('main table')]
      .filter((table) => width >= 1024 && visible(table) && table.getBoundingClientRect().right > width - 8);
    return [...wide, ...beyond].map((element) => element.textContent.trim().slice(0, 80));
  })()`);
}

/**
 * Everything that a look can change and that the accessibility of a page depends on: which elements are shown, with which
 * colours and letters, and which of them scroll. The names of classes are left out, because a chosen colour scheme is one.
 */
const appearance = `(() => {
  const facts = [];
  for (const element of document.querySelectorAll('body, body *')) {
    const isShown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (!isShown) continue;
    const { color, backgroundColor, backgroundImage, fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
    const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
    const text = element.firstElementChild === null ? element.textContent : '';
    facts.push([element.tagName, text, scrolls, color, backgroundColor, backgroundImage, fontSize, fontWeight, textDecorationLine].join());
  }
  return facts.join(';');
})()`;

/**
 * Looks at what is on the screen by day, at night, on a small screen and on a phone, and leaves it as on a desktop. Each page is
 * checked thoroughly once; for a dialog or another state of it, the accessibility of a few looks tells enough.
 */
export async function checkLooks(page: Page, name: string, isThorough = false): Promise<void> {
  const checked = new Set<unknown>();
  for (const [lookName, look] of Object.entries(looks)) {
    const isWanted = isThorough || lookName === 'light' || lookName === 'dark' || lookName === 'phone';
    if (!isWanted && look.colorScheme === 'dark' && pictureFolder === undefined) continue;
    await take(page, look);
    await takePicture(page, `${name}-${lookName}`);
    const seen = isThorough ? await page.evaluate(appearance) : lookName;
    const isChecked = isWanted && !checked.has(seen);
    checked.add(seen);
    const options = {
      isPartial: !isThorough,
      ...(look.colorScheme === 'dark' ? { rules: rulesOfColour } : {}),
    };
    const found = {
      violations: isChecked ? await violationsOf(page, options) : [],
      overflow: await overflowOf(page),
      crossing: await crossingsOf(page),
    };
    expect({ name, look: lookName, ...found }).toEqual({
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
