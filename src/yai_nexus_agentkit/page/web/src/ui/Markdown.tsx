import { lazy, memo, Suspense, useMemo, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { IconButton } from "./icons";

const Highlighted = lazy(() => import("./Highlighted"));
const plugins = [remarkGfm];

function CodeBlock({ language, text }: { language: string; text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(setCopied, 1500, false);
    });
  return (
    <figure className="code">
      <figcaption>
        <span>{language || "text"}</span>
        <IconButton icon={copied ? "check" : "copy"} label={copied ? "Copied" : "Copy code"} onClick={copy} />
      </figcaption>
      <pre tabIndex={0}>
        <code>
          <Suspense fallback={text}>
            <Highlighted language={language} text={text} />
          </Suspense>
        </code>
      </pre>
    </figure>
  );
}

const components: Components = {
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = String(children ?? "");
    const language = /language-(\S+)/.exec(className ?? "")?.[1];
    return language || text.includes("\n") ? (
      <CodeBlock language={language ?? ""} text={text.replace(/\n$/, "")} />
    ) : (
      <code>{children}</code>
    );
  },
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  img: ({ alt, src }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || "image"}
    </a>
  ), // no request without a click
};

const Piece = memo(({ text }: { text: string }) => (
  <ReactMarkdown remarkPlugins={plugins} components={components}>
    {text}
  </ReactMarkdown>
));

/** Only the last block of a text that grows is parsed again. A blank line ends a block, outside of fences and lists. */
function pieces(text: string): string[] {
  const found: string[] = [];
  let open: string | null = null,
    current: string[] = [];
  for (const line of text.split("\n")) {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence && (open === null || (fence.startsWith(open) && line.trim() === fence)))
      open = open === null ? fence : null;
    if (open === null && line.trim() === "" && current.length) {
      current.push(line);
      found.push(current.join("\n"));
      current = [];
    } else current.push(line);
  }
  if (current.length) found.push(current.join("\n"));
  // An indented line, a list item or a definition goes on with what was before it.
  return found.reduce<string[]>((all, piece) => {
    if (
      all.length &&
      (/^\s{2,}\S/.test(piece) || (/^\s*([-*+]|\d+[.)])\s/.test(piece) && /^\s*([-*+]|\d+[.)])\s/.test(all.at(-1)!)))
    )
      all[all.length - 1] += "\n" + piece;
    else all.push(piece);
    return all;
  }, []);
}

export const Markdown = memo(({ text, streaming }: { text: string; streaming?: boolean }) => {
  const blocks = useMemo(() => pieces(text), [text]);
  return (
    <div className="markdown">
      {blocks.map((block, n) => (
        <Piece key={n} text={streaming && n === blocks.length - 1 ? remend(block) : block} />
      ))}
    </div>
  );
});
