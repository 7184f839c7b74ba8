// What the pages' TypeScript calls and an application would have: how it draws things.
declare function drawBar(id: string, content: Record<string, unknown>): void;
declare function drawChart(chart: unknown): void;
declare function drawDocument(text: unknown): void;
declare function drawNotice(id: string, text: string): void;
declare function drawPart(kind: string, source: unknown): void;
declare function drawPlan(id: string, content: Record<string, unknown>): void;
