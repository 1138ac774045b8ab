/** What is checked from time to time, and what it said last. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OperatorHome } from '../../../../src/console/home-contract.ts';
import { signOfMoney, subtractMoney } from '../../../kit/amounts.ts';
import { StatusBadge } from '../../../kit/badge.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatCount, formatDay } from '../../../kit/format-figures.ts';
import { SkeletonLines } from '../../../kit/states.tsx';
import { countOfOutside } from './concerns.ts';

export function Checks({ home }: Readonly<{ home: OperatorHome | undefined }>) {
  return (
    <Card title="Checks">
      {home === undefined ? (
        <SkeletonLines count={4} />
      ) : (
        <Facts>
          <Fact name={<Name to="/operator/nodes">Nodes</Name>}>
            {formatCount(home.nodes.alive)} live
            {home.nodes.lost > 0 && <span className="text-warn">, {formatCount(home.nodes.lost)} lost</span>}
          </Fact>
          <Fact name={<Name to="/operator/catalog">Price list</Name>}>
            {home.nodes.price_versions.join(', ') || 'Not reported yet'}
          </Fact>
          <Fact name={<Name to="/operator/ledger">Last audit</Name>}>
            <LastAudit audit={home.audit} />
          </Fact>
          <Fact name={<Name to="/operator/ledger">Failed settlements</Name>}>
            {formatCount(home.failed_settlements.count)}
          </Fact>
          {home.reconciliation.length === 0 ? (
            <Fact name={<Name to="/operator/reconciliation">Reconciliation</Name>}>
              No bill was compared yet
            </Fact>
          ) : (
            home.reconciliation.map((bill) => (
              <Fact
                key={bill.provider}
                name={<Name to="/operator/reconciliation">Bill of {bill.provider}</Name>}
              >
                <LastBill bill={bill} />
              </Fact>
            ))
          )}
        </Facts>
      )}
    </Card>
  );
}

type NameProps = Readonly<{
  to: '/operator/nodes' | '/operator/catalog' | '/operator/ledger' | '/operator/reconciliation';
  children: ReactNode;
}>;

function Name({ to, children }: NameProps) {
  return (
    <Link to={to} className={textLinkClass}>
      {children}
    </Link>
  );
}

function LastAudit({ audit }: Pick<OperatorHome, 'audit'>) {
  if (audit === null) return 'Never';
  return (
    <span className="inline-flex flex-wrap items-center justify-end gap-2">
      <StatusBadge status={audit.state} />
      <Time at={audit.finished_at ?? audit.started_at} style="distance" />
    </span>
  );
}

function Difference({ amount }: Readonly<{ amount: string }>) {
  const isBelow = signOfMoney(amount) < 0;
  return (
    <>
      <Money amount={isBelow ? subtractMoney('0', amount) : amount} isTotal /> {isBelow ? 'below' : 'above'}{' '}
      the metered cost
    </>
  );
}

function LastBill({ bill }: Readonly<{ bill: OperatorHome['reconciliation'][number] }>) {
  return (
    <>
      {formatDay(bill.day)}:{' '}
      {bill.difference === null ? (
        'no bill yet'
      ) : bill.is_preliminary ? (
        'preliminary'
      ) : bill.days_outside === 0 ? (
        'within the tolerance'
      ) : (
        <span className="text-warn">
          <Difference amount={bill.difference} />, {countOfOutside(bill)}{' '}
          {bill.days_outside === 1 ? 'differs' : 'differ'}
        </span>
      )}
    </>
  );
}
