import "./form.ts";
import "./questions.ts";
import "./timeline.ts";
import "./parts.ts";
