import { common, createLowlight } from "lowlight";
import { memo, type ReactNode } from "react";

type Node = { type: string; value?: string; properties?: { className?: string[] }; children?: Node[] };

const lowlight = createLowlight(common);

const drawn = (nodes: Node[]): ReactNode[] =>
  nodes.map((node, n) =>
    node.type === "text" ? (
      node.value
    ) : (
      <span key={n} className={node.properties?.className?.join(" ")}>
        {drawn(node.children ?? [])}
      </span>
    ),
  );

/** Code in colours. Loaded with the first code block. */
const Highlighted = memo(({ language, text }: { language: string; text: string }) =>
  lowlight.registered(language) ? <>{drawn(lowlight.highlight(language, text).children as Node[])}</> : <>{text}</>,
);
export default Highlighted;
