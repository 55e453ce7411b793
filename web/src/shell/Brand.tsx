import { Link } from "../ui/Link";

/** The ring that every rein passes through. */
export function Brand() {
  return (
    <Link to="/" className="brand">
      <svg width="18" height="18" viewBox="0 0 32 32" aria-hidden="true">
        <circle cx="16" cy="16" r="10.5" fill="none" stroke="currentColor" strokeWidth="4" />
        <path d="M2 22c8-9 20-9 28-12" fill="none" stroke="var(--text-faint)" strokeWidth="2.5" strokeLinecap="round" />
      </svg>
      Terret
    </Link>
  );
}
