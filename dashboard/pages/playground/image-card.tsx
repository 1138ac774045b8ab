/** Makes images, and shows the same request as code. */
import { ImageIcon, Sparkles, Square } from 'lucide-react';
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { curlOf, pythonImagesOf, typescriptImagesOf } from '../../kit/code-samples.ts';
import { Field, Select, TextArea } from '../../kit/field.tsx';
import { EmptyState } from '../../kit/states.tsx';
import type { ListedModel } from '../models/models.ts';
import { CodeTab } from './code-tab.tsx';
import { countsOf, type ImageForm, type ImageResult, imageRequestOf } from './image-request.ts';
import { ImageResultView } from './image-result-view.tsx';
import { mayCall } from './selection.ts';
import { sendOnEnter } from './send-on-enter.ts';
import type { Images } from './use-images.ts';
import { ViewCard } from './view-card.tsx';

type ImageCardProps = Readonly<{
  images: Images;
  results: readonly ImageResult[];
  form: ImageForm;
  onChange: (form: ImageForm) => void;
  apiKey: Key;
  model: ListedModel;
}>;

export function ImageCard({ images, results, form, onChange, apiKey, model }: ImageCardProps) {
  const [view, setView] = useState<'try' | 'code'>('try');
  const { api_origin: apiOrigin } = useMe();
  const request = imageRequestOf(model, form);
  return (
    <ViewCard title="Images" label="Images" view={view} onChange={setView}>
      {view === 'code' ? (
        <CodeTab
          code={
            request.prompt === ''
              ? null
              : {
                  curl: curlOf(apiOrigin, request, undefined, '/v1/images/generations'),
                  python: pythonImagesOf(apiOrigin, request),
                  typescript: typescriptImagesOf(apiOrigin, request),
                }
          }
          emptyText="Describe an image to see its request as code."
        />
      ) : (
        <>
          <Results results={results} isBusy={images.isBusy} />
          <ImageComposer
            form={form}
            onChange={onChange}
            model={model}
            obstacle={mayCall(apiKey, model.id) ? null : 'This key may not call this model.'}
            isBusy={images.isBusy}
            onSend={() => images.generate(apiKey.id, request)}
            onStop={images.stop}
          />
        </>
      )}
    </ViewCard>
  );
}

function Results({ results, isBusy }: Readonly<{ results: readonly ImageResult[]; isBusy: boolean }>) {
  return (
    <div role="log" aria-label="Images" aria-busy={isBusy} className="min-h-72 px-4 py-5 sm:px-5">
      {results.length === 0 ? (
        <EmptyState icon={ImageIcon} title="Describe your first image below">
          It is made with the selected key and charged like any other request.
        </EmptyState>
      ) : (
        <ol className="space-y-6">
          {results.map((result) => (
            <li key={result.number}>
              <ImageResultView result={result} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

type ImageComposerProps = Readonly<{
  form: ImageForm;
  onChange: (form: ImageForm) => void;
  model: ListedModel;
  /** Why nothing can be sent. */
  obstacle: string | null;
  isBusy: boolean;
  onSend: () => void;
  onStop: () => void;
}>;

function ImageComposer({ form, onChange, model, obstacle, isBusy, onSend, onStop }: ImageComposerProps) {
  const { size, n } = imageRequestOf(model, form);
  const canSend = form.prompt.trim() !== '' && !isBusy && obstacle === null;
  return (
    <div className="space-y-3 border-t border-line p-4 sm:px-5">
      <Field label="Prompt" isLabelHidden>
        <TextArea
          rows={3}
          placeholder="Describe the image …"
          value={form.prompt}
          onChange={(event) => onChange({ ...form, prompt: event.target.value })}
          onKeyDown={(event) => sendOnEnter(event, () => canSend && onSend())}
        />
      </Field>
      <div className="flex flex-wrap items-end gap-3">
        <Field label="Size" className="w-36">
          <Select
            value={size}
            options={model.sizes.map((name) => ({ value: name, label: name.replace('x', ' × ') }))}
            onChange={(next) => onChange({ ...form, size: next })}
          />
        </Field>
        <Field label="Number of images" className="w-36">
          <Select
            value={`${n}`}
            options={countsOf(model).map((count) => ({ value: count, label: count }))}
            onChange={(count) => onChange({ ...form, count })}
          />
        </Field>
        <span className="ml-auto flex items-center gap-3">
          <span className="text-xs text-ink-faint">{obstacle}</span>
          {isBusy ? (
            <Button icon={Square} onClick={onStop}>
              Stop
            </Button>
          ) : (
            <Button variant="primary" icon={Sparkles} disabled={!canSend} onClick={onSend}>
              Generate
            </Button>
          )}
        </span>
      </div>
    </div>
  );
}
