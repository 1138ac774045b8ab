import { useState } from 'react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { FormDialog } from '../../../kit/dialog.tsx';
import { Field, Select } from '../../../kit/field.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { usePriceGroups, useSetPriceGroup } from './queries.ts';

type PriceGroupDialogProps = Readonly<{ account: OperatorAccount; onClose: () => void }>;

/** Which prices an account pays. The empty choice is for list prices. */
export function PriceGroupDialog({ account, onClose }: PriceGroupDialogProps) {
  const [group, setGroup] = useState(account.price_group ?? '');
  const catalog = usePriceGroups();
  const setting = useSetPriceGroup(account.id);
  const names = catalog.data?.price_groups.map(({ name }) => name) ?? [];
  const isMissing = account.price_group !== null && !names.includes(account.price_group);
  const save = () =>
    setting.mutate(
      { price_group: group === '' ? null : group },
      {
        onSuccess: ({ name }) => {
          showToast('good', `${name} pays ${group === '' ? 'list prices' : `the prices of ${group}`}.`);
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={`Prices of ${account.name}`}
      description="Price groups are in the catalogue. The next request is charged by the new prices."
      submitLabel="Save"
      isReady={catalog.data !== undefined}
      isBusy={setting.isPending}
      error={setting.error ?? catalog.error}
      onClose={onClose}
      onSubmit={save}
    >
      <Field label="Prices" hint="The customer sees the name of the group next to the prices.">
        <Select
          value={group}
          options={[
            { value: '', label: 'List prices' },
            ...names.map((name) => ({ value: name, label: name })),
            ...(isMissing
              ? [
                  {
                    value: account.price_group ?? '',
                    label: `${account.price_group} (not in the catalogue)`,
                    isDisabled: true,
                  },
                ]
              : []),
          ]}
          onChange={setGroup}
        />
      </Field>
    </FormDialog>
  );
}
