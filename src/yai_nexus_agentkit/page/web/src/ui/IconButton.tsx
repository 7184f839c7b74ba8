import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes } from "react";

type Given = {
  icon: LucideIcon;
  label: string;
  /** The label is drawn by the page, at once, and not by the browser. */
  labelled?: boolean;
} & ButtonHTMLAttributes<HTMLButtonElement>;

/** A button with an icon alone. Its label is read out, and shown when the pointer rests on it. */
export function IconButton({ icon: Icon, label, labelled = false, ...rest }: Given) {
  return (
    <button
      type="button"
      className={`icon-button${labelled ? " labelled" : ""}`}
      aria-label={label}
      title={labelled ? undefined : label}
      {...rest}
    >
      <Icon size={16} aria-hidden />
    </button>
  );
}
