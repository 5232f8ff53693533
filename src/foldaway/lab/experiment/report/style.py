"""How a report looks on light and dark screens and on paper, and what its few lines of script do."""

STYLE = """
:root{--paper:#fff;--ink:#1b1b1b;--soft:#5c5c5c;--grid:#e4e4e4;--rule:#c9c9c9;--fill:#0072b222;--band:#f5f5f5;--lead:#bbb}
@media screen and (prefers-color-scheme:dark){:root{--paper:#16181a;--ink:#ececec;--soft:#a9a9a9;--grid:#303438;
--rule:#4a4f54;--fill:#4db2ec3a;--band:#1f2225;--lead:#666}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1160px;padding:1.5rem 1.2rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
h1{font-size:1.6rem;margin:.2rem 0}
h2{font-size:1.25rem;margin:2.6rem 0 .5rem;border-top:1px solid var(--rule);padding-top:1.1rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p{margin:.5rem 0;max-width:56rem}
p.lead{font-size:1.15rem}
nav{display:flex;flex-wrap:wrap;gap:0 .9rem;font-size:.9rem;margin:.6rem 0 0;color:var(--soft)}
nav a{white-space:nowrap}
a{color:inherit}
code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
th,td{padding:.22rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--rule);vertical-align:bottom;white-space:normal}
.long{white-space:normal;min-width:16rem}
.l{text-align:left}
tr.first+tr.first td,tr+tr.first td{border-top:2px solid var(--rule)}
tbody tr:hover{background:var(--band)}
td.fill{background:linear-gradient(to right,var(--fill) var(--share),transparent var(--share))}
.note{color:var(--soft);font-size:.88rem}
figure{margin:.6rem 0}
figcaption{font-weight:600;font-size:.95rem;margin-bottom:.2rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(360px,100%),1fr));gap:.4rem 1.2rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.grid{stroke:var(--grid);stroke-width:1}
.axis{stroke:var(--soft);fill:none;stroke-width:1.2}
.tick,.label{fill:var(--soft)}
.label{font-size:13px}
.name{fill:var(--c)}
.name.strong{font-weight:700}
.leader{stroke:var(--lead);fill:none;stroke-width:.8}
.line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round}
.strong .line{stroke-width:3.2}
.bound .line{stroke-dasharray:6 4}
.plain .line{opacity:.85}
.dot{fill:var(--c);stroke:var(--paper);stroke-width:1}
.dot.cross,.dot.plus{fill:none;stroke:var(--c);stroke-width:2}
.series.off{display:none}
.series.dim{opacity:.18}
.key{display:flex;flex-wrap:wrap;gap:.2rem .4rem;margin:.5rem 0}
.key button{display:inline-flex;align-items:center;gap:.3rem;font:inherit;font-size:.85rem;color:var(--ink);
background:none;border:1px solid var(--rule);border-radius:1rem;padding:.05rem .6rem .05rem .4rem;cursor:pointer}
.key button[aria-pressed=false]{opacity:.4}
.key svg{width:14px;height:14px}
@media print{
body{max-width:none;font-size:11px;padding:0}
nav,.key{display:none}
h2{break-after:avoid}
figure,tr{break-inside:avoid}
td.fill{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.scroll{overflow:visible}
table{font-size:9px}
th,td{padding:.1rem .3rem;white-space:normal}
}
"""

SCRIPT = """
(function(){
var buttons=document.querySelectorAll('.key button'),all=document.querySelectorAll('.series');
function toggle(name,on){
buttons.forEach(function(b){if(b.dataset.name===name)b.setAttribute('aria-pressed',on)});
all.forEach(function(g){if(g.dataset.name===name)g.classList.toggle('off',!on)})}
function dim(name){all.forEach(function(g){g.classList.toggle('dim',name!==null&&g.dataset.name!==name)})}
buttons.forEach(function(b){
b.addEventListener('click',function(){toggle(b.dataset.name,b.getAttribute('aria-pressed')!=='true')})});
[buttons,all].forEach(function(some){some.forEach(function(g){
g.addEventListener('mouseenter',function(){if(g.getAttribute('aria-pressed')!=='false')dim(g.dataset.name)});
g.addEventListener('mouseleave',function(){dim(null)})})});
})();
"""
