/** A real Chromium that walks through the dashboard as a person would. */
import { expect } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.ts';

const root = join(import.meta.dir, '../..');
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');

export type Look = Readonly<{ width: number; height: number; colorScheme: 'light' | 'dark' }>;
export const desktop: Look = { width: 1280, height: 900, colorScheme: 'light' };
const desktopAtNight: Look = { ...desktop, colorScheme: 'dark' };
export const phone: Look = { width: 390, height: 844, colorScheme: 'light' };
const looks = { light: desktop, dark: desktopAtNight, phone };

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error('There is no Chromium. npm test says how to get one.');
  // As root there is no sandbox to be had; the pages are our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return await chromium.launch({ executablePath, args });
}

/** A new person at a new browser. Whatever the pages complain about is an error of theirs, the browser's policy included. */
export async function openPage(browser: Browser, origin: string, look: Look = desktop): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: origin,
    viewport: { width: look.width, height: look.height },
    colorScheme: look.colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`${error}`));
  page.on('console', (message) => {
    // The browser itself says so of every answer that is a refusal, which pages may well expect.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
  });
  return { page, complaints, close: () => context.close() };
}

export type Watched = Readonly<{ page: Page; complaints: string[]; close: () => Promise<void> }>;

type AxeViolation = {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
};

/** What an accessibility checker holds against the page as it is now, of what is serious. */
export async function seriousViolations(page: Page): Promise<string[]> {
  // Evaluated over the debugging protocol, which the page's policy against foreign scripts does not concern.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: { run: (options: object) => Promise<{ violations: AxeViolation[] }> };
    };
    return (await checker.run({ resultTypes: ['violations'] })).violations;
  });
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
  for (const [look, { width, height, colorScheme }] of Object.entries(looks)) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await takePicture(page, `${name}-${look}`);
    const found = { serious: await seriousViolations(page), overflow: await overflowOf(page) };
    expect({ name, look, ...found }).toEqual({ name, look, serious: [], overflow: 0 });
  }
  await page.setViewportSize({ width: desktop.width, height: desktop.height });
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
