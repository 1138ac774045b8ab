/** A first request to a model as code, in each format that can call it. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMe } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { keyVariable } from '../../kit/code-samples.ts';
import { samplesOf } from './model-samples.ts';
import type { ListedModel } from './models.ts';

export function ModelCode({ model }: Readonly<{ model: ListedModel }>) {
  const { api_origin: origin } = useMe();
  const formats = samplesOf(model, origin);
  const [chosen, choose] = useState(formats[0]?.label ?? '');
  const format = formats.find(({ label }) => label === chosen) ?? formats[0];
  if (format === undefined) return null;
  return (
    <Card
      title="Code"
      actions={
        formats.length === 1 ? undefined : (
          <Segmented
            label="Format"
            value={format.label}
            options={formats.map(({ label }) => ({ value: label, label }))}
            onChange={choose}
          />
        )
      }
    >
      <div className="space-y-3">
        <CodeBlock key={format.label} label={`${format.label} as code`} samples={format.samples} />
        <p className="text-xs text-ink-faint">
          <code className="font-mono">POST {format.path}</code>. The code reads the key from{' '}
          <code className="font-mono">{keyVariable}</code>; create one under{' '}
          <Link to="/keys" className={textLinkClass}>
            Keys
          </Link>
          .{' '}
          <a href={`/docs/${format.docs}`} className={textLinkClass}>
            What it accepts
          </a>
        </p>
      </div>
    </Card>
  );
}
