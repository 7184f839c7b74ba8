/** Reads long Markdown beside the page, which would stand still meanwhile. */

import type { Root } from "hast";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import remend from "remend";
import { unified } from "unified";
import type { Request } from "./parsing.ts";
import { readable } from "./readable.ts";

const scope = self as unknown as { onmessage: (event: MessageEvent<Request>) => void; postMessage: (tree: Root) => void };

scope.onmessage = ({ data: { text, under, open, clobberPrefix } }) => {
  const processor = unified()
    .use(remarkParse)
    .use(remarkGfm)
    .use(remarkRehype, { allowDangerousHtml: true, clobberPrefix })
    .use(readable, under);
  const tree = processor.runSync(processor.parse(open ? remend(text) : text));
  strip(tree);
  scope.postMessage(tree);
};

/** Where something stood in the text is the larger part of a tree, and nobody asks. */
function strip(node: { position?: unknown; children?: object[] }): void {
  delete node.position;
  for (const child of node.children ?? []) strip(child);
}
