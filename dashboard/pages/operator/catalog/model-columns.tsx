import { Badge } from '../../../kit/badge.tsx';
import type { Column } from '../../../kit/table.tsx';
import type { CatalogModel } from './filter-models.ts';

export const modelColumns: readonly Column<CatalogModel>[] = [
  {
    key: 'model',
    header: 'Model',
    isBare: true,
    cell: ({ id, name }) => (
      <span className="block">
        <code className="block font-mono text-[0.8125rem] font-medium">{id}</code>
        {name !== id && <span className="block text-xs text-ink-faint">{name}</span>}
      </span>
    ),
  },
  { key: 'workload', header: 'Workload', cell: ({ workload }) => workload },
  {
    key: 'state',
    header: 'State',
    cell: ({ is_callable: isCallable, is_enabled: isEnabled }) => (
      <Badge tone={isCallable ? 'good' : isEnabled ? 'warn' : 'plain'} hasDot>
        {isCallable ? 'Callable' : 'Not callable'}
      </Badge>
    ),
  },
  {
    key: 'reason',
    header: 'Why not',
    cell: ({ reason }) => reason ?? <span className="text-ink-faint">–</span>,
  },
  {
    key: 'providers',
    header: 'Providers',
    cell: ({ providers }) =>
      providers.length === 0 ? (
        <span className="text-ink-faint">None</span>
      ) : (
        <span className="flex flex-wrap gap-1">
          {providers.map(({ id, is_configured: isConfigured }) => (
            <Badge key={id} tone={isConfigured ? 'plain' : 'warn'}>
              {isConfigured ? id : `${id}: no key`}
            </Badge>
          ))}
        </span>
      ),
  },
];
