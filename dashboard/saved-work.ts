/**
 * What someone has written and not sent. It survives a visit to other pages, and its text also a reload and the end of the
 * session, because it is kept in the tab. Signing out forgets it: others may use this browser next.
 */
const prefix = 'tollgate.work.';
/** A browser stores about five million characters per site. */
const maxTextLength = 500_000;

const works = new Map<string, unknown>();

/** `restore` makes the work from the text that was kept in the tab, or from null. */
export function openWork<Work>(key: string, restore: (text: string | null) => Work): Work {
  if (!works.has(key)) works.set(key, restore(readText(key)));
  return works.get(key) as Work;
}

/**
 * Changes open work, and returns the new state. Null if it was forgotten: a late change, such as the end of a response, is
 * then dropped.
 */
export function changeWork<Work>(
  key: string,
  part: Partial<Work>,
  textOf: (work: Work) => string,
): Work | null {
  if (!works.has(key)) return null;
  const work = { ...(works.get(key) as Work), ...part };
  works.set(key, work);
  const text = textOf(work);
  try {
    if (text.length <= maxTextLength) sessionStorage.setItem(prefix + key, text);
  } catch {
    // If the browser's storage is full, it lasts until the page is closed.
  }
  return work;
}

export function forgetWork(): void {
  works.clear();
  try {
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(prefix)) sessionStorage.removeItem(name);
    }
  } catch {}
}

function readText(key: string): string | null {
  try {
    return sessionStorage.getItem(prefix + key);
  } catch {
    return null;
  }
}
