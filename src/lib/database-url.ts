/** URLs of PostgreSQL, which may name several hosts: postgres://user:password@first:5432,second:5433/database */

/** One URL per host, in their order; null for anything else. The URL may contain a password, so no message repeats it. */
export function urlsOfHosts(text: string): string[] | null {
  const match = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text);
  if (match === null) return null;
  const [, scheme = '', authority = '', rest = ''] = match;
  const at = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(at).split(',');
  const urls = hosts.map((host) => `${scheme}${authority.slice(0, at)}${host.trim()}${rest}`);
  const isComplete = hosts.length === 1 || hosts.every((host) => host.trim() !== '');
  return isComplete && urls.every((url) => URL.canParse(url)) ? urls : null;
}
