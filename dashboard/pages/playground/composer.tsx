/** Where the next message is written, with images for models with image input, and where tool results are entered. */
import { ImagePlus, Send, Square, X } from 'lucide-react';
import { useRef, useState } from 'react';
import { Button, IconButton } from '../../kit/button.tsx';
import { classNames } from '../../kit/class-names.ts';
import { Field, TextArea } from '../../kit/field.tsx';
import { useKeptFocus } from '../../kit/keep-focus.ts';
import type { ImageInput, ToolCall, ToolTurn, UserTurn } from './conversation.ts';
import { sendOnEnter } from './send-on-enter.ts';

type ComposerProps = Readonly<{
  draft: UserTurn;
  onChange: (draft: UserTurn) => void;
  takesImages: boolean;
  isBusy: boolean;
  /** Why nothing can be sent. */
  obstacle: string | null;
  onSend: () => void;
  onStop: () => void;
}>;

/** Where one goes on writing. */
export const messageSelector = '[data-part="message"]';

export function Composer(props: ComposerProps) {
  const { draft, onChange, takesImages, isBusy, obstacle, onSend, onStop } = props;
  const [problem, setProblem] = useState<string | null>(null);
  const isEmpty = draft.text.trim() === '' && draft.images.length === 0;
  const canSend = !isEmpty && !isBusy && obstacle === null;
  const add = async (files: readonly File[]) => {
    setProblem(null);
    const images = [...draft.images];
    for (const file of files) {
      const reason = imageProblem(file, images.length);
      if (reason === null) images.push(await readImage(file));
      else setProblem(reason);
    }
    onChange({ ...draft, images });
  };
  return (
    <div className="space-y-3 border-t border-line p-4 sm:px-5">
      {draft.images.length > 0 && (
        <ChosenImages images={draft.images} onChange={(images) => onChange({ ...draft, images })} />
      )}
      <Field label="Message" isLabelHidden error={problem}>
        <TextArea
          data-part="message"
          rows={3}
          placeholder="Write a message …"
          value={draft.text}
          onChange={(event) => onChange({ ...draft, text: event.target.value })}
          onKeyDown={(event) => sendOnEnter(event, () => canSend && onSend())}
        />
      </Field>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="flex min-w-0 flex-1 items-center gap-2">
          {takesImages && <ImageButton onChosen={add} />}
          <span
            className={classNames('text-xs text-ink-faint', obstacle === null && 'pointer-coarse:hidden')}
          >
            {obstacle ?? 'Enter to send, Shift + Enter for a new line.'}
          </span>
        </div>
        {isBusy ? (
          <Button icon={Square} onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button variant="primary" icon={Send} disabled={!canSend} onClick={onSend}>
            Send
          </Button>
        )}
      </div>
    </div>
  );
}

function ImageButton({ onChosen }: Readonly<{ onChosen: (files: readonly File[]) => Promise<void> }>) {
  const ref = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={ref}
        type="file"
        hidden
        multiple
        accept={imageTypes.join(',')}
        aria-label="Images"
        onChange={({ target }) => {
          onChosen([...(target.files ?? [])]).catch(() => {});
          // The same file can be selected again after it was removed.
          target.value = '';
        }}
      />
      <IconButton icon={ImagePlus} label="Add image" onClick={() => ref.current?.click()} />
    </>
  );
}

type ChosenImagesProps = Readonly<{
  images: readonly ImageInput[];
  onChange: (images: readonly ImageInput[]) => void;
}>;

function ChosenImages({ images, onChange }: ChosenImagesProps) {
  return (
    <ul aria-label="Images to send" className="flex flex-wrap gap-2">
      {images.map((image) => (
        <ChosenImage
          key={image.url}
          image={image}
          onRemove={() => onChange(images.filter((other) => other !== image))}
        />
      ))}
    </ul>
  );
}

function ChosenImage({ image, onRemove }: Readonly<{ image: ImageInput; onRemove: () => void }>) {
  useKeptFocus(messageSelector);
  return (
    <li className="relative">
      <img
        src={image.url}
        alt={image.name}
        className="h-20 max-w-40 rounded-md border border-line object-cover"
      />
      <IconButton
        icon={X}
        label={`Remove ${image.name}`}
        onClick={onRemove}
        className="absolute -top-2 -right-2 size-6 rounded-full bg-raised shadow-float"
      />
    </li>
  );
}

const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
const maxBytes = 5_000_000;
const maxImages = 3;

/** Why an image cannot be sent, or null. The limits keep the request below the gateway's maximum size. */
function imageProblem(
  file: Readonly<{ name: string; type: string; size: number }>,
  selectedCount: number,
): string | null {
  if (!imageTypes.some((type) => type === file.type))
    return `${file.name} is not a PNG, JPEG, WebP or GIF image.`;
  if (file.size > maxBytes) return `${file.name} is larger than 5 MB.`;
  return selectedCount >= maxImages ? `At most ${maxImages} images can be added to a message.` : null;
}

async function readImage(file: File): Promise<ImageInput> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: `${reader.result}` });
    reader.onerror = () => reject(new Error('The image could not be read.'));
    reader.readAsDataURL(file);
  });
}

type ToolResultsProps = Readonly<{
  calls: readonly ToolCall[];
  /** Why nothing can be sent. */
  obstacle: string | null;
  onSend: (results: readonly ToolTurn[]) => void;
}>;

/** One field for the result of each tool call. All results are sent together. */
export function ToolResults({ calls, obstacle, onSend }: ToolResultsProps) {
  const [results, setResults] = useState<readonly string[]>(() => calls.map(() => ''));
  const change = (at: number, text: string) =>
    setResults(results.map((result, other) => (other === at ? text : result)));
  const sendAll = () =>
    onSend(calls.map(({ id, name }, at) => ({ kind: 'tool', callId: id, name, result: results[at] ?? '' })));
  return (
    <div className="space-y-3 border-t border-line p-4 sm:px-5">
      <p className="text-ink-soft">
        The model does not run tools itself. Enter what {calls.length === 1 ? 'the tool' : 'each tool'}{' '}
        returns.
      </p>
      {calls.map(({ id, name }, at) => (
        <Field key={id} label={`Result of ${name}`}>
          <TextArea
            isCode
            rows={3}
            placeholder='{"temperature": 21}'
            value={results[at] ?? ''}
            onChange={(event) => change(at, event.target.value)}
          />
        </Field>
      ))}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="text-xs text-ink-faint">{obstacle}</span>
        <Button
          variant="primary"
          disabled={obstacle !== null || results.some((text) => text.trim() === '')}
          onClick={sendAll}
        >
          {calls.length === 1 ? 'Send result' : 'Send results'}
        </Button>
      </div>
    </div>
  );
}
