/** What a model costs, with all of its tiers or hours, and every digit of it: a rate is not for rounding. */
import { Money } from '../../kit/money.tsx';
import type { Pricing } from './listed-model.ts';
import { priceTableOf } from './price-lines.ts';

const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function PriceView({ name, pricing }: Readonly<{ name: string; pricing: Pricing }>) {
  const { unit, lines } = priceTableOf(pricing, viewerZone, new Date());
  const hasTwo = lines.some(({ output }) => output !== null);
  return (
    <div>
      <table className="w-full text-left text-[0.8125rem]">
        <caption className="sr-only">{`Prices of ${name}`}</caption>
        <thead>
          <tr className="text-xs text-ink-faint">
            <th scope="col" className="py-1 pr-3 font-normal">
              {`USD ${unit}`}
            </th>
            <th scope="col" className="py-1 text-right font-normal">
              {hasTwo ? 'Input' : 'Price'}
            </th>
            {hasTwo && (
              <th scope="col" className="py-1 pl-4 text-right font-normal">
                Output
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ label, hint, input, output }) => (
            <tr key={label} className="border-t border-line align-baseline">
              <th scope="row" className="py-1.5 pr-3 font-normal">
                {label}
                {hint !== undefined && <span className="block text-xs text-ink-faint">{hint}</span>}
              </th>
              <td className="py-1.5 text-right">
                <Money amount={input} isExact className="font-medium" />
              </td>
              {hasTwo && (
                <td className="py-1.5 pl-4 text-right">
                  <Money amount={output} isExact className="font-medium" />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-1.5 text-xs text-ink-faint">
        {[`Price list ${pricing.price_version}`, pricing.region, pricing.note].filter(Boolean).join(' · ')}
      </p>
    </div>
  );
}
