import type { ReactNode } from "react";

function Icon({ size = 16, children }: { size?: number; children: ReactNode }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export function Logo(): ReactNode {
  return (
    <svg
      width="22"
      height="22"
      viewBox="0 0 22 22"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M11 2v11M11 13c0 4-5 3-7 7M11 13c0 4 5 3 7 7M11 13c0 3-2 4-2 7M11 13c0 3 2 4 2 7" />
      <path d="M7 5c1 2 3 3 4 3s3-1 4-3" />
    </svg>
  );
}

export const SearchIcon = (): ReactNode => (
  <Icon>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3.5 3.5" />
  </Icon>
);

export const SettingsIcon = (): ReactNode => (
  <Icon>
    <circle cx="8" cy="5.5" r="2.6" />
    <path d="M2.8 14c.6-2.8 2.6-4.2 5.2-4.2s4.6 1.4 5.2 4.2" />
  </Icon>
);

export const CopyIcon = (): ReactNode => (
  <Icon size={14}>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
  </Icon>
);

export const DoneIcon = (): ReactNode => (
  <Icon size={14}>
    <path d="m3 8.5 3.5 3.5L13 4.5" />
  </Icon>
);

export const PauseIcon = (): ReactNode => (
  <Icon size={12}>
    <path d="M5 3v10M11 3v10" strokeWidth="2.5" />
  </Icon>
);

export const PlayIcon = (): ReactNode => (
  <Icon size={12}>
    <path d="M4 2.5v11l9-5.5z" fill="currentColor" />
  </Icon>
);
