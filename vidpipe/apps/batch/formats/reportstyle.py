"""How a run's report looks, beyond what all of vidpipe's pages share."""

REPORT_STYLE = """
:root { --k0: #1f6fb5; --k1: #c2410c; --k2: #2a8f5f; --k3: #8e44ad; --k4: #7a828b;
  --good: #1f7a4d; --track: #e4e8ec; }
@media (prefers-color-scheme: dark) { :root { --k0: #5aa9ea; --k1: #fb923c; --k2: #55c08d;
  --k3: #c58be0; --k4: #98a1ab; --good: #55c08d; --track: #2b3138; } }
@media print { :root { --k0: #1f6fb5; --k1: #c2410c; --k2: #2a8f5f; --k3: #8e44ad; --k4: #7a828b;
  --good: #1f7a4d; --track: #e4e8ec; } article, .fact { break-inside: avoid; }
  figure { break-after: auto; } }
main { max-width: 68rem; }
header.head { border-bottom: 1px solid var(--faint); padding-bottom: .75rem; }
a { color: inherit; text-decoration-color: var(--faint); text-underline-offset: .15em; }
article { border: 1px solid var(--faint); border-radius: .5rem; padding: .75rem 1rem;
  margin: .75rem 0; scroll-margin-top: .5rem; }
article h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
article p { font-size: .9rem; }
article figure svg { font: 11px system-ui, "DejaVu Sans", sans-serif; }
.title { display: flex; gap: .75rem; align-items: baseline; justify-content: space-between; }
.badge { font-size: .78rem; font-weight: 600; white-space: nowrap; color: var(--good); }
.badge.failed { color: var(--bad); } .badge.unfinished { color: var(--knee); }
svg text { fill: var(--soft); }
svg .grid { stroke: var(--faint); stroke-width: .6; }
svg .most { fill: var(--k4); opacity: .22; }
svg .line { fill: none; stroke-width: 1.6; }
svg .k0 { stroke: var(--k0); } svg .k1 { stroke: var(--k1); } svg .k2 { stroke: var(--k2); }
svg .k3 { stroke: var(--k3); } svg .k4 { stroke: var(--k4); }
.keys { display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .85rem; color: var(--soft); }
.keys i { display: inline-block; width: .7em; height: .7em; border-radius: .15em;
  margin-right: .4em; background: var(--k4); }
.keys i.k0 { background: var(--k0); } .keys i.k1 { background: var(--k1); }
.keys i.k2 { background: var(--k2); } .keys i.k3 { background: var(--k3); }
.keys i.most { opacity: .35; }
.thumbs { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr));
  gap: .6rem; margin-top: .6rem; }
.thumbs figure { margin: 0; font-size: .8rem; color: var(--soft); overflow-wrap: anywhere; }
.thumbs img { display: block; width: 100%; height: auto; max-height: 9.5rem; object-fit: contain;
  border-radius: .3rem; background: var(--panel); }
.bar { display: block; height: .6rem; border-radius: .3rem; background: var(--track);
  min-width: 8rem; }
.bar b { display: block; height: 100%; border-radius: .3rem; background: var(--k0);
  min-width: 2px; }
td.bar-cell { width: 55%; }
table.files td:first-child { min-width: 12rem; overflow-wrap: anywhere; }
table td.left, table th.left { text-align: left; white-space: normal; }
td.left { overflow-wrap: break-word; }
@media print { .bar b, .bar, .keys i, .card { print-color-adjust: exact;
  -webkit-print-color-adjust: exact; } .thumbs { grid-template-columns: repeat(4, 1fr); } }
"""
