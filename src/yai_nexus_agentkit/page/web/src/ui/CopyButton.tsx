import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { IconButton } from "./IconButton.tsx";

/** Browsers have a clipboard on https and localhost only. */
export function CopyButton({ text, label }: { text: () => string; label: string }) {
  const [copied, setCopied] = useState(false);
  if (!navigator.clipboard) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <IconButton icon={copied ? Check : Copy} label={copied ? "Copied" : label} onClick={() => void copy()} />;
}
