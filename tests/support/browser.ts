/** A real Chromium that walks through the dashboard as a person would. */
import { expect } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type ConsoleMessage, chromium, type Locator, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.ts';

export type Look = Readonly<{ width: number; height: number; colorScheme: 'light' | 'dark' }>;
export const desktop: Look = { width: 1440, height: 900, colorScheme: 'light' };
export const phone: Look = { width: 390, height: 844, colorScheme: 'light' };
/** Where pictures of the pages go, if anywhere. */
export const pictureFolder = process.env.TOLLGATE_PICTURES;

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

export async function take(page: Page, { width, height, colorScheme }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height });
}

export type Watched = Readonly<{ page: Page; complaints: string[]; close: () => Promise<void> }>;

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
