import { Download, FileText } from "lucide-react";

/** Types that a page may show from any source. An SVG in an `img` runs no scripts. */
const PICTURE = /^image\//;
const SOUND = /^audio\//;
const FILM = /^video\//;

/** A file, from its data (base64) or from an address. */
export type MediaFile = { name: string; mimeType: string; data?: string; url?: string };

export function Media({ name, mimeType, data, url }: MediaFile) {
  const source = data === undefined ? (url ?? "") : `data:${mimeType};base64,${data}`;
  const own = data !== undefined || isOwn(source);
  // The page asks no other server for anything: what lies elsewhere is a link.
  if (own && PICTURE.test(mimeType)) return <Picture name={name} source={source} />;
  if (own && SOUND.test(mimeType)) return <audio controls src={source} aria-label={name} />;
  if (own && FILM.test(mimeType)) return <video controls src={source} aria-label={name} />;
  const about = data === undefined ? mimeType : `${mimeType}, ${Math.ceil((data.length * 3) / 4096)} kB`;
  return (
    <a className="card file" href={source} download={own ? fileName(name, mimeType) : undefined} {...(own ? {} : AWAY)}>
      <FileText size={18} aria-hidden />
      <span>
        <strong>{name}</strong> <span className="muted">{about}</span>
      </span>
      <Download size={16} aria-hidden />
    </a>
  );
}

/** A model may have written the address. */
const isOwn = (url: string): boolean =>
  URL.canParse(url, location.href) && new URL(url, location.href).origin === location.origin;

const AWAY = { target: "_blank", rel: "noreferrer noopener" };

function Picture({ name, source }: { name: string; source: string }) {
  return <img className="picture" alt={name} src={source} />;
}

/** "report" and "text/csv" make "report.csv". */
function fileName(name: string, mimeType: string): string {
  if (/\.\w{1,5}$/.test(name)) return name;
  const kind = mimeType
    .split(";")[0]
    ?.split("/")[1]
    ?.replace(/^(x-|plain$)/, (part) => (part === "plain" ? "txt" : ""));
  return `${name}.${kind?.split("+")[0] ?? "bin"}`;
}
