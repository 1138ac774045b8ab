/** Failed settlements, and the audit. */
import { Card } from '../../../kit/card.tsx';
import { Page } from '../../../kit/page.tsx';
import { ErrorState } from '../../../kit/states.tsx';
import { useDeadLetters } from '../operator-query.ts';
import { AuditCard } from './audit-card.tsx';
import { DeadLettersCard } from './dead-letters-card.tsx';

export function OperatorLedgerPage() {
  const letters = useDeadLetters();
  return (
    <Page title="Ledger" description="Audit the ledger, and look at what could not be settled.">
      {letters.data !== undefined && <DeadLettersCard letters={letters.data} />}
      {letters.data === undefined && letters.isError && (
        <Card title="Failed settlements">
          <ErrorState error={letters.error} onRetry={letters.refetch} />
        </Card>
      )}
      <AuditCard />
    </Page>
  );
}
