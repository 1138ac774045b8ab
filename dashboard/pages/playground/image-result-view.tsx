/** The images of one request, with what they cost. */
import { Download, ExternalLink } from 'lucide-react';
import { AnchorButton } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { webAddress } from '../../kit/markdown/inline.ts';
import { EndingNote, GenerationNote, Waiting } from './assistant-turn-view.tsx';
import { wasAdmitted } from './ending-words.ts';
import type { ImageResult } from './image-request.ts';

export function ImageResultView({ result }: Readonly<{ result: ImageResult }>) {
  const { prompt, urls, requestId, ending } = result;
  return (
    <div className="space-y-3">
      <p className="font-medium whitespace-pre-wrap wrap-anywhere">{prompt}</p>
      {urls.length > 0 && (
        <ul className="grid gap-4 sm:grid-cols-2">
          {urls.map((url, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the images of a request never move.
            <li key={at} className="min-w-0">
              <ImageView url={url} number={at + 1} prompt={prompt} />
            </li>
          ))}
        </ul>
      )}
      {ending === null ? (
        <Waiting text="Waiting for the images …" />
      ) : (
        <EndingNote ending={ending} onRetry={null} />
      )}
      {ending !== null && requestId !== null && (
        <GenerationNote
          requestId={requestId}
          hasGeneration={ending.kind !== 'failed' || wasAdmitted(ending.problem)}
          hasStatus={ending.kind !== 'finished'}
        />
      )}
    </div>
  );
}

type ImageViewProps = Readonly<{ url: string; number: number; prompt: string }>;

/** The content security policy allows no images from other servers, so those that a provider hosts are only linked. */
function ImageView({ url, number, prompt }: ImageViewProps) {
  if (url.startsWith('data:image/'))
    return (
      <figure className="space-y-2">
        <img src={url} alt={prompt} className="w-full rounded-md border border-line bg-sunken" />
        <AnchorButton href={url} download={`image-${number}`} size="small" icon={Download}>
          {`Download image ${number}`}
        </AnchorButton>
      </figure>
    );
  const href = webAddress(url);
  return (
    <p className="flex items-center gap-2 rounded-md border border-line bg-sunken px-3 py-2.5">
      <ExternalLink aria-hidden className="size-4 shrink-0 text-ink-faint" />
      {href === null ? (
        `Image ${number} has no address that can be opened.`
      ) : (
        <span className="min-w-0">
          <a href={href} target="_blank" rel="noopener noreferrer" className={textLinkClass}>
            {`Open image ${number}`}
          </a>
          <span className="block text-xs text-ink-faint wrap-anywhere">
            {`Hosted by the provider at ${new URL(href).host}. The dashboard loads nothing from other hosts.`}
          </span>
        </span>
      )}
    </p>
  );
}
