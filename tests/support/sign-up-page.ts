/** What a new customer does on the first pages, and what there is to call. */
import type { Page } from 'playwright-core';
import { type MailServer, textOf } from './mail-server.ts';

/** `url` is that of the sandbox, whose key is in MAIN_KEY. */
export const smallAndGrand = (url: string) => `
price_version: "1"
providers:
  sandbox: { name: Sandbox, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY }
models:
  grand: { workload: chat, pricing: { billing_type: token, input: "10", output: "20" }, providers: [sandbox] }
  small: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [sandbox] }
`;

export const newPassword = 'correct horse battery';

export async function signUp(page: Page, email: string): Promise<void> {
  await page.goto('/sign-up');
  await page.getByLabel('Name').fill('Ann Example');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(newPassword);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
}

/** The path of the link in the next mail to this address. */
export async function verificationLink(mail: MailServer, email: string): Promise<string> {
  const [, path] = /(\/verify-email#token=[\w-]{43})\b/.exec(textOf(await mail.next(email))) ?? [];
  if (path === undefined) throw new Error('The mail has no link.');
  return path;
}

/** Returns its secret. */
export async function createKey(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('First');
  await page.getByRole('button', { name: 'Create key' }).click();
  const secret = await page.getByTestId('secret').innerText();
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  return secret;
}
