/** A gateway, people who have signed in to it, and a browser to look at its dashboard with. */
import type { Browser } from 'playwright-core';
import { desktop, type Look, openBrowser, openPage, type Watched } from './browser.ts';
import { type ConsoleFixture, openConsoleFixture, type Person } from './console-fixture.ts';

export type DashboardFixture = ConsoleFixture &
  Readonly<{
    browser: Browser;
    /** A new browser in which this person is signed in already, at this place. */
    enter: (person: Person, path: string, options?: EnterOptions) => Promise<Watched>;
  }>;

/** `origin` may be that of another gateway on the same database. */
type EnterOptions = Readonly<{ look?: Look; origin?: string }>;

export async function openDashboardFixture(
  ...options: Parameters<typeof openConsoleFixture>
): Promise<DashboardFixture> {
  const [fixture, browser] = await Promise.all([openConsoleFixture(...options), openBrowser()]);
  const enter: DashboardFixture['enter'] = async (person, path, options = {}) => {
    const { look = desktop, origin = fixture.gateway.origin } = options;
    const watched = await openPage(browser, origin, look);
    await watched.page.context().addCookies(cookiesOf(fixture.people[person].cookie, origin));
    await watched.page.goto(path);
    return watched;
  };
  const close = async () => {
    await browser.close();
    await fixture.close();
  };
  return { ...fixture, browser, enter, close };
}

export function cookiesOf(header: string, url: string) {
  return header
    .split('; ')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      return { name: pair.slice(0, at), value: pair.slice(at + 1), url };
    });
}
