/** Whether someone was signed in with this browser and did not sign out, for a session that ends by itself or elsewhere. */
const place = 'tollgate.signed-in';

/** A browser that keeps nothing knows it at least as long as the page is open. */
let isKnown = false;

export function rememberSignedIn(): void {
  isKnown = true;
  try {
    localStorage.setItem(place, 'yes');
  } catch {}
}

export function forgetSignedIn(): void {
  isKnown = false;
  try {
    localStorage.removeItem(place);
  } catch {}
}

export function wasSignedIn(): boolean {
  try {
    return isKnown || localStorage.getItem(place) !== null;
  } catch {
    return isKnown;
  }
}
