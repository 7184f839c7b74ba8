/** Pure. What readers need of an answer's HTML: the direction of each block, and headings without gaps. */

/** The level of the heading that stands above each answer. */
export const ABOVE = 2;

/** The level of a heading for screen readers: one below the heading before it at most. Its size stays. */
export const levelOf = (depth: number, under: number): number => Math.min(depth + ABOVE, under + 1, 6);

/** The parts of a hast node that are used here. */
type Node = { type: string; tagName?: string; properties?: Record<string, unknown>; children?: Node[] };

const HEADING = /^h([1-6])$/;
const BLOCK = /^(p|ul|ol|blockquote|h[1-6])$/;

/** A rehype plugin. `under`: the level of the heading before. */
export function readable(under: number) {
  let level = under;
  const visit = (node: Node, inside: boolean) => {
    const name = node.tagName ?? "";
    const block = BLOCK.test(name);
    // The direction of a block with a block inside that has one of its own would be that of nothing.
    if (block && !inside) node.properties = { ...node.properties, dir: "auto" };
    const depth = Number(HEADING.exec(name)?.[1]);
    if (depth) {
      level = levelOf(depth, level);
      node.properties = { ...node.properties, ariaLevel: level };
    }
    for (const child of node.children ?? []) visit(child, inside || block);
  };
  return (tree: Node) => {
    level = under;
    visit(tree, false);
  };
}
