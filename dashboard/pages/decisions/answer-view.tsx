/** One answer: the probability of each option or level, the result, and its confidence. */
import { Check } from 'lucide-react';
import type { DecisionAnswer } from '../../../src/console/contract.ts';
import { Badge } from '../../kit/badge.tsx';
import { classNames } from '../../kit/class-names.ts';
import { Meter } from '../../kit/figures.tsx';
import { formatShare } from '../../kit/format-figures.ts';

export function AnswerView({ name, answer }: Readonly<{ name: string; answer: DecisionAnswer }>) {
  return (
    <section className="space-y-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h3 className="font-mono text-[0.8125rem] font-medium wrap-anywhere">{name}</h3>
        <Verdict answer={answer} />
      </div>
      <AnswerBars answer={answer} />
    </section>
  );
}

function Verdict({ answer }: Readonly<{ answer: DecisionAnswer }>) {
  const confidence =
    answer.type !== 'noul' && answer.confidence !== undefined ? (
      <span className="text-xs text-ink-faint">Confidence {formatShare(answer.confidence)}</span>
    ) : null;
  return (
    <span className="flex flex-wrap items-center gap-2">
      {confidence}
      <Badge tone="accent">{verdictOf(answer)}</Badge>
    </span>
  );
}

function verdictOf(answer: DecisionAnswer): string {
  switch (answer.type) {
    case 'choice':
      return answer.choice;
    case 'noul':
      return `${formatShare(answer.noul)} likely true`;
    case 'score':
      return `${Math.round(answer.score * 100) / 100} of ${Object.keys(answer.legend).length - 1}`;
  }
}

function AnswerBars({ answer }: Readonly<{ answer: DecisionAnswer }>) {
  switch (answer.type) {
    case 'choice':
      return (
        <ul className="space-y-2.5">
          {Object.entries(answer.probabilities).map(([option, share]) => (
            <Bar key={option} label={option} share={share} isChosen={option === answer.choice} />
          ))}
        </ul>
      );
    case 'noul':
      return (
        <ul className="space-y-2.5">
          <Bar label="True" share={answer.noul} isChosen={answer.noul >= 0.5} />
          <Bar label="False" share={1 - answer.noul} isChosen={answer.noul < 0.5} />
        </ul>
      );
    case 'score':
      return (
        <>
          <Scale score={answer.score} legend={answer.legend} />
          <ul className="space-y-2.5">
            {Object.entries(answer.probabilities).map(([level, share]) => (
              <Bar
                key={level}
                label={`${level} · ${answer.legend[level] ?? ''}`}
                share={share}
                isChosen={false}
              />
            ))}
          </ul>
        </>
      );
  }
}

function Bar({ label, share, isChosen }: Readonly<{ label: string; share: number; isChosen: boolean }>) {
  return (
    <li>
      <span className="flex items-baseline justify-between gap-3">
        <span
          className={classNames(
            'inline-flex min-w-0 items-center gap-1.5 wrap-anywhere',
            isChosen ? 'font-medium' : 'text-ink-soft',
          )}
        >
          {label}
          {isChosen && <Check aria-label="chosen" className="size-3.5 shrink-0 text-accent-text" />}
        </span>
        <span className="figures text-[0.8125rem] whitespace-nowrap" title={`${share}`}>
          {formatShare(share)}
        </span>
      </span>
      <Meter
        label={`Probability of ${label}`}
        share={share}
        tone={isChosen ? 'accent' : 'plain'}
        className="mt-1 h-2"
      />
    </li>
  );
}

type ScaleProps = Readonly<{ score: number; legend: Readonly<Record<string, string>> }>;

/** Where the expected level lies between the lowest and the highest. */
function Scale({ score, legend }: ScaleProps) {
  const levels = Object.entries(legend);
  const highest = Math.max(1, levels.length - 1);
  const percent = Math.min(100, Math.max(0, (score / highest) * 100));
  return (
    <div>
      <span aria-hidden className="relative mx-2 block h-6">
        <span className="absolute inset-x-0 top-1/2 h-1 -translate-y-1/2 rounded-full bg-hover" />
        {levels.map(([level], at) => (
          <span
            key={level}
            style={{ left: `${(at / highest) * 100}%` }}
            className="absolute top-1/2 size-1.5 -translate-x-1/2 -translate-y-1/2 rounded-full bg-edge"
          />
        ))}
        <span
          style={{ left: `${percent}%` }}
          className="absolute top-1/2 size-4 -translate-x-1/2 -translate-y-1/2 rounded-full border-2 border-surface bg-accent shadow-card"
        />
      </span>
      <div className="flex justify-between gap-4 text-xs text-ink-faint">
        <span>{levels[0]?.[1]}</span>
        <span className="text-right">{levels.at(-1)?.[1]}</span>
      </div>
    </div>
  );
}
