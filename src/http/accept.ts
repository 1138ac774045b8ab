/** The quality of each item in an Accept or Accept-Encoding header, from 0 to 1. One that is not a number counts as 0. */
function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    if (name !== '') weights.set(name, weight >= 0 && weight <= 1 ? weight : 0);
  }
  return weights;
}

export function acceptsGzip(header: string | null): boolean {
  const weights = weightsOf(header ?? '');
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Only if it is named: what is not listed may be an old program that takes anything. */
export function acceptsBrotli(header: string | null): boolean {
  return (weightsOf(header ?? '').get('br') ?? 0) > 0;
}

/** Browsers name text/html. Programs that accept anything get JSON. */
export function prefersPage(header: string | null): boolean {
  const weights = weightsOf(header ?? '');
  const page = weights.get('text/html') ?? 0;
  return page > 0 && page >= (weights.get('application/json') ?? 0);
}
