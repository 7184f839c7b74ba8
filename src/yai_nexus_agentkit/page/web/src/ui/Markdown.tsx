import { Lexer, type Tokens } from "marked";
import { lazy, memo, type MouseEvent, Suspense, useId, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { decoded } from "../useAddress.ts";
import { ABOVE, levelOf, readable } from "./readable.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Guard } from "./Guard.tsx";
import { Later } from "./Later.tsx";
import { LONG, useParsed } from "./parsing.ts";
import { Tree } from "./Tree.tsx";

const Highlighted = lazy(() => import("./Highlighted.tsx"));
const plugins = [remarkGfm];
/** The plugins of a block under a heading of each level: the same objects each time. */
const UNDER = Array.from({ length: 7 }, (_, level) => [[readable, level] as [typeof readable, number]]);

/** Markdown, also while it is being written. Raw HTML is text, and pictures of other servers are links. */
export const Markdown = memo(({ text, streaming = false }: Given) => (
  <div className="markdown">
    {/* Some texts are too deep for the parser: thousands of quotes in quotes. */}
    <Guard fallback={<p className="plain">{text}</p>} value={text}>
      <Pieces text={text} streaming={streaming} />
    </Guard>
  </div>
));

type Given = { text: string; streaming?: boolean };

function Pieces({ text, streaming }: Given) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return groupsOf(blocks).map((group, n) => (
    <Later key={n} weight={weightOf(group)}>
      {group.map(({ raw, under, at }) => (
        <Piece key={at} text={raw} open={streaming === true && at === blocks.length - 1} under={under} />
      ))}
    </Later>
  ));
}

/** Blocks that are drawn together, in order. Those of a text that grows stay in their groups. */
function groupsOf(blocks: Block[]): (Block & { at: number })[][] {
  const groups: (Block & { at: number })[][] = [];
  let full = true;
  for (const [at, block] of blocks.entries()) {
    if (full) groups.push([]);
    groups.at(-1)?.push({ ...block, at });
    full = weightOf(groups.at(-1) ?? []) > GROUP;
  }
  return groups;
}

/** Of a group, in characters. */
const GROUP = 4_000;

/** A block costs something beside its characters. */
const weightOf = (group: Block[]): number => group.reduce((sum, { raw }) => sum + raw.length + 500, 0);

const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;

/** Only the last block of a text that grows is parsed again. Definitions are for the whole text, so it stays whole. */
function blocksOf(text: string): Block[] {
  if (DEFINITION.test(text)) return [{ raw: text, under: ABOVE }];
  let level = ABOVE;
  return new Lexer().blockTokens(text).flatMap((token) => {
    const under = level;
    if (token.type === "heading") level = levelOf((token as Tokens.Heading).depth, under);
    return token.type === "space" ? [] : [{ raw: token.raw, under }];
  });
}

/** `under`: the level of the heading before it. */
type Block = { raw: string; under: number };

type PieceGiven = { text: string; under: number; open: boolean };

/** `open`: it is still being written. */
const Piece = memo(({ text, under, open }: PieceGiven) => {
  const clobberPrefix = `${useId()}-`; // Footnotes of two answers have the same names.
  const options = useMemo(() => ({ clobberPrefix }), [clobberPrefix]);
  const parsed = useParsed({ text, under, open, clobberPrefix });
  if (text.length > LONG) {
    if (!parsed || parsed === "plain") return <p className="plain">{text}</p>;
    return <Tree nodes={parsed.children} components={components} />;
  }
  return (
    <ReactMarkdown
      remarkPlugins={plugins}
      rehypePlugins={UNDER[under]}
      remarkRehypeOptions={options}
      components={components}
    >
      {open ? remend(text) : text}
    </ReactMarkdown>
  );
});

function CodeBlock({ language, text }: { language: string; text: string }) {
  return (
    <figure className="code">
      <figcaption>
        <span>{language || "text"}</span>
        <CopyButton text={() => text} label="Copy code" />
      </figcaption>
      <pre tabIndex={0}>
        <code>
          <Guard fallback={text}>
            <Suspense fallback={text}>
              <Highlighted language={language} text={text} />
            </Suspense>
          </Guard>
        </code>
      </pre>
    </figure>
  );
}

/** To a footnote and back. The address of the page is that of the conversation, so it stays. */
function goTo(event: MouseEvent<HTMLAnchorElement>) {
  event.preventDefault();
  const id = decoded(event.currentTarget.hash.slice(1));
  if (id) document.getElementById(id)?.scrollIntoView({ block: "center" });
}

const away = { target: "_blank", rel: "noreferrer noopener" };

const components: Components = {
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = String(children ?? "");
    const language = /language-(\S+)/.exec(className ?? "")?.[1];
    if (!language && !text.includes("\n")) return <code>{children}</code>;
    return <CodeBlock language={language ?? ""} text={text.replace(/\n$/, "")} />;
  },
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="group" aria-label="Table">
      <table dir="auto">{children}</table>
    </div>
  ),
  a: ({ href, children, node: _, ...given }) =>
    href?.startsWith("#") ? (
      <a {...given} href={href} onClick={goTo}>
        {children}
      </a>
    ) : (
      <a href={href} {...away}>
        {children}
      </a>
    ),
  input: ({ checked }) => <input type="checkbox" checked={checked} disabled aria-label={checked ? "Done" : "Open"} />,
  // A request to another server would give away that the answer was read.
  img: ({ alt, src }) => (
    <a href={typeof src === "string" ? src : undefined} {...away}>
      {alt || "picture"}
    </a>
  ),
};
