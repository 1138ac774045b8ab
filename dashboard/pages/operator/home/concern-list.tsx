import { Link } from '@tanstack/react-router';
import { Card } from '../../../kit/card.tsx';
import { classNames } from '../../../kit/class-names.ts';
import type { Concern } from './concerns.ts';

/** One line each, and the whole line leads to where it is shown. */
export function ConcernList({ concerns }: Readonly<{ concerns: readonly Concern[] }>) {
  return (
    <Card title="Needs attention" isFlush>
      {concerns.length === 0 ? (
        <p className="py-3 text-ink-faint">Nothing. Everything that is watched is as it should be.</p>
      ) : (
        <ul className="isolate divide-y divide-line">
          {concerns.map(({ key, tone, title, text, link }) => (
            <li
              key={key}
              className="relative flex items-baseline gap-2.5 py-2 before:absolute before:inset-y-0 before:-inset-x-2 before:-z-10 hover:before:bg-hover"
            >
              <span
                aria-hidden
                className={classNames(
                  'size-2 shrink-0 rounded-full',
                  tone === 'bad' ? 'bg-bad-solid' : 'bg-chart-3',
                )}
              />
              <p className="min-w-0 wrap-anywhere">
                <Link {...link} className="rounded font-medium after:absolute after:inset-0">
                  {title}
                </Link>{' '}
                <span className="text-ink-soft">{text}</span>
              </p>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
