/** A button for files of everything in a range: owners get their own account, operators one account or all of them. */
import { Download, FileDown } from 'lucide-react';
import { useState } from 'react';
import type { ExportFormat, ExportName } from '../../../src/console/contract.ts';
import { addressOf } from '../../api/client.ts';
import { accountPath, useAccount } from '../../api/session.ts';
import { AnchorButton, Button } from '../../kit/button.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Field, FieldGroup, Input, Select } from '../../kit/field.tsx';
import { operatorPath } from '../operator/operator-query.ts';
import { addDays, dayOf } from '../usage/range-picker.tsx';

type ExportedProps = Readonly<{ name: ExportName }>;

/** Members who are not owners see no button. */
export function AccountExportButton({ name }: ExportedProps) {
  const { id, role, name: accountName } = useAccount();
  if (role === 'member') return null;
  return (
    <ExportButton
      name={name}
      whose={accountName}
      addressFor={(chosen, query) => addressOf(accountPath(id, 'exports', chosen), query)}
    />
  );
}

/** Of all accounts, unless one is named. */
export function OperatorExportButton({
  name,
  account,
}: ExportedProps & Readonly<{ account?: Readonly<{ id: string; name: string }> }>) {
  return (
    <ExportButton
      name={name}
      whose={account?.name ?? 'All accounts'}
      addressFor={(chosen, query) =>
        addressOf(operatorPath('exports', chosen), { ...query, account: account?.id })
      }
    />
  );
}

type ExportProps = ExportedProps &
  Readonly<{
    whose: string;
    addressFor: (name: ExportName, query: Readonly<Record<string, string>>) => string;
  }>;

function ExportButton(props: ExportProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={FileDown} onClick={() => setOpen(true)}>
        Export
      </Button>
      {isOpen && <ExportDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

const names: readonly Readonly<{ value: ExportName; label: string }>[] = [
  { value: 'generations', label: 'Requests' },
  { value: 'usage', label: 'Usage: each charge with its tokens' },
  { value: 'entries', label: 'Entries' },
  { value: 'audit_log', label: 'Audit log' },
];

const formats: readonly Readonly<{ value: ExportFormat; label: string }>[] = [
  { value: 'csv', label: 'CSV' },
  { value: 'ndjson', label: 'JSON lines' },
];

function ExportDialog({ name, whose, addressFor, onClose }: ExportProps & Readonly<{ onClose: () => void }>) {
  const [today] = useState(() => dayOf(new Date()));
  const [chosen, setChosen] = useState(name);
  const [from, setFrom] = useState(addDays(today, -29));
  const [to, setTo] = useState(today);
  const [format, setFormat] = useState<ExportFormat>('csv');
  const isValid = from !== '' && to !== '' && from <= to;
  return (
    <Dialog
      title="Export"
      description={`${whose}. Days are in UTC. A long file can take a while; your browser says so if it breaks off.`}
      onClose={onClose}
      footer={
        isValid ? (
          <AnchorButton
            variant="primary"
            icon={Download}
            // The last day is included.
            href={addressFor(chosen, { from, to: addDays(to, 1), format })}
            download
          >
            Download
          </AnchorButton>
        ) : (
          <Button variant="primary" icon={Download} disabled>
            Download
          </Button>
        )
      }
    >
      <Field label="What">
        <Select value={chosen} options={names} onChange={setChosen} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="From">
          <Input type="date" value={from} max={today} onChange={(event) => setFrom(event.target.value)} />
        </Field>
        <Field label="To" error={isValid ? null : 'Choose two days, the first one first.'}>
          <Input type="date" value={to} onChange={(event) => setTo(event.target.value)} />
        </Field>
      </div>
      <FieldGroup label="Format">
        <Segmented label="Format" value={format} options={formats} onChange={setFormat} />
      </FieldGroup>
    </Dialog>
  );
}
