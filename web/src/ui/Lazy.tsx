import { Suspense, type ReactNode } from "react";

/** Holds the place of a part that is loaded when it is needed. */
export function Lazy({ children, lines = 3 }: { children: ReactNode; lines?: number }) {
  return <Suspense fallback={<Skeleton lines={lines} />}>{children}</Suspense>;
}

export function Skeleton({ lines }: { lines: number }) {
  return (
    <div className="column skeletons" aria-hidden="true">
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className="skeleton" />
      ))}
    </div>
  );
}
