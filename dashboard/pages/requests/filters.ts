/** The filters of the explorer: what they are called, and which values they take. */
import type { RequestApi, RequestGrouping, RequestStatus } from '../../../src/console/request-contract.ts';

type Option = Readonly<{ value: string; label: string }>;

export type FilterKind = Readonly<{
  name: string;
  label: string;
  /** Where the values are few and known. */
  options?: readonly Option[];
  /** Where those in the range can be listed. */
  groupedBy?: RequestGrouping;
  /** How a value is typed, where it can be. */
  placeholder?: string;
  isForOperators?: boolean;
}>;

const yesOrNo: readonly Option[] = [
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'No' },
];

const statusLabels: Readonly<Record<RequestStatus, string>> = {
  in_progress: 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  refused: 'Refused',
};

const apiLabels: Readonly<Record<RequestApi, string>> = {
  chat_completions: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
  images: 'Images',
};

export function labelOfStatus(status: RequestStatus): string {
  return statusLabels[status];
}

export function labelOfApi(api: RequestApi): string {
  return apiLabels[api];
}

function optionsOf(labels: Readonly<Record<string, string>>): Option[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}

// biome-ignore format: one line per filter makes this table readable.
export const filterKinds: readonly FilterKind[] = [
  { name: 'status', label: 'Status', options: optionsOf(statusLabels) },
  { name: 'error_code', label: 'Error code', groupedBy: 'error_code', placeholder: 'insufficient_balance' },
  { name: 'model', label: 'Model', groupedBy: 'model', placeholder: 'The name of a model' },
  { name: 'key', label: 'Key', groupedBy: 'key', placeholder: 'The ID of a key' },
  { name: 'account', label: 'Account', groupedBy: 'account', placeholder: 'The ID of an account', isForOperators: true },
  { name: 'provider', label: 'Provider', groupedBy: 'provider', placeholder: 'The name of a provider' },
  { name: 'api', label: 'API', options: optionsOf(apiLabels) },
  { name: 'end_user', label: 'End user', placeholder: 'The exact name' },
  { name: 'tag', label: 'Tag', placeholder: 'name=value' },
  { name: 'session', label: 'Session', placeholder: 'Its exact name' },
  { name: 'streamed', label: 'Streamed', options: yesOrNo },
  { name: 'fallback', label: 'Fallback', options: yesOrNo },
  { name: 'min_cost', label: 'Minimum cost', placeholder: 'In USD, such as 0.05' },
  { name: 'min_duration_ms', label: 'Minimum duration', placeholder: 'In milliseconds, such as 5000' },
];

const byName = new Map(filterKinds.map((kind) => [kind.name, kind]));

/** Undefined for a name that the gateway does not know either: its error says so. */
export function filterKindOf(name: string): FilterKind | undefined {
  return byName.get(name);
}

export function filterKindsFor(isOperator: boolean): readonly FilterKind[] {
  return filterKinds.filter(({ isForOperators = false }) => isOperator || !isForOperators);
}

/** `names` has those of keys and accounts, by their IDs. */
export function describeFilter(
  { name, value }: Readonly<{ name: string; value: string }>,
  names: ReadonlyMap<string, string>,
): Readonly<{ label: string; text: string }> {
  const kind = filterKindOf(name);
  if (kind === undefined) return { label: name, text: value };
  if (name === 'min_cost') return { label: 'Cost', text: `at least $${value}` };
  if (name === 'min_duration_ms') return { label: 'Duration', text: `at least ${value} ms` };
  const text = kind.options?.find((option) => option.value === value)?.label ?? names.get(value) ?? value;
  return { label: kind.label, text };
}
