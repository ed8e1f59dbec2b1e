var s=[...document.querySelectorAll("iframe")],p=["colour","edges","layer"],a={},r=0;s.forEach((t,e)=>{let n=()=>{for(let i of["pointermove","pointerdown","wheel","keydown","input"]){let o=c=>{c.isTrusted&&
(r=e)};t.contentWindow.addEventListener(i,o,{capture:!0,passive:!0})}};t.addEventListener("load",n)});function d(t,e){let{x:n,y:i,zoom:o}=t.view;(e.view.x!==n||e.view.y!==i||e.view.zoom!==o)&&(Object.
assign(e.view,{x:n,y:i,zoom:o}),e.paint());let c=t.state.place;JSON.stringify(c)!==JSON.stringify(e.state.place)&&(c?e.pin(e.picture.locate(...c),c):e.pin(-1,null))}function f(t,e){for(let n of p){let{
value:i}=t.getElementById(n),o=e.getElementById(n);if(!(o.value===i||a[n]===i)){a[n]=i,o.value=i;for(let c of["input","change"])o.dispatchEvent(new Event(c,{bubbles:!0}))}}}var l=t=>t.contentWindow.tropicell;
function u(){let[t,e]=[s[r],s[1-r]],[n,i]=[l(t),l(e)];n?.picture&&i?.picture&&(d(n,i),f(t.contentDocument,e.contentDocument)),requestAnimationFrame(u)}u();
