import {
  Area,
  AreaChart,
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { isObject, listOf, objectOf, textOf } from "../agent/json.ts";
import type { Shown } from "./registry.tsx";
import { ticksOf } from "./ticks.ts";
import { Unknown } from "./Unknown.tsx";

type Row = { label: string } & Record<string, number | string | undefined>;
type Plot = { type: "bar" | "line" | "area"; title: string | undefined; names: string[]; rows: Row[] };

/**
 * `{type?: "bar" | "line" | "area", title?, x?: [...], y: [...]}`; `data` is another name of `y`. Several series:
 * `{series: {name: [...]}}`, or rows as `data: [{label, ...numbers}]`. The numbers are a table for screen readers, too.
 */
export default function Chart({ name, value }: Shown) {
  const plot = plotOf(value);
  if (!plot) return <Unknown name={name} value={value} />;
  return (
    <figure className="card chart">
      {plot.title && <figcaption>{plot.title}</figcaption>}
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={220}>
          {drawn(plot)}
        </ResponsiveContainer>
      </div>
      <table className="sr">
        <caption>{plot.title ?? "Chart"}</caption>
        <thead>
          <tr>
            <td />
            {plot.names.map((series) => (
              <th key={series} scope="col">
                {series}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {plot.rows.map((row, n) => (
            <tr key={n}>
              <th scope="row">{row.label}</th>
              {plot.names.map((series) => (
                <td key={series}>{row[series]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function drawn({ type, names, rows }: Plot) {
  const ticks = ticksOf(rows.flatMap((row) => names.map((series) => Number(row[series] ?? 0))));
  const Kind = { bar: BarChart, line: LineChart, area: AreaChart }[type];
  return (
    <Kind accessibilityLayer={false} data={rows} margin={{ top: 8, right: 8, bottom: 0, left: -12 }}>
      <CartesianGrid vertical={false} stroke="var(--border)" />
      <XAxis dataKey="label" stroke="var(--muted)" tickLine={false} fontSize={12} />
      <YAxis
        stroke="var(--muted)"
        tickLine={false}
        axisLine={false}
        fontSize={12}
        ticks={ticks}
        domain={[ticks[0]!, ticks.at(-1)!]}
      />
      <Tooltip
        cursor={{ fill: "var(--hover)", stroke: "var(--border)" }}
        contentStyle={{ background: "var(--card)", border: "1px solid var(--border)", borderRadius: 8 }}
      />
      {names.length > 1 && <Legend iconType="circle" iconSize={8} wrapperStyle={{ fontSize: 13 }} />}
      {names.map((series, n) => {
        const colour = `var(--chart-${(n % 4) + 1})`;
        const common = { key: series, dataKey: series, isAnimationActive: false };
        if (type === "bar") return <Bar {...common} key={series} fill={colour} radius={[4, 4, 0, 0]} maxBarSize={64} />;
        if (type === "line") return <Line {...common} key={series} stroke={colour} strokeWidth={2} />;
        return <Area {...common} key={series} stroke={colour} fill={colour} fillOpacity={0.15} strokeWidth={2} />;
      })}
    </Kind>
  );
}

function plotOf(value: unknown): Plot | undefined {
  if (!isObject(value)) return undefined;
  const type = value.type === "line" || value.type === "area" ? value.type : "bar";
  const title = textOf(value.title);
  const data = listOf(value.data);
  if (data.some(isObject)) return ofRows(type, title, data.map(objectOf));
  const series = isObject(value.series) ? value.series : { [title ?? "Value"]: value.y ?? value.data };
  const columns = Object.entries(series).map(([name, numbers]) => [name, listOf(numbers).map(Number)] as const);
  const length = Math.max(0, ...columns.map(([, numbers]) => numbers.length));
  if (length === 0) return undefined;
  const labels = listOf(value.x ?? value.labels);
  const rows = Array.from({ length }, (_, n): Row => {
    const numbers = columns.map(([name, all]) => [name, all[n]] as const);
    return { ...Object.fromEntries(numbers), label: String(labels[n] ?? n + 1) };
  });
  return { type, title, names: columns.map(([name]) => name), rows };
}

function ofRows(type: Plot["type"], title: string | undefined, data: Record<string, unknown>[]): Plot | undefined {
  const keys = Object.keys(data[0] ?? {});
  const label = keys.find((key) => typeof data[0]?.[key] === "string");
  const names = keys.filter((key) => typeof data[0]?.[key] === "number");
  if (names.length === 0) return undefined;
  const rows = data.map((row, n): Row => {
    const numbers = names.map((name) => [name, Number(row[name])] as const);
    return { ...Object.fromEntries(numbers), label: label ? String(row[label]) : String(n + 1) };
  });
  return { type, title, names, rows };
}
