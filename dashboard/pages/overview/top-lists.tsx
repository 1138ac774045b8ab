/** What of an account was used most in a range. */
import { Link } from '@tanstack/react-router';
import { ModelMark } from '../../kit/model-mark.tsx';
import { keyLink, modelLink } from '../../links.ts';
import { useTop } from '../home/queries.ts';
import { TopTable, topLimit } from '../home/top-table.tsx';
import { type HomeView, inExplorer } from '../home/view.ts';
import { useScope } from '../requests/scope.ts';

/** Two tables share a line, so long names are cut off. */
const nameClass =
  'rounded font-medium wrap-anywhere hover:underline hover:underline-offset-2 md:inline-block md:max-w-full md:truncate xl:max-w-60 md:align-bottom';

export function TopKeys({ range, view }: HomeView) {
  const scope = useScope();
  return (
    <TopTable
      title="Top keys"
      header="Key"
      query={useTop(view, 'key', 'cost', topLimit)}
      name={({ value, name }) => (
        <Link {...keyLink(value ?? '')} title={name ?? undefined} className={nameClass}>
          {name}
        </Link>
      )}
      requestsOf={(key) => inExplorer(scope, range, { key })}
      all={{ to: '/keys', label: 'All keys' }}
    />
  );
}

export function TopModels({ range, view }: HomeView) {
  const scope = useScope();
  return (
    <TopTable
      title="Top models"
      header="Model"
      query={useTop(view, 'model', 'cost', topLimit)}
      name={({ value }) => (
        <Link {...modelLink(value ?? '')} title={value ?? undefined} className={nameClass}>
          <ModelMark model={value ?? ''} />
          {value}
        </Link>
      )}
      requestsOf={(model) => inExplorer(scope, range, { model })}
      all={{ to: '/models', label: 'All models' }}
    />
  );
}
