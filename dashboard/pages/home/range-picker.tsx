import { useReplaceSearch } from '../../address.ts';
import { Segmented } from '../../kit/choice.tsx';
import { type HomeRange, homeRanges } from './view.ts';

type RangePickerProps = Readonly<{ range: HomeRange; usual?: HomeRange }>;

/** The usual range is left out of the address. */
export function RangePicker({ range, usual = '24h' }: RangePickerProps) {
  const replace = useReplaceSearch();
  return (
    <Segmented
      label="Range"
      value={range}
      options={homeRanges}
      onChange={(kind) => replace((before) => ({ ...before, range: kind === usual ? undefined : kind }))}
    />
  );
}
