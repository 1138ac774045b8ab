/** Whether the catalogue can be used, and whether each provider accepts its key: asking for its models costs nothing. */
import type { Config } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { callableModels, hasEndpoint } from '../models/access.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import type { Adapter, Catalog, Provider } from '../models/model.ts';
import { readProviderKey } from '../models/provider-key.ts';
import { soldBelowCostIn } from '../models/review.ts';
import { codeOf, type Finding, good, problem, warning } from './finding.ts';

const maxProblems = 10;
const maxAtOnce = 16;
/** Someone who tries the demo has no keys at all, and the catalogue names ten providers. */
const maxNamed = 2;

type Settings = Pick<Config, 'catalogFile' | 'secret'>;
type Callee = Readonly<{ provider: Provider; baseUrl: string; apiKey: string | null }>;

export async function examineCatalog(
  { catalogFile, secret }: Settings,
  isOffline: boolean,
  patienceMs: number,
): Promise<Finding[]> {
  const { result, isRead } = await readCatalogFile(catalogFile);
  if (!result.ok) {
    // The message about a missing file ends with what to do.
    const remedy = isRead ? 'Correct the file and check it: tollgate catalog check' : null;
    return [problem('catalogue', linesOf(result.problems), remedy)];
  }
  const { catalog } = result;
  const keys = readKeys(catalog, secret);
  const isProviderConfigured = ({ id, apiKeyEnv }: Provider) => apiKeyEnv === null || keys.found.has(id);
  const listed = callableModels(catalog, { allowedModels: null, isProviderConfigured });
  const callable = listed.filter((model) => hasEndpoint(model)).length;
  const providers = [...catalog.providers.values()];
  const callees = providers
    .filter(isProviderConfigured)
    .flatMap((provider) =>
      provider.baseUrl === null
        ? []
        : [{ provider, baseUrl: provider.baseUrl, apiKey: keys.found.get(provider.id) ?? null }],
    );
  return [
    judgeModels(catalog, callable),
    ...judgePrices(catalog),
    ...keys.problems,
    ...missingKeys(
      providers.filter((provider) => !isProviderConfigured(provider) && !keys.unusable.has(provider.id)),
    ),
    ...(isOffline ? [] : await askAll(callees, patienceMs)),
  ];
}

function judgeModels({ models, priceVersion }: Catalog, callable: number): Finding {
  const text = `${callable} of ${models.size} models can be called, price version ${priceVersion}`;
  if (callable > 0) return good('catalogue', text);
  return problem(
    'catalogue',
    `${text}.`,
    'A model needs a price, enabled: true, and a provider whose key is set.',
  );
}

function judgePrices(catalog: Catalog): Finding[] {
  const warnings = soldBelowCostIn(catalog);
  if (warnings.length === 0) return [];
  return [
    warning(
      'prices',
      linesOf(warnings),
      'Raise the price or correct the cost of these models in the catalogue.',
    ),
  ];
}

function linesOf(texts: readonly string[]): string {
  const rest = texts.length - maxProblems;
  return [...texts.slice(0, maxProblems), ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n');
}

/** A key whose file cannot be read, or that cannot be the provider's, is a separate problem. */
function readKeys(catalog: Catalog, secret: Settings['secret']) {
  const found = new Map<string, string>();
  const unusable = new Set<string>();
  const problems: Finding[] = [];
  for (const { id, name, apiKeyEnv } of catalog.providers.values()) {
    if (apiKeyEnv === null) continue;
    try {
      const { key, problem: unfit } = readProviderKey(apiKeyEnv, name, secret);
      if (key !== null) found.set(id, key);
      if (unfit === null) continue;
      unusable.add(id);
      problems.push(problem(`provider ${id}`, unfit.text, unfit.remedy));
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      problems.push(problem(`provider ${id}`, error.message, null));
    }
  }
  return { found, unusable, problems };
}

function missingKeys(providers: readonly Provider[]): Finding[] {
  if (providers.length === 0) return [];
  const names = providers.slice(0, maxNamed).map(({ id, apiKeyEnv }) => `${id} (${apiKeyEnv})`);
  const rest = providers.length - names.length;
  return [
    warning(
      'provider keys',
      `Not set for ${names.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}.`,
      'Needed only for the models of these providers. api_key_env in the catalogue names the variables.',
    ),
  ];
}

async function askAll(callees: readonly Callee[], patienceMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (let first = 0; first < callees.length; first += maxAtOnce)
    findings.push(
      ...(await Promise.all(
        callees.slice(first, first + maxAtOnce).map((callee) => ask(callee, patienceMs)),
      )),
    );
  return findings;
}

async function ask(callee: Callee, patienceMs: number): Promise<Finding> {
  const { provider, baseUrl, apiKey } = callee;
  const about = `provider ${provider.id}`;
  const startedAt = performance.now();
  try {
    const { query, headers } = requestFor(provider.adapter, apiKey);
    const response = await fetch(`${baseUrl}/models${query}`, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.body?.cancel();
    const tookMs = Math.round(performance.now() - startedAt);
    return judgeStatus(about, response.status, tookMs, provider.apiKeyEnv);
  } catch (error) {
    const host = new URL(baseUrl).host;
    const text =
      error instanceof Error && error.name === 'TimeoutError'
        ? `${host} did not answer within ${patienceMs / 1000} s.`
        : `${host} cannot be reached (${codeOf(error)}).`;
    return problem(
      about,
      text,
      'Check base_url in the catalogue, and whether this machine can reach that address.',
    );
  }
}

function requestFor(adapter: Adapter, apiKey: string | null) {
  if (adapter === 'anthropic')
    return {
      query: '?limit=1',
      headers: { 'anthropic-version': '2023-06-01', ...(apiKey === null ? {} : { 'x-api-key': apiKey }) },
    };
  if (adapter === 'google')
    return { query: '?pageSize=1', headers: apiKey === null ? {} : { 'x-goog-api-key': apiKey } };
  return { query: '', headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` } };
}

/** Some providers answer 400 to a key that they do not know, and the request itself is always the same. */
export function judgeStatus(about: string, status: number, tookMs: number, keyName: string | null): Finding {
  const key = keyName ?? 'the key';
  if (status >= 200 && status < 300)
    return good(about, `${keyName === null ? 'answers' : `accepts ${keyName}`} (${tookMs} ms)`);
  if (status === 400 || status === 401 || status === 403)
    return problem(
      about,
      `It rejects ${key} (${status}).`,
      `Check ${key}, and its permissions at the provider.`,
    );
  if (status === 402)
    return problem(about, 'It requires payment (402).', 'Add credit to your account there.');
  if (status === 429)
    return warning(
      about,
      'It is limiting requests, or your quota is used up (429).',
      'Check your limits there.',
    );
  if (status === 404 || status === 405)
    return warning(
      about,
      `It answers, but has no list of models to check ${key} with (${status}).`,
      'Check base_url in the catalogue, or try a call through tollgate serve.',
    );
  return warning(about, `It answers with status ${status}.`, 'Try again later, or check its status page.');
}
