// What an application shows beside the conversation is there after a reload, for official clients of both generations.
//
//   node check-kept.mjs --url http://127.0.0.1:8000 [--json]
//
// The agent: tests/support/charting.py.
import { CLIENTS, Page, Report, commandLine, canonical, difference, doubled, loadClient, randomUUID, until, wireProblems } from './lib.mjs';

const args = commandLine(), url = args.one('--url'), report = new Report(args);
const clients = await Promise.all(Object.keys(CLIENTS).map(loadClient));
const charts = page => page.stream.events.filter(e => e.type === 'CUSTOM').map(e => e.value.title).join();
const activities = page => page.messages.filter(m => m.role === 'activity').length;

for (const starts of clients) for (const views of clients) {
  await report.group(`${starts.version} ${views.version}`, async check => {
    const threadId = randomUUID(), open = (client, name) => new Page(client, { name, url, threadId });
    const same = (page, other) => {
      const d = difference(canonical(page.messages), canonical(other.messages)), twice = doubled(page.messages);
      check(`${page.name} holds what ${other.name} holds, in the same order`, d === '' && twice === '', d || twice);
      check(`${page.name}: a right stream`, wireProblems(page.stream).length === 0 && page.errors.length === 0, [...wireProblems(page.stream), ...page.errors].join());
    };
    const starter = open(starts, 'starter');
    await starter.say('plan a'); await starter.say('draw b'); await starter.say('pass c');
    const kept = starter.messages.filter(m => m.role === 'activity' && m.activityType !== 'tool_output');
    starter.agent.setMessages(starter.messages.filter(m => m.role !== 'activity' || kept.includes(m)));
    const late = open(views, 'late page'); await late.join();
    same(late, starter);
    check('two activities, and the charts that are kept', activities(late) === 2 && charts(late) === 'a,b', [activities(late), charts(late)]);

    const tab = open(starts, 'tab'); await tab.join();
    const started = tab.say('slow d');
    await until(() => /word1\b/.test(tab.text), 20000, 'the first words');
    const joined = open(views, 'joined page'), joining = joined.join();
    await until(() => /word1\b/.test(joined.text), 20000, 'the first words at the joined page');
    check('a joined page has all at once', activities(joined) === 4 && charts(joined) === 'a,b,d', [activities(joined), charts(joined)]);
    tab.lose(); await started; tab.errors.length = 0;
    await tab.join(); await joining;
    const after = open(views, 'later page'); await after.join();
    same(joined, after); same(tab, after);
    check('the answer is whole', /word9\b/.test(after.text), after.text);
    check('four activities at the end', [tab, joined, after].every(p => activities(p) === 4), [tab, joined, after].map(activities));
  });
}
report.finish();
