import { useReplaceSearch } from '../../address.ts';
import { Segmented } from '../../kit/choice.tsx';
import { withRange } from '../requests/view.ts';
import { type HomeRange, homeRanges } from './view.ts';

export function RangePicker({ range }: Readonly<{ range: HomeRange }>) {
  const replace = useReplaceSearch();
  return (
    <Segmented
      label="Range"
      value={range}
      options={homeRanges}
      onChange={(kind) => replace((before) => withRange(before, kind))}
    />
  );
}
