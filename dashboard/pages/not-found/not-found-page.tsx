import { Compass } from 'lucide-react';
import { LinkButton } from '../../kit/button.tsx';
import { Page } from '../../kit/page.tsx';
import { Wordmark } from '../../layout/wordmark.tsx';

/** Within the frame that a page is missing in. */
export function NotFoundPage() {
  return (
    <div className="pt-[8vh] text-center">
      <Compass aria-hidden className="mx-auto mb-4 size-8 text-ink-faint" />
      <Page
        title="Nothing is at this address"
        description="The link may be old or mistyped, or you may not see what is there."
        isCentered
      >
        <LinkButton to="/">To the overview</LinkButton>
      </Page>
    </div>
  );
}

/** For an address of no frame at all. */
export function UnknownAddressPage() {
  return (
    <div className="flex flex-col items-center px-4 pt-[10vh]">
      <Wordmark />
      <main>
        <NotFoundPage />
      </main>
    </div>
  );
}
