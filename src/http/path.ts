/** The path of a request's URL. Not with URL: an invalid Host header would make the whole URL invalid. */
export function pathOf(url: string): string {
  return /^(?:https?:\/\/[^/?#]*)?([^?#]*)/.exec(url)?.[1] ?? '/';
}
