import { common, createLowlight } from "lowlight";
import { memo, type ReactNode } from "react";
import { Later } from "./Later.tsx";

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

/** Code in colours. Loaded with the first code block. Long code is coloured in parts, of one that grows only the last. */
export default function Highlighted({ language, text }: Given) {
  if (text.length <= PART) return <Part language={language} text={text} />;
  return partsOf(text).map((part, n) => (
    <span key={n} className="part">
      <Later weight={part.length * 2}>
        <Part language={language} text={part} />
      </Later>
    </span>
  ));
}

type Given = { language: string; text: string };

const Part = memo(({ language, text }: Given) =>
  lowlight.registered(language) ? <>{drawn(lowlight.highlight(language, text).children as Node[])}</> : <>{text}</>,
);

/** About that many characters are coloured at once. */
const PART = 8_000;

/** Parts of whole lines, if possible up to an empty one: nothing goes on behind it, most often. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let at = 0;
  while (text.length - at > PART) {
    const empty = text.lastIndexOf("\n\n", at + PART);
    const line = text.indexOf("\n", at + PART);
    const end = empty > at + PART / 2 ? empty : line;
    if (end < 0) break;
    parts.push(text.slice(at, end));
    at = end + 1;
  }
  return [...parts, text.slice(at)];
}
