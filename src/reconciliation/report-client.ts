/**
 * Asks a provider for pages of its report of costs, within bounds on time, pages, bytes and values. The key is sent in a
 * header, redirects are not followed, and nothing of an error's body is read.
 */
import { JsonLimitError, parseBoundedJson } from '../json/bounded.ts';
import { backOffMs } from '../lib/back-off.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import { readText, UnreadableError } from '../providers/http.ts';
import { BillError, type BillPage } from './bill.ts';
import type { Report, ReportQuery } from './report.ts';
import { unreadable } from './report-fields.ts';

export type ReportLimits = Readonly<{
  /** For one page, and for all of them with the pauses between them. */
  pageMs: number;
  totalMs: number;
  maxPages: number;
  maxLines: number;
  maxPageBytes: number;
  /** How often a page is asked for again. */
  maxRetries: number;
  firstPauseMs: number;
}>;

export const defaultLimits: ReportLimits = {
  pageMs: 30_000,
  totalMs: 300_000,
  maxPages: 500,
  maxLines: 200_000,
  maxPageBytes: 16 * 1024 * 1024,
  maxRetries: 4,
  firstPauseMs: 1_000,
};

const jsonLimits = { depth: 16, values: 1_000_000, keys: 10_000 };
/** A longer pause is left to the next run. */
const maxPauseSeconds = 60;

/** All pages of one query, in order. Throws a BillError. */
export async function readPages(
  report: Report,
  query: ReportQuery,
  limits: ReportLimits,
  stop: AbortSignal,
): Promise<BillPage[]> {
  const ended = AbortSignal.any([stop, AbortSignal.timeout(limits.totalMs)]);
  const pages: BillPage[] = [];
  const seen = new Set<string>();
  let lineCount = 0;
  for (let cursor: string | null = null; ; ) {
    const page = report.readPage(await askPatiently(report, query, cursor, limits, ended), query.filters);
    pages.push(page);
    lineCount += page.lines.length;
    if (page.next === null) return pages;
    if (seen.has(page.next)) throw unreadable('its pages lead in a circle');
    if (pages.length >= limits.maxPages || lineCount >= limits.maxLines)
      throw unreadable('it is too long. Ask for fewer days');
    seen.add(page.next);
    cursor = page.next;
  }
}

/** Waits and asks again where that may help. */
async function askPatiently(
  report: Report,
  query: ReportQuery,
  cursor: string | null,
  limits: ReportLimits,
  ended: AbortSignal,
): Promise<unknown> {
  for (let retries = 0; ; retries += 1) {
    const answer = await ask(report, query, cursor, limits, ended);
    if ('value' in answer) return answer.value;
    const pauseMs = answer.pauseMs ?? backOffMs(retries, limits.firstPauseMs, maxPauseSeconds * 1000);
    if (!answer.isPassing || retries >= limits.maxRetries || pauseMs > maxPauseSeconds * 1000)
      throw answer.error;
    await pause(pauseMs, ended);
    if (ended.aborted) throw answer.error;
  }
}

type Answer =
  | Readonly<{ value: unknown }>
  | Readonly<{ error: BillError; isPassing: boolean; pauseMs: number | null }>;

async function ask(
  report: Report,
  query: ReportQuery,
  cursor: string | null,
  { pageMs, maxPageBytes }: ReportLimits,
  ended: AbortSignal,
): Promise<Answer> {
  const { url, headers } = report.request(query, cursor);
  const signal = AbortSignal.any([ended, AbortSignal.timeout(pageMs)]);
  try {
    const response = await fetch(url, {
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity' },
      redirect: 'manual',
      decompress: false,
      signal,
    });
    if (response.status === 200) return { value: parse(await readText(response, maxPageBytes, null)) };
    await response.body?.cancel();
    const seconds = readRetryAfter(response.headers.get('retry-after'), Date.now());
    return {
      error: refusal(response.status),
      isPassing: response.status === 429 || response.status >= 500,
      pauseMs: seconds === null ? null : seconds * 1000,
    };
  } catch (error) {
    if (error instanceof BillError) throw error;
    if (error instanceof UnreadableError) throw unreadable('it is too large, or not text');
    return {
      error: new BillError(`${url.host} ${explainSilence(signal)}.`),
      isPassing: !ended.aborted,
      pauseMs: null,
    };
  }
}

function explainSilence({ aborted, reason }: AbortSignal): string {
  if (!aborted) return 'cannot be reached';
  const isLate = reason instanceof Error && reason.name === 'TimeoutError';
  return isLate ? 'did not answer in time' : 'was not read to the end, because the gateway stopped';
}

/** Every number as its text, so that no digit of an amount is lost. */
function parse(text: string): unknown {
  try {
    return parseBoundedJson(text, jsonLimits, () => keepText).value;
  } catch (error) {
    throw unreadable(error instanceof JsonLimitError ? 'it holds too much' : 'it is not JSON');
  }
}

const keepText = (_name: string, value: unknown, { source }: { source: string }): unknown =>
  typeof value === 'number' ? source : value;

function refusal(status: number): BillError {
  return new BillError(explain(status), status);
}

function explain(status: number): string {
  if (status === 401)
    return 'The provider rejects the admin key (401). Check the variable that admin_key_env names.';
  if (status === 403)
    return 'The provider does not show its report to this key (403). It has to be an admin key of the organisation.';
  if (status === 400)
    return 'The provider rejects the query (400). Check the IDs under cost_report in the catalogue, and the days.';
  if (status === 404) return 'The provider has no report at this address (404). Check base_url.';
  if (status === 429) return 'The provider limits how often its report may be read (429). Try again later.';
  return `The provider answers with status ${status} instead of its report.`;
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      ended.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    ended.addEventListener('abort', end);
    if (ended.aborted) end();
  });
}
