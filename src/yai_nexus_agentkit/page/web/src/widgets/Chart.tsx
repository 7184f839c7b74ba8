import { Bar, BarChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";

/** `{type: "bar" | "line", title?, x: [...], y: [...]}` or several `series: {name: [...]}`. The numbers are a table too. */
export default function Chart({ value }: { name: string; value: any }) {
  const x: unknown[] = value.x ?? (value.data ?? []).map((_: unknown, n: number) => n + 1);
  const series: Record<string, number[]> = value.series ?? { [value.title ?? "value"]: value.y ?? value.data ?? [] };
  const rows = x.map((label, n) => ({
    label,
    ...Object.fromEntries(Object.entries(series).map(([name, ys]) => [name, ys[n]])),
  }));
  const Kind = value.type === "line" ? LineChart : BarChart;
  return (
    <figure className="card chart">
      {value.title && <figcaption>{value.title}</figcaption>}
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={220}>
          <Kind accessibilityLayer={false} data={rows} margin={{ top: 8, right: 8, bottom: 0, left: -16 }}>
            <CartesianGrid vertical={false} stroke="var(--border)" />
            <XAxis dataKey="label" stroke="var(--muted)" tickLine={false} fontSize={12} />
            <YAxis stroke="var(--muted)" tickLine={false} axisLine={false} fontSize={12} />
            <Tooltip
              cursor={{ fill: "var(--hover)" }}
              contentStyle={{ background: "var(--card)", border: "1px solid var(--border)", borderRadius: 8 }}
            />
            {Object.keys(series).map((name, n) =>
              value.type === "line" ? (
                <Line
                  key={name}
                  dataKey={name}
                  stroke={`var(--chart-${(n % 4) + 1})`}
                  strokeWidth={2}
                  isAnimationActive={false}
                />
              ) : (
                <Bar
                  key={name}
                  dataKey={name}
                  fill={`var(--chart-${(n % 4) + 1})`}
                  radius={[4, 4, 0, 0]}
                  maxBarSize={64}
                  isAnimationActive={false}
                />
              ),
            )}
          </Kind>
        </ResponsiveContainer>
      </div>
      <table className="sr">
        <caption>{value.title ?? "Chart"}</caption>
        <tbody>
          {rows.map((row, n) => (
            <tr key={n}>
              {Object.values(row).map((cell, m) => (
                <td key={m}>{String(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
