/** A request as a shell command, ready to be pasted. */
import type { Parameter } from '../endpoints/endpoint.ts';

type CurlRequest = Readonly<{
  method: string;
  /** With the origin and placeholders for path parameters. */
  url: string;
  parameters: readonly Parameter[];
  body: unknown;
}>;

export function curl({ method, url, parameters, body }: CurlRequest): string {
  const isStream = typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
  const lines = [
    `curl ${isStream ? '-N ' : ''}${quotedIfNeeded(withParameters(url, parameters))}`,
    '-H "Authorization: Bearer $OPENAI_API_KEY"',
    ...parameters
      .filter((parameter) => parameter.in === 'header' && parameter.required)
      .map(({ name, example }) => `-H "${name}: ${String(example)}"`),
    ...(method === 'post'
      ? [
          '-H "Content-Type: application/json"',
          `-d ${singleQuoted(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`,
        ]
      : []),
  ];
  return lines.join(' \\\n  ');
}

/** Only path and query parameters that have an example. */
function withParameters(url: string, parameters: readonly Parameter[]): string {
  const shown = parameters.filter(({ example }) => example !== undefined);
  const path = shown
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), url);
  const query = shown
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

function quotedIfNeeded(url: string): string {
  return /[?&{}]/.test(url) ? `"${url}"` : url;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
