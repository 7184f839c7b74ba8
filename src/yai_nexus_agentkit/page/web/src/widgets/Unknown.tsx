import { Box } from "lucide-react";
import { ValueView } from "../ui/ValueView.tsx";
import type { Shown } from "./registry.tsx";

/** An event or activity that has no renderer. */
export function Unknown({ name, value }: Shown) {
  return (
    <section role="group" className="card unknown" aria-label={name}>
      <h3>
        <Box size={16} aria-hidden /> {name.replaceAll("_", " ")}
      </h3>
      {value !== null && value !== undefined && <ValueView value={value} />}
    </section>
  );
}
