"""How a bench's page looks: light, dark and on paper, narrow and wide."""

PAGE_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #c3c9d0;
  --soft: #5b6570; --panel: #f4f6f8; --fps: #1f6fb5; --p50: #2a8f5f; --p95: #b8741a;
  --p99: #b0405f; --knee: #c2410c; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --faint: #49525b;
  --soft: #a2abb5; --panel: #1e2328; --fps: #5aa9ea; --p50: #55c08d; --p95: #e5a64a;
  --p99: #ea7f9c; --knee: #fb923c; --bad: #f2857d; } }
@media print { :root { color-scheme: light; --ink: #000000; --paper: #ffffff; --faint: #c3c9d0;
  --soft: #444444; --panel: #f4f6f8; --fps: #1f6fb5; --p50: #2a8f5f; --p95: #b8741a;
  --p99: #b0405f; --knee: #c2410c; --bad: #b3261e; }
  figure, tr, pre, .cards { break-inside: avoid; } h2, figure { break-after: avoid; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.warning { border-left: 4px solid var(--bad); background: var(--panel); padding: .5rem .75rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem;
  margin: 1.25rem 0; }
.card { background: var(--panel); border-radius: .5rem; padding: .75rem 1rem; }
.card b { display: block; font-size: 1.6rem; line-height: 1.2; }
.card span { color: var(--soft); font-size: .87rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: .92rem; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--faint);
  white-space: nowrap; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; white-space: normal; }
th:first-child, th:nth-child(4):last-child, td:first-child, td.words { text-align: left; }
td:first-child, td.words { white-space: normal; overflow-wrap: break-word; min-width: 6.5rem; }
tr.marked td { font-weight: 600; }
tr.marked td:first-child { border-left: 4px solid var(--knee); }
td.error { color: var(--bad); text-align: left; white-space: normal; overflow-wrap: anywhere; }
pre { background: var(--panel); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto;
  font: .87rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
figure { margin: .75rem 0; }
figure svg { display: block; width: 100%; height: auto; stroke-linejoin: round; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media print { body { font-size: 9.5pt; } main { max-width: none; padding: 0; }
  .wide { overflow: visible; } table { font-size: .85rem; } th, td { padding: .15rem .3rem; }
  td { white-space: normal; } }
"""
