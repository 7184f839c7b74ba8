import type { ElementContent, Root, RootContent } from "hast";
import { memo, useMemo } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import { Later } from "./Later.tsx";

/** Children that are drawn together. */
const MANY = 40;
/** What has no text of its own between its children. */
const BLOCKS = /^(table|thead|tbody|tr|ul|ol|blockquote)$/;

type Node = RootContent;
type Given = { nodes: readonly Node[]; components: Components };

/** A large tree of HTML, drawn bit by bit; of one that grows, only what is new. */
export const Tree = memo(
  ({ nodes, components }: Given) => {
    const all = useMemo(() => ({ ...components, chunk: drawing(components) }), [components]);
    return <ReactMarkdown rehypePlugins={[[given, parted(nodes)]]} components={all} />;
  },
  (before, { nodes }) => before.nodes.length === nodes.length && nodes.every((node, n) => node === before.nodes[n]),
);

/** A rehype plugin: these nodes, whatever the text. */
const given = (children: Node[]) => (): Root => ({ type: "root", children: children as RootContent[] });

const drawing = (components: Components) =>
  function Chunk({ node }: ExtraProps) {
    const part = node?.data as { nodes: Node[]; weight: number } | undefined;
    return (
      part && (
        <Later weight={part.weight}>
          <Tree nodes={part.nodes} components={components} />
        </Later>
      )
    );
  };

/** The nodes, or elements that draw some of them each; likewise within. */
function parted(nodes: readonly Node[]): Node[] {
  if (nodes.length > MANY) return chunksOf(nodes);
  return nodes.map((node) => {
    if (node.type !== "element") return node;
    const children = BLOCKS.test(node.tagName) ? node.children.filter(isNoSpace) : node.children;
    return { ...node, children: parted(children) as ElementContent[] };
  });
}

const isNoSpace = (node: ElementContent): boolean => node.type !== "text" || node.value.trim() !== "";

function chunksOf(nodes: readonly Node[]): Node[] {
  return Array.from({ length: Math.ceil(nodes.length / MANY) }, (_, n) => {
    const part = nodes.slice(n * MANY, (n + 1) * MANY);
    const data = { nodes: part, weight: part.reduce((sum, node) => sum + weightOf(node), 0) } as object;
    return { type: "element", tagName: "chunk", properties: {}, children: [], data };
  });
}

/** About how much there is to draw, in characters. */
function weightOf(node: Node): number {
  if (node.type === "element") return node.children.reduce((sum, child) => sum + weightOf(child), 20);
  return "value" in node ? node.value.length : 0;
}
