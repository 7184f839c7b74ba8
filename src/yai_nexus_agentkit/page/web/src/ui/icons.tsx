/** Lucide's paths (ISC), only those that are used. */
const paths = {
  menu: "M4 6h16M4 12h16M4 18h16",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M5 12l7-7 7 7",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M20 6 9 17l-5-5",
  x: "M18 6 6 18M6 6l12 12",
  pencil: "M12 20h9M16.5 3.5l4 4L7 21H3v-4z",
  refresh: "M3 12a9 9 0 0 1 15-6.7L21 8M21 3v5h-5M21 12a9 9 0 0 1-15 6.7L3 16M3 21v-5h5",
  clip: "m21 11-9 9a6 6 0 0 1-8.5-8.5l9-9a4 4 0 0 1 5.7 5.7l-9 9a2 2 0 0 1-2.8-2.8l8.3-8.3",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19",
  moon: "M21 12.8A9 9 0 1 1 11.2 3a7 7 0 0 0 9.8 9.8z",
  panel: "M3 4h18v16H3zM15 4v16",
  trash: "M3 6h18M8 6V4h8v2M6 6l1 14h10l1-14",
  chevron: "m9 18 6-6-6-6",
  wrench: "M14.7 6.3a4 4 0 0 0-5 5L3 18l3 3 6.7-6.7a4 4 0 0 0 5-5l-2.5 2.5-2.5-2.5z",
  brain:
    "M12 5a3 3 0 0 0-6 0 4 4 0 0 0-2 6 4 4 0 0 0 2 7 3 3 0 0 0 6 1zM12 5a3 3 0 0 1 6 0 4 4 0 0 1 2 6 4 4 0 0 1-2 7 3 3 0 0 1-6 1z",
  bot: "M12 8V4M5 8h14v12H5zM9 13v2M15 13v2",
  download: "M12 4v12M6 11l6 6 6-6M4 20h16",
  down: "M12 5v14M5 12l7 7 7-7",
  question: "M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 17.5v.5M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z",
  alert: "M12 3 2 20h20zM12 10v4M12 17v.5",
} as const;
export type IconName = keyof typeof paths;
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={paths[name]} />
  </svg>
);
export const IconButton = ({
  icon,
  label,
  ...rest
}: { icon: IconName; label: string } & React.ButtonHTMLAttributes<HTMLButtonElement>) => (
  <button type="button" className="icon-button" aria-label={label} title={label} {...rest}>
    <Icon name={icon} />
  </button>
);
