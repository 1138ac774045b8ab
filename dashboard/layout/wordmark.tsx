import { Link } from '@tanstack/react-router';

export function HomeLink() {
  return (
    <Link to="/" aria-label="Tollgate overview" className="rounded">
      <Wordmark />
    </Link>
  );
}

/** The logo: a toll gate with its post and barrier. */
export function Wordmark() {
  return (
    <span className="flex items-center gap-2 text-ink">
      <svg viewBox="0 0 32 32" aria-hidden="true" className="size-6 shrink-0">
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <g fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round">
          <path d="M9.5 8v16" />
          <path d="M9.5 13h14" />
          <path d="M16 19.5h.01M22 19.5h.01" strokeOpacity="0.75" />
        </g>
      </svg>
      <span className="text-[0.9375rem] font-semibold tracking-tight">Tollgate</span>
    </span>
  );
}
