/** A real Chromium that walks through the dashboard as a person would. */
import { expect } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type ConsoleMessage, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.ts';

const root = join(import.meta.dir, '../..');
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

export type Look = Readonly<{ width: number; height: number; colorScheme: 'light' | 'dark' }>;
export const desktop: Look = { width: 1280, height: 900, colorScheme: 'light' };
const desktopAtNight: Look = { ...desktop, colorScheme: 'dark' };
export const phone: Look = { width: 390, height: 844, colorScheme: 'light' };
const looks = { light: desktop, dark: desktopAtNight, phone };
/** All that the dark scheme can make different: it changes colours, and neither the elements nor where they stand. */
const rulesOfColour = ['color-contrast', 'link-in-text-block'];

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error('There is no Chromium. npm test says how to get one.');
  // As root there is no sandbox to be had; the pages are our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return await chromium.launch({ executablePath, args });
}

/** Tabs that nobody uses now, by the address of their gateway. */
const idlePages = new WeakMap<Browser, Map<string, Page[]>>();

/**
 * A new person at a new browser. The tab may be one that was used before, without anything that is stored in it: a new
 * one has to be started and the code of the pages compiled, which takes longer than most tests. Whatever the pages
 * complain about is an error of theirs, the browser's policy included.
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
    // The browser itself says so of every answer that is a refusal, which pages may well expect.
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

/** For a machine that has much else to do. */
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

/** Goes where no page can store anything again, and leaves nothing of what they have stored. */
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
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
};

/** What an accessibility checker holds against the page as it is now, of what is serious. By default it tries every rule. */
export async function seriousViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated over the debugging protocol, which the page's policy against foreign scripts does not concern.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  // Only experimental rules, which are off, look into the style sheets that it would otherwise load for them.
  const options = {
    resultTypes: ['violations'],
    preload: false,
    // The HTML of an element is named instead of how to find it, which takes a tenth of the time to work out.
    selectors: false,
    ...(rules === undefined ? {} : { runOnly: [...rules] }),
  };
  const violations = await page.evaluate(async (given) => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run: (options: object) => Promise<{ violations: AxeViolation[] }> };
    };
    return (await checker.run(given)).violations;
  }, options);
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}

/** Whether anything makes the page wider than the window, which on a phone means scrolling sideways. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Looks at what is on the screen by day, at night and on a phone, and leaves it as it was on a desktop. */
export async function checkLooks(page: Page, name: string): Promise<void> {
  for (const [lookName, look] of Object.entries(looks)) {
    await take(page, look);
    await takePicture(page, `${name}-${lookName}`);
    const rules = look === desktopAtNight ? rulesOfColour : undefined;
    const found = { serious: await seriousViolations(page, rules), overflow: await overflowOf(page) };
    expect({ name, look: lookName, ...found }).toEqual({ name, look: lookName, serious: [], overflow: 0 });
  }
  await take(page, desktop);
}

/**
 * Goes to a place within the app, as a link would. Loading the app again takes several times as long, and is for tests
 * of what a page shows when it is loaded, or of data that changed behind the back of the app. The page must have a
 * title, and be another route than the one that is left.
 */
export async function visit(page: Page, path: string): Promise<void> {
  await page.locator('h1').first().waitFor();
  // The title of the page that is left is marked, so that nothing is looked for before the next page is there.
  await page.evaluate(
    `document.querySelector('h1')?.setAttribute('data-left', ''); history.pushState({}, '', ${JSON.stringify(path)})`,
  );
  await page.locator('h1:not([data-left])').first().waitFor();
}

/** When everything that was asked for has come, and nothing stands in its place any more. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('.animate-breathe').first().waitFor({ state: 'detached' });
}

const pictureFolder = process.env.TOLLGATE_PICTURES;

/** Keeps a picture of the page, for people who look, when the environment names a folder for them. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (pictureFolder === undefined) return;
  mkdirSync(pictureFolder, { recursive: true });
  await page.screenshot({ path: join(pictureFolder, `${name}.png`), fullPage: true });
}

export function expectNoComplaints({ complaints }: Watched): void {
  expect(complaints).toEqual([]);
}
