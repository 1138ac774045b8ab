/** Where the next message is written, with pictures for models that see. */
import { ImagePlus, Send, Square, X } from 'lucide-react';
import { type KeyboardEvent, useRef, useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Field } from '../../kit/field.tsx';
import { IconButton } from '../../kit/icon-button.tsx';
import { TextArea } from '../../kit/input.tsx';
import type { ImageInput, UserTurn } from './conversation.ts';
import { imageProblem, imageTypes, readImage } from './image-files.ts';

type ComposerProps = Readonly<{
  draft: UserTurn;
  onChange: (draft: UserTurn) => void;
  takesImages: boolean;
  isBusy: boolean;
  /** Why nothing can be sent at the moment. */
  obstacle: string | null;
  onSend: () => void;
  onStop: () => void;
}>;

export function Composer(props: ComposerProps) {
  const { draft, onChange, takesImages, isBusy, obstacle, onSend, onStop } = props;
  const [problem, setProblem] = useState<string | null>(null);
  const isEmpty = draft.text.trim() === '' && draft.images.length === 0;
  const canSend = !isEmpty && !isBusy && obstacle === null;
  const add = async (files: readonly File[]) => {
    setProblem(null);
    const images = [...draft.images];
    for (const file of files) {
      const refusal = imageProblem(file, images.length);
      if (refusal === null) images.push(await readImage(file));
      else setProblem(refusal);
    }
    onChange({ ...draft, images });
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    // Enter while a character is being composed belongs to the keyboard.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (canSend) onSend();
  };
  return (
    <div className="space-y-3 border-t border-line p-4 sm:px-5">
      {draft.images.length > 0 && (
        <ChosenImages images={draft.images} onChange={(images) => onChange({ ...draft, images })} />
      )}
      <Field label="Message" isLabelHidden error={problem}>
        <TextArea
          rows={3}
          placeholder="Write a message …"
          value={draft.text}
          onChange={(event) => onChange({ ...draft, text: event.target.value })}
          onKeyDown={sendOnEnter}
        />
      </Field>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="flex min-w-0 flex-1 items-center gap-2">
          {takesImages && <ImageButton onChosen={add} />}
          <span className="text-xs text-ink-faint">
            {obstacle ?? 'Enter sends, Shift and Enter begin a line.'}
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
        aria-label="Pictures"
        onChange={({ target }) => {
          onChosen([...(target.files ?? [])]).catch(() => {});
          // The same file can be chosen again after it was taken away.
          target.value = '';
        }}
      />
      <IconButton icon={ImagePlus} label="Add a picture" onClick={() => ref.current?.click()} />
    </>
  );
}

type ChosenImagesProps = Readonly<{
  images: readonly ImageInput[];
  onChange: (images: readonly ImageInput[]) => void;
}>;

function ChosenImages({ images, onChange }: ChosenImagesProps) {
  return (
    <ul aria-label="Pictures to send" className="flex flex-wrap gap-2">
      {images.map((image) => (
        <li key={image.url} className="relative">
          <img
            src={image.url}
            alt={image.name}
            className="h-20 max-w-40 rounded-md border border-line object-cover"
          />
          <IconButton
            icon={X}
            label={`Take away ${image.name}`}
            onClick={() => onChange(images.filter((other) => other !== image))}
            className="absolute -top-2 -right-2 size-6 rounded-full bg-raised shadow-float"
          />
        </li>
      ))}
    </ul>
  );
}
