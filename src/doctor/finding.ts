/** `good` needs nothing, a `warning` should be looked at, with a `problem` the gateway does not work. */
export type Level = 'good' | 'warning' | 'problem';

export type Finding = Readonly<{
  /** What was looked at, in a word or two. */
  about: string;
  level: Level;
  text: string;
  /** What to do; null when there is nothing to do. */
  remedy: string | null;
}>;

export function good(about: string, text: string): Finding {
  return { about, level: 'good', text, remedy: null };
}

export function warning(about: string, text: string, remedy: string): Finding {
  return { about, level: 'warning', text, remedy };
}

export function problem(about: string, text: string, remedy: string | null): Finding {
  return { about, level: 'problem', text, remedy };
}

/** The name that the system or a library has for an error. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code) return String(error.code);
  return error instanceof Error ? error.name : 'unknown';
}
