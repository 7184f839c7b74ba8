import "./client.ts";
import "./form.ts";
import "./questions.ts";
import "./store.ts";
import "./timeline.ts";
import "./parts.ts";
