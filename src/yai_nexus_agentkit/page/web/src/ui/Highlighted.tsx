import { common, createLowlight } from "lowlight";
import { memo } from "react";

type Node = { type: string; value?: string; properties?: { className?: string[] }; children?: Node[] };
const lowlight = createLowlight(common);
const draw = (nodes: Node[]): React.ReactNode[] =>
  nodes.map((node, n) =>
    node.type === "text" ? (
      node.value
    ) : (
      <span key={n} className={node.properties?.className?.join(" ")}>
        {draw(node.children ?? [])}
      </span>
    ),
  );

export default memo(({ language, text }: { language: string; text: string }) =>
  lowlight.registered(language) ? <>{draw(lowlight.highlight(language, text).children as Node[])}</> : <>{text}</>,
);
