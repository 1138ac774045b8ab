/** The path of a request's URL. Not parsed with URL, because an invalid Host header would make all of it invalid. */
export function pathOf(url: string): string {
  return /^(?:https?:\/\/[^/?#]*)?([^?#]*)/.exec(url)?.[1] ?? '/';
}
