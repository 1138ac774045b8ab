/** Values that this browser remembers. Where it refuses to store them, they last until the page is closed. */
const unstored = new Map<string, string>();

export function readStored(key: string): string | null {
  // A browser may allow reading but not writing, as when its storage is full. Then the value in memory is newer.
  const value = unstored.get(key);
  if (value !== undefined) return value;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeStored(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
    unstored.delete(key);
  } catch {
    unstored.set(key, value);
  }
}

export function removeStored(key: string): void {
  unstored.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {}
}
