/** What a client accepts, by the headers `Accept` and `Accept-Encoding`. */

/** How much each thing is wanted, from 0 (not at all) to 1. What is not a number counts as not wanted. */
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

/** Browsers ask for a page by name. Programs that take anything are given JSON. */
export function prefersPage(header: string | null): boolean {
  const weights = weightsOf(header ?? '');
  const page = weights.get('text/html') ?? 0;
  return page > 0 && page >= (weights.get('application/json') ?? 0);
}
