import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes } from "react";

type Given = { icon: LucideIcon; label: string } & ButtonHTMLAttributes<HTMLButtonElement>;

/** A button with an icon alone. Its label is read out, and shown when the pointer rests on it. */
export function IconButton({ icon: Icon, label, ...rest }: Given) {
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} {...rest}>
      <Icon size={16} aria-hidden />
    </button>
  );
}
