var Pt=`
.diagram { position: relative; width: 100%; height: 100%; touch-action: manipulation; }
.diagram canvas, .diagram svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block; }
.diagram svg text { font: 11px/1 inherit; font-family: inherit; fill: var(--diagram-label, #667085); }
.diagram .neuron { fill: var(--diagram-neuron, #fff); stroke: var(--diagram-line, #98a2b3); stroke-width: 1.25; }
.diagram .neuron.on { fill: var(--diagram-on, #dd7829); stroke: var(--diagram-on, #dd7829); }
.diagram .neuron.middle { fill: var(--diagram-middle, #e9b98f); }
.diagram .neuron.off { fill: var(--diagram-off, #e4e7ec); }
.diagram .neuron.hidden { cursor: pointer; }
.diagram .neuron:hover, .diagram .neuron.chosen { stroke: var(--diagram-strong, #101828); stroke-width: 2.5; }
.diagram .skip { fill: none; stroke: var(--diagram-skip, #7a5af8); stroke-width: 2; }
.diagram .skip.possible { stroke-width: 1.25; stroke-dasharray: 3 4; opacity: 0.38; }
.diagram .target { fill: none; stroke: transparent; stroke-width: 12; pointer-events: stroke; }
.diagram .clickable .target { cursor: pointer; }
.diagram .clickable:hover .skip { opacity: 1; stroke-width: 3; }
.diagram .clickable:focus-visible { outline: none; }
.diagram .clickable:focus-visible .skip { opacity: 1; stroke-width: 4; }
`,lt="http://www.w3.org/2000/svg";var G=class{constructor(t,e={}){this.events=e;if(!document.getElementById("diagram-style")){let n=document.createElement("style");n.id="diagram-style",n.textContent=Pt,document.head.append(n)}this.frame=
document.createElement("div"),this.frame.className="diagram",this.canvas=document.createElement("canvas"),this.svg=document.createElementNS(lt,"svg"),this.svg.setAttribute("role","img"),this.frame.append(
this.canvas,this.svg),t.append(this.frame),this.observer=new ResizeObserver(()=>this.layout()),this.observer.observe(this.frame),this.svg.addEventListener("click",n=>this.clicked(n)),this.svg.addEventListener(
"pointermove",n=>this.moved(n)),this.svg.addEventListener("pointerleave",()=>this.events.onNeuron?.(null))}events;frame;canvas;svg;observer;network={widths:[],skips:[]};blocks=[];neurons=[];lines=[];pattern={
pieces:null};size=[0,0];top=14;due=0;setNetwork(t){this.network=t;let e=t.skips.map(([r,o])=>`${r}→${o}`).join(", "),n=`Network ${t.widths.join(" → ")}${e?`, skips ${e}`:""}`;this.svg.setAttribute(
"aria-label",n),this.layout()}setWeights(t){this.blocks=t,this.due||(this.due=window.setTimeout(()=>this.drawWeights(),100))}setPattern(t,e){this.pattern={pieces:t,counts:e};let n=0;for(let r=1;r<this.
neurons.length-1;r++)for(let o of this.neurons[r]){let s=t?.[n]??0,a=(e?.[n]??2)-1;o.classList.toggle("on",t!==null&&s>0&&s>=a),o.classList.toggle("middle",t!==null&&s>0&&s<a),o.classList.toggle("off",
t!==null&&s===0),n++}}choose(t){for(let e of this.svg.querySelectorAll(".chosen"))e.classList.remove("chosen");t&&this.neurons[t.layer]?.[t.index]?.classList.add("chosen")}refresh(){this.drawWeights()}destroy(){
this.observer.disconnect(),window.clearTimeout(this.due),this.frame.remove()}arcs(){let{skips:t,possible:e}=this.network,n=new Set(t.map(String));return[...(this.events.onSkip?(e??[]).filter(o=>!n.has(
String(o))):[]).map(o=>({skip:o,on:!1,span:o[1]-o[0]})),...t.map(o=>({skip:o,on:!0,span:o[1]-o[0]}))]}room(){let t=this.arcs().map(e=>e.span);return t.length?Math.min(18+13*Math.max(...t),.42*this.size[1]):
14}x(t){let e=Math.max(1,this.network.widths.length-1);return 22+t/e*(this.size[0]-44)}y(t,e){let n=this.network.widths[t],{top:r}=this,o=this.size[1]-(this.network.labels?26:12),s=Math.min(30,(o-r)/Math.
max(1,n));return(r+o)/2+(e-(n-1)/2)*s}radius(t){let e=(this.size[1]-this.top-20)/Math.max(1,this.network.widths[t]);return Math.max(1.5,Math.min(8,.38*e,(this.size[0]-44)/(4*this.network.widths.length)))}layout(){
if(this.size=[this.frame.clientWidth,this.frame.clientHeight],!this.size[0]||!this.network.widths.length)return;let[t,e]=this.size;this.top=this.room(),this.svg.setAttribute("viewBox",`0 0 ${t} ${e}`),
this.svg.replaceChildren();for(let n of this.arcs())this.svg.append(this.arc(n.skip,n.on));this.neurons=this.network.widths.map((n,r)=>Array.from({length:n},(o,s)=>this.neuron(r,s))),this.network.labels?.
forEach((n,r)=>{let o=B("text",{x:this.x(r),y:e-6,"text-anchor":"middle"});o.textContent=n,this.svg.append(o)}),this.setPattern(this.pattern.pieces,this.pattern.counts),this.drawWeights()}arc([t,e],n){
let[r,o]=[this.x(t),this.x(e)],s=this.top-6,a=Math.max(4,s-Math.min(13*(e-t),s-4)),l=`M${r} ${s} C${r+.12*(o-r)} ${a} ${o-.12*(o-r)} ${a} ${o} ${s}`,u=B("g",{"data-skip":`${t}-${e}`}),c=B("title",{});
if(c.textContent=`skip ${t}→${e}${this.events.onSkip?n?": click to remove":": click to add":""}`,u.append(c,B("path",{d:l,class:`skip ${n?"":"possible"}`})),u.append(B("path",{d:l,class:"target"})),
this.events.onSkip){u.classList.add("clickable"),u.setAttribute("tabindex","0"),u.setAttribute("role","switch"),u.setAttribute("aria-checked",String(n)),u.setAttribute("aria-label",`skip ${t}→${e}`);
let h=()=>this.events.onSkip?.([t,e]);u.addEventListener("click",d=>{d.stopPropagation(),h()}),u.addEventListener("keydown",d=>{(d.key==="Enter"||d.key===" ")&&(d.preventDefault(),h())})}return u}neuron(t,e){
let n=t>0&&t<this.network.widths.length-1,r=B("circle",{cx:this.x(t),cy:this.y(t,e),r:this.radius(t),class:`neuron ${n?"hidden":""}`,"data-layer":t,"data-index":e});return this.svg.append(r),r}drawWeights(){
this.due=0;let[t,e]=this.size,n=window.devicePixelRatio||1;this.canvas.width=Math.round(t*n),this.canvas.height=Math.round(e*n);let r=this.canvas.getContext("2d");if(!r||!t)return;r.scale(n,n);let o=getComputedStyle(
this.frame),s=[o.getPropertyValue("--diagram-negative").trim()||"#2f6db4",o.getPropertyValue("--diagram-positive").trim()||"#dd7829"];this.lines=this.visible();let a=Math.max(1e-12,...this.blocks.map(
Nt)),l=Array.from({length:20},()=>new Path2D);for(let u of this.lines){let c=Math.min(9,Math.floor(10*Math.abs(u.value)/a)),h=l[2*c+(u.value>0?1:0)];h.moveTo(u.x,u.y),h.lineTo(u.x2,u.y2)}l.forEach((u,c)=>{
let h=(Math.floor(c/2)+.5)/10;r.globalAlpha=.12+.88*h,r.lineWidth=.4+2.6*h,r.strokeStyle=s[c%2],r.stroke(u)})}visible(){let t=this.blocks.filter(o=>o.from===o.to-1),e=t.reduce((o,s)=>o+s.rows*s.columns,
0),n=0;e>1500&&(n=t.flatMap(s=>ct(s).map(Math.abs)).sort((s,a)=>a-s)[1500]);let r=[];for(let{from:o,to:s,rows:a,columns:l,values:u,stride:c=l}of t)if(!(a>this.network.widths[s]||l>this.network.widths[o]))
for(let h=0;h<a;h++)for(let d=0;d<l;d++){let m=u[h*c+d];m===0||Math.abs(m)<n||r.push({from:o,to:s,row:h,column:d,value:m,x:this.x(o),y:this.y(o,d),x2:this.x(s),y2:this.y(s,h)})}return r}moved(t){let e=t.
target.dataset,n=Number(e.layer),r=n>0&&n<this.network.widths.length-1;this.events.onNeuron?.(r?{layer:n,index:Number(e.index)}:null),this.events.onWeight&&(this.svg.style.cursor=this.lineAt(t)?"point\
er":"")}clicked(t){let e=this.events.onWeight&&this.lineAt(t);e&&this.events.onWeight?.({...e,x:t.clientX,y:t.clientY})}lineAt(t){let e=this.svg.getBoundingClientRect(),[n,r]=[t.clientX-e.left,t.clientY-
e.top],o=null,s=5;for(let a of this.lines){let l=(n-a.x)/(a.x2-a.x);if(l<.06||l>.94)continue;let u=(a.y2-a.y)/(a.x2-a.x),c=Math.abs(a.y+l*(a.y2-a.y)-r)/Math.hypot(1,u);c<s&&([s,o]=[c,a])}return o}};function B(i,t){
let e=document.createElementNS(lt,i);for(let[n,r]of Object.entries(t))e.setAttribute(n,String(r));return e}function ct(i){let{rows:t,columns:e,values:n,stride:r=e}=i;return Array.from({length:t*e},(o,s)=>n[Math.
floor(s/e)*r+s%e])}function Nt(i){return ct(i).reduce((t,e)=>Math.max(t,Math.abs(e)),0)}var p=i=>document.getElementById(i),E=i=>p(i),O=i=>p(i);function x(i,t,e){let n=document.createElement(i);return t!==void 0&&(n.textContent=t),e&&(n.className=e),n}var Tt="⁰¹²³⁴⁵⁶⁷⁸⁹";function Ct(i){let t=[...String(Math.abs(i))].map(e=>Tt[Number(e)]).join("");return`10${i<0?"⁻":""}${t}`}function T(i,t=5,e=0){if(Number.isNaN(i))return"not a nu\
mber";if(Math.abs(i)===1/0)return"unbounded";if(Math.abs(i)<=1e-12*e||i===0)return"0";let n=Math.floor(Math.log10(Math.abs(i)));if(n>=7||n<-4){let[r,o]=i.toExponential(t-1).split("e"),s=String(Number(
r)).replace("-","−");return`${s==="1"?"":s==="−1"?"−":`${s}·`}${Ct(Number(o))}`}return i.toLocaleString("en",{maximumSignificantDigits:t}).replace("-","−")}var V=class{constructor(t,e,n,r){this.canvas=t;this.title=e;this.series=n;this.logarithmic=r}canvas;title;series;logarithmic;steps=[];rows=[];every=1;seen=0;clear(){[this.steps,this.rows,this.every,this.
seen]=[[],[],1,0]}add(t,e){if(this.steps.length&&t<=this.steps[this.steps.length-1])for(;this.steps.length&&t<=this.steps[this.steps.length-1];)this.steps.pop(),this.rows.pop();else if(this.seen++%this.
every)return;this.steps.push(t),this.rows.push(e),this.steps.length>1200&&(this.steps=this.steps.filter((n,r)=>r%2===0),this.rows=this.rows.filter((n,r)=>r%2===0),this.every*=2)}draw(t=this.series){this.
series=t;let{canvas:e}=this,n=window.devicePixelRatio||1,[r,o]=[e.clientWidth,e.clientHeight];e.width=Math.round(r*n),e.height=Math.round(o*n);let s=e.getContext("2d");if(!s||!r)return;s.scale(n,n);let a=getComputedStyle(
e),[l,u]=[a.getPropertyValue("--quiet"),a.getPropertyValue("--rule")];s.font=`11px ${a.fontFamily}`;let[c,h,d,m]=[44,r-8,24,o-18],[y,M]=this.range(),f=Math.max(1,this.steps[this.steps.length-1]??1),w=b=>c+
b/f*(h-c),g=b=>this.logarithmic?Math.log10(Math.max(b,1e-9)):b,v=b=>m-(g(b)-y)/(M-y)*(m-d);s.textBaseline="middle",s.textAlign="right";for(let b of this.ticks(y,M)){let L=m-(b-y)/(M-y)*(m-d);s.strokeStyle=
u,s.lineWidth=1,s.beginPath(),s.moveTo(c,Math.round(L)+.5),s.lineTo(h,Math.round(L)+.5),s.stroke(),s.fillStyle=l,s.fillText(this.logarithmic?Ft(b):Rt(b),c-6,L)}s.fillText(`${f.toLocaleString("en")} st\
eps`,h,o-7),this.legend(s,c,l),this.series.forEach((b,L)=>{s.strokeStyle=b.colour,s.lineWidth=b.dashed?1.25:1.75,s.setLineDash(b.dashed?[4,3]:[]),s.beginPath();let A=!1;this.rows.forEach(($,N)=>{let R=$[L];
if(R==null){A=!1;return}A?s.lineTo(w(this.steps[N]),v(R)):s.moveTo(w(this.steps[N]),v(R)),A=!0}),s.stroke(),s.setLineDash([])})}legend(t,e,n){t.textAlign="left",t.fillStyle=n,t.fillText(this.title,0,9);
let r=Math.max(e+6,t.measureText(this.title).width+14),o=this.series.filter(s=>s.dashed).slice(0,1);for(let s of[...this.series.filter(a=>!a.dashed),...o])t.strokeStyle=s.dashed?n:s.colour,t.lineWidth=
s.dashed?1.25:2,t.setLineDash(s.dashed?[4,3]:[]),t.beginPath(),t.moveTo(r,9),t.lineTo(r+14,9),t.stroke(),t.setLineDash([]),t.fillText(s.name,r+19,9),r+=29+t.measureText(s.name).width}range(){let[t,e]=[
1/0,-1/0];for(let n of this.rows)for(let r=0;r<this.series.length;r++){let o=n[r];if(o==null)continue;let s=this.logarithmic?Math.log10(Math.max(o,1e-9)):o;t=Math.min(t,s),e=Math.max(e,s)}return t>e?this.
logarithmic?[-2,0]:[0,10]:this.logarithmic?e-t<.5?[t-.25,e+.25]:[t,e]:[0,Math.max(e*1.05,4)]}ticks(t,e){let n=(e-t)/3,r=10**Math.floor(Math.log10(n)),o=[1,2,5,10].map(l=>l*r).find(l=>l>=n)??10*r,s=this.
logarithmic?Math.max(1,Math.round(o)):o,a=[];for(let l=Math.ceil(t/s)*s;l<=e+1e-9;l+=s)a.push(l);return a}};function Rt(i){return i>=1e4?`${Number((i/1e3).toPrecision(3))}k`:String(Number(i.toPrecision(
3)))}function Ft(i){return i>=-3?String(Number((10**i).toPrecision(1))):`1e${i}`.replace("-","−")}var ut=["samples","noise","reach","scale","seed","learning_rate","batch","strength","speed"],ht=["data","activation","init","optimiser","penalty","loss"],Ut={phi1:"φ1 (paper)",phi2:"φ2 (paper)",phi3:"\
φ3 (paper)",phi4:"φ4 (paper)",own:"my own",he:"He",xavier:"Xavier",adam:"Adam",sgd:"SGD",rmsprop:"RMSprop",l1:"L1",l2:"L2",xor:"XOR"},_=class{constructor(t){this.change=t;for(let e of ut)p(e).addEventListener(
"change",()=>t({[e]:Number(E(e).value)}));for(let e of ht)p(e).addEventListener("change",()=>t({[e]:O(e).value}));p("compare").addEventListener("change",()=>t({compare:E("compare").checked})),p("clear").
addEventListener("click",()=>t({points:[]}))}change;about=null;show(t){this.about=t;let{settings:e,choices:n}=t;for(let r of ht){let o=O(r);if(!o.options.length)for(let s of n[r]){let a=x("option",Ut[s]??
s.replace(/_/g," "));a.value=s,o.append(a)}o.value=e[r]}for(let r of ut)this.number(r,e[r]);E("compare").checked=e.compare,p("hand").hidden=e.data!=="own";for(let r of document.querySelectorAll(".gene\
rated"))r.hidden=e.data==="own";p("given").hidden=t.given===null,p("given").textContent=t.given===null?"":`Loaded: ${t.given}`,this.layers()}number(t,e){let n=p(t);n instanceof HTMLSelectElement&&![...n.
options].some(r=>Number(r.value)===e)&&n.append(x("option",String(e))),(Number(n.value)!==e||n.value==="")&&(n.value=String(e))}layers(){let{settings:t,most:e}=this.about,{widths:n}=t,r=(a,l)=>{let u=x(
"span",void 0,"one"),c=(d,m,y)=>{let M=x("button",d);return M.setAttribute("aria-label",y),M.disabled=a+m<1||a+m>e[1],M.addEventListener("click",()=>this.change({widths:n.map((f,w)=>w===l?f+m:f)})),M},
h=x("output",String(a));return h.title=`layer ${l+1}`,u.append(c("−",-1,`layer ${l+1}: fewer neurons`),h,c("+",1,`layer ${l+1}: more neurons`)),u},o=x("button","− layer");o.id="less",o.disabled=n.
length<2,o.addEventListener("click",()=>this.resize(n.slice(0,-1)));let s=x("button","+ layer");s.id="more",s.disabled=n.length>=e[0],s.addEventListener("click",()=>this.resize([...n,n[n.length-1]])),
p("layers").replaceChildren(...n.map(r),o,s)}resize(t){let e=this.about.settings.skips.filter(([,n])=>n<=t.length+1);this.change({widths:t,skips:e})}};function mt(i,t,e){let n=[];for(let r of Object.keys(i)){let o=dt(r,i);o!==dt(r,t)&&n.push([r,o])}for(let[r,o]of Object.entries(e))n.push([`view.${r}`,String(o)]);return n.map(([r,o])=>`${r}=${encodeURIComponent(
o)}`).join("&")}function dt(i,t){return i==="widths"?t.widths.join("."):i==="skips"?t.skips.map(e=>e.join("-")).join("."):i==="points"?t.points.map(e=>e.map(Dt).join(",")).join(";"):String(t[i])}function Dt(i){
return String(Number(i.toPrecision(6)))}function pt(i,t){let e={},n=new Map;for(let[r,o]of new URLSearchParams(i.replace(/^#/,"")))r.startsWith("view.")?n.set(r.slice(5),o):r==="widths"?e.widths=tt(o,
"."):r==="skips"?e.skips=o.split(".").filter(Boolean).map(s=>tt(s,"-")):r==="points"?e.points=o.split(";").filter(Boolean).map(s=>tt(s,",")):r in t&&(e[r]=Ht(o,t[r]));return{values:e,view:n}}function tt(i,t){
return i.split(t).filter(Boolean).map(Number)}function Ht(i,t){return typeof t=="number"?Number(i):typeof t=="boolean"?i==="true":i}function q(i,t,e){let n=t*Math.cos(e),r=t*Math.sin(e),o=(i+.3963377774*n+.2158037573*r)**3,s=(i-.1055613458*n-.0638541728*r)**3,a=(i-.0894841775*n-1.291485548*r)**3,l=[4.0767416621*o-3.3077115913*s+.2309699292*
a,-1.2684380046*o+2.6097574011*s-.3413193965*a,-.0041960863*o-.7034186147*s+1.707614701*a],u=c=>{let h=c<=.0031308?12.92*c:1.055*c**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,h)))};
return[u(l[0]),u(l[1]),u(l[2])]}function ft(i){let t=new Uint8Array(4096);for(let e=0;e<1024;e++){let n=2*Math.PI*(e*.6180339887%1),r=(e>>3)%4,o=i?.36+.07*r:.74+.055*r;t.set([...q(o,i?.075:.085,n),255],
4*e)}return t}function gt(i,t,e){if(i===0)return e?[150,150,160]:[110,110,120];let n=.5+5*(i-1)/Math.max(1,t);return q(e?.78:.55,.16,n)}var z=([i,t,e])=>(4278190080|e<<16|t<<8|i)>>>0;function bt(i,t,e,n){let r=new Uint32Array(1024);for(let o=0;o<1024;o++){let s=n((o+.5)/1024*2*4-4),a=s<0?i:e;r[o]=z(t.map((l,u)=>Math.round(l+Math.min(1,
Math.abs(s))*(a[u]-l))))}return r}var Y=class{constructor(t,e){this.width=t;this.height=e;this.image=new ImageData(t,e),this.pixels=new Uint32Array(this.image.data.buffer),this.left=new Float64Array(e),
this.right=new Float64Array(e)}width;height;image;pixels;left;right;clear(t){this.pixels.fill(t)}rows(t,e){let{left:n,right:r,height:o}=this,[s,a]=[1/0,-1/0];for(let c=0;c<e;c++){let h=t[2*c+1];h<s&&(s=
h),h>a&&(a=h)}let l=Math.max(0,Math.ceil(s-.5)),u=Math.min(o,Math.ceil(a-.5));for(let c=l;c<u;c++)n[c]=1/0,r[c]=-1/0;for(let c=0;c<e;c++){let h=c+1<e?c+1:0,[d,m,y,M]=[t[2*c],t[2*c+1],t[2*h],t[2*h+1]];
m>M&&([d,m,y,M]=[y,M,d,m]);let f=Math.max(l,Math.ceil(m-.5)),w=Math.min(u,Math.ceil(M-.5));if(f>=w)continue;let g=(y-d)/(M-m),v=d+(f+.5-m)*g;for(let b=f;b<w;b++,v+=g)v<n[b]&&(n[b]=v),v>r[b]&&(r[b]=v)}
return[l,u]}fill(t,e,n){let[r,o]=this.rows(t,e);for(let s=r;s<o;s++){let a=Math.max(0,Math.ceil(this.left[s]-.5)),l=Math.min(this.width,Math.ceil(this.right[s]-.5));a<l&&this.pixels.fill(n,s*this.width+
a,s*this.width+l)}}shade(t,e,n,r,o,s,a,l){let[u,c]=[1/0,-1/0];for(let g=0;g<e;g++){let v=n*t[2*g]+r*t[2*g+1]+o;v<u&&(u=v),v>c&&(c=v)}let h=1.3*Math.hypot(n,r),d=l!==null&&u<h&&c>-h&&h>0;if(a>=0&&!d){this.
fill(t,e,a);return}let[m,y]=this.rows(t,e),{pixels:M,width:f}=this,w=n*1024/8;for(let g=m;g<y;g++){let v=Math.max(0,Math.ceil(this.left[g]-.5)),b=Math.min(f,Math.ceil(this.right[g]-.5)),L=n*(v+.5)+r*(g+
.5)+o,A=(L+4)*1024/8,$=g*f;if(a<0)for(let N=v;N<b;N++,A+=w)M[$+N]=s[A<0?0:A>=1024?1023:A|0];else v<b&&M.fill(a,$+v,$+b);d&&this.cut($,v,b,L,n,h,l)}}cut(t,e,n,r,o,s,a){let[l,u]=[e,n];if(o!==0){let[c,h]=[
e+(-s-r)/o,e+(s-r)/o];l=Math.max(e,Math.floor(Math.min(c,h))),u=Math.min(n,Math.ceil(Math.max(c,h))+1)}else if(Math.abs(r)>=s)return;for(let c=l;c<u;c++){let h=1-Math.abs(r+(c-e)*o)/s;h>0&&this.blend(
t+c,a,Math.min(1,1.6*h))}}blend(t,e,n){let r=this.pixels[t],o=n*256|0,s=256-o,a=(e&16711935)*o+(r&16711935)*s>>>8&16711935,l=(e&65280)*o+(r&65280)*s>>>8&65280;this.pixels[t]=(4278190080|a|l)>>>0}line(t,e,n,r,o,s){
let{width:a,height:l}=this,u=Math.abs(r-e)>Math.abs(n-t);if(u&&([t,e,n,r]=[e,t,r,n]),t>n&&([t,e,n,r]=[n,r,t,e]),n-t<1e-9)return;let[c,h]=u?[l,a]:[a,l],d=(r-e)/(n-t),m=Math.max(0,Math.round(t-.5)),y=Math.
min(c-1,Math.round(n-.5)-1),M=e+(m+.5-t)*d-.5;for(let f=m;f<=y;f++,M+=d){let w=Math.floor(M),g=M-w;w>=0&&w<h&&this.blend(u?f*a+w:w*a+f,o,s*(1-g)),w>=-1&&w+1<h&&this.blend(u?f*a+w+1:(w+1)*a+f,o,s*g)}}};var X={light:{low:[47,109,180],middle:[246,244,239],high:[221,120,41],ink:[28,33,45]},dark:{low:[84,148,222],middle:[32,35,42],high:[232,140,66],ink:[236,238,243]}},vt=i=>Math.sign(i)*(1-Math.exp(-1.2*
Math.abs(i))),J=class{constructor(t,e,n){this.canvas=t;this.sheet=e;this.look=n;this.pen=t.getContext("2d",{alpha:!1,willReadFrequently:!0})}canvas;sheet;look;pen;raster=null;ramps=null;size=1;picture=null;about=null;layerOf=new Uint8Array;neuron=null;region=-1;describe(t){
this.about=t;let e=[];t.widths.slice(1,-1).forEach((n,r)=>{for(let o=0;o<n;o++)e.push(r+1)}),this.layerOf=Uint8Array.from(e),this.neuron=null,this.region=-1}show(t){this.picture=t,this.region=-1,this.
size=this.strength(),this.draw()}pointAtNeuron(t){t!==this.neuron&&(this.neuron=t,this.drawSheet())}pointAtRegion(t){t!==this.region&&(this.region=t,this.drawSheet())}resize(){let t=window.devicePixelRatio||
1;for(let e of[this.canvas,this.sheet]){let[n,r]=[Math.round(e.clientWidth*t),Math.round(e.clientHeight*t)];(e.width!==n||e.height!==r)&&([e.width,e.height]=[n,r])}}regionAt(t,e){if(!this.picture)return-1;
let{corners:n,starts:r,counts:o}=this.picture;for(let s=0;s<o.length;s++){let[a,l]=[r[s],r[s+1]],u=0,c=!0;for(let h=a;c&&h<l;h++){let d=h+1<l?h+1:a,m=(n[2*d]-n[2*h])*(e-n[2*h+1])-(n[2*d+1]-n[2*h+1])*(t-
n[2*h]);m!==0&&(u===0&&(u=Math.sign(m)),c=Math.sign(m)===u)}if(c&&u!==0)return s}return-1}pattern(t){let{patterns:e,counts:n,bits:r}=this.picture,o=e.length/Math.max(1,n.length),s=new Uint8Array(this.
layerOf.length);for(let a=0;a<s.length;a++)for(let l=0;l<r;l++){let u=a*r+l;s[a]|=(e[t*o+(u>>3)]>>(u&7)&1)<<l}return s}toPlane(t,e){let n=this.sheet.getBoundingClientRect(),{low:r,high:o}=this.about;return[
r[0]+(t-n.left)/n.width*(o[0]-r[0]),o[1]-(e-n.top)/n.height*(o[1]-r[1])]}strength(){let{corners:t,counts:e,starts:n,maps:r}=this.picture,o=new Float32Array(e.length);for(let s=0;s<e.length;s++){let[a,
l]=[t[2*n[s]],t[2*n[s]+1]];o[s]=Math.abs(r[3*s]*a+r[3*s+1]*l+r[3*s+2])}return o.sort(),Math.max(o[Math.floor(.7*(o.length-1))]||0,1e-6)}colours(){let{counts:t,maps:e,patterns:n,bits:r}=this.picture,o=new Uint32Array(
t.length);if(this.look.colouring==="gradient"){let s=Bt(this.look.dark),a=1e-9;for(let l=0;l<t.length;l++)a=Math.max(a,Math.hypot(e[3*l],e[3*l+1]));for(let l=0;l<t.length;l++){let u=Math.atan2(e[3*l+1],
e[3*l])/(2*Math.PI)+1,c=Math.sqrt(Math.hypot(e[3*l],e[3*l+1])/a);o[l]=s[64*Math.min(15,Math.floor(16*c))+(Math.floor(64*u)&63)]}}else if(this.look.colouring==="pattern"||this.look.colouring==="layer"){
let s=new Uint32Array(ft(this.look.dark).buffer),a=n.length/Math.max(1,t.length),u=(this.look.colouring==="pattern"?this.layerOf.length:this.layerOf.filter(c=>c<=this.look.layer).length)*r;for(let c=0;c<
t.length;c++){let h=2166136261;for(let d=0;8*d<u;d++){let m=u>=8*d+8?255:(1<<u-8*d)-1;h=Math.imul(h^n[c*a+d]&m,16777619)}o[c]=s[(h^h>>>15)&1023]}}return o}restyle(t){this.look=t,this.draw()}draw(){let{
about:t,look:e,picture:n}=this;this.resize();let{width:r,height:o}=this.canvas;if(!t||!r||!n)return;(this.raster?.width!==r||this.raster.height!==o)&&(this.raster=new Y(r,o));let s=X[e.dark?"dark":"li\
ght"];if(this.ramps?.dark!==e.dark){let a=l=>bt(s.low,s.middle,s.high,l);this.ramps={dark:e.dark,value:a(vt),decision:a(l=>.66*Math.sign(l))}}this.raster.clear(z(s.middle)),this.paint(this.raster),this.
pen.putImageData(this.raster.image,0,0),this.drawSheet()}paint(t){let{about:e,look:n,picture:r,ramps:o}=this,{corners:s,counts:a,starts:l,maps:u}=r,{low:c,high:h}=e,[d,m]=[t.width/(h[0]-c[0]),t.height/
(h[1]-c[1])],y=new Float64Array(s.length);for(let g=0;g<s.length;g+=2)y[g]=(s[g]-c[0])*d,y[g+1]=(h[1]-s[g+1])*m;let M=n.colouring!=="value"&&n.colouring!=="decision"?this.colours():null,f=n.colouring===
"decision"?o.decision:o.value,w=n.colouring==="layer"?null:z(X[n.dark?"dark":"light"].ink);for(let g=0;g<a.length;g++){let[v,b,L]=[u[3*g],u[3*g+1],u[3*g+2]];t.shade(y.subarray(2*l[g],2*l[g+1]),a[g],v/
d/this.size,-b/m/this.size,(v*c[0]+b*h[1]+L)/this.size,f,M?M[g]:-1,w)}this.paintEdges(t,y)}paintEdges(t,e){let{look:n,about:r,layerOf:o}=this,{counts:s,starts:a,sides:l}=this.picture,u=t.width/Math.sqrt(
Math.max(1,s.length));if(n.edges==="none"||u<2.5)return;let c=n.edges==="layers",h=Math.min(1,u/12)*(c?.8:.5),d=r.widths.length-2,m=z(X[n.dark?"dark":"light"].ink),y=Array.from({length:d+1},(f,w)=>c?z(
gt(w,d,n.dark)):m),M=n.colouring==="layer"?n.layer:d;for(let f=0;f<s.length;f++){let[w,g]=[a[f],a[f+1]];for(let v=w;v<g;v++){let b=l[v]<0?0:o[l[v]];if(b===0||b>M)continue;let L=v+1<g?v+1:w,[A,$,N,R]=[
e[2*v],e[2*v+1],e[2*L],e[2*L+1]];(A<N||A===N&&$<R)&&t.line(A,$,N,R,y[b],h)}}}drawSheet(){let{about:t,picture:e,look:n}=this,r=this.sheet.getContext("2d");if(!r||!t||!e)return;let o=window.devicePixelRatio||
1,[s,a]=[this.sheet.width/o,this.sheet.height/o],{low:l,high:u}=t,c=d=>(d-l[0])/(u[0]-l[0])*s,h=d=>a-(d-l[1])/(u[1]-l[1])*a;r.setTransform(o,0,0,o,0,0),r.clearRect(0,0,s,a),this.neuron!==null&&(r.save(),
this.drawNeuron(r,c,h),r.restore()),n.points&&Wt(r,t,c,h,n.dark),this.region>=0&&(r.strokeStyle=n.dark?"#fff":"#101828",r.lineWidth=2,r.stroke(this.path(this.region,c,h)))}path(t,e,n){let{corners:r,starts:o}=this.
picture,s=new Path2D;for(let a=o[t];a<o[t+1];a++)s.lineTo(e(r[2*a]),n(r[2*a+1]));return s.closePath(),s}drawNeuron(t,e,n){let{corners:r,counts:o,starts:s,sides:a}=this.picture;t.fillStyle=this.look.dark?
"rgb(255 255 255 / 0.16)":"rgb(16 24 40 / 0.13)";for(let l=0;l<o.length;l++)this.pieceOf(l)>0&&t.fill(this.path(l,e,n));t.strokeStyle=this.look.dark?"#ffd166":"#c01574",t.lineWidth=3,t.lineCap="round",
t.beginPath();for(let l=0;l<o.length;l++){let[u,c]=[s[l],s[l+1]];for(let h=u;h<c;h++){if(a[h]!==this.neuron)continue;let d=h+1<c?h+1:u;t.moveTo(e(r[2*h]),n(r[2*h+1])),t.lineTo(e(r[2*d]),n(r[2*d+1]))}}
t.stroke()}pieceOf(t){let{patterns:e,counts:n,bits:r}=this.picture,o=e.length/Math.max(1,n.length),s=0;for(let a=0;a<r;a++){let l=this.neuron*r+a;s|=(e[t*o+(l>>3)]>>(l&7)&1)<<a}return s}boundaryLength(t){
return this.picture?this.picture.sides.filter(e=>e===t).length:0}svg(t=600){let{picture:e,about:n,look:r}=this,{low:o,high:s}=n,{corners:a,counts:l,starts:u,maps:c}=e,h=this.colours(),d=new Uint8Array(
h.buffer),m=[];for(let f=0;f<l.length;f++){let[w,g]=[0,0],v=[];for(let $=u[f];$<u[f+1];$++){let[N,R]=[a[2*$],a[2*$+1]];w+=N/l[f],g+=R/l[f];let At=(N-o[0])/(s[0]-o[0])*t,$t=t-(R-o[1])/(s[1]-o[1])*t;v.push(
`${At.toFixed(2)},${$t.toFixed(2)}`)}let b=c[3*f]*w+c[3*f+1]*g+c[3*f+2],A=r.colouring!=="decision"&&r.colouring!=="value"?[...d.slice(4*f,4*f+3)]:et(vt(r.colouring==="value"?b/this.size:.9*Math.sign(b)),
r.dark);m.push(`<path d="M${v.join("L")}Z" fill="rgb(${A.join()})"/>`)}let y=r.edges==="none"?"none":r.dark?"#eceef3":"#1c212d",M=[];for(let f=0;r.points&&f<n.points.length;f+=3){let[w,g,v]=n.points.slice(
f,f+3),b=(w-o[0])/(s[0]-o[0])*t,L=t-(g-o[1])/(s[1]-o[1])*t,A=et(1.1*Math.max(-1,Math.min(1,v)),r.dark).join();M.push(`<circle cx="${b.toFixed(2)}" cy="${L.toFixed(2)}" r="3.5" fill="rgb(${A})" stroke=\
"#fff"/>`)}return[`<svg xmlns="http://www.w3.org/2000/svg" width="${t}" height="${t}" viewBox="0 0 ${t} ${t}">`,`<g stroke="${y}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,...m,
"</g>",...M,"</svg>"].join(`
`)}};function Wt(i,t,e,n,r){let{points:o}=t,s=1e-9;for(let u=2;u<o.length;u+=3)s=Math.max(s,Math.abs(o[u]));let a=e(t.high[0]),l=Math.min(o.length>1500?2:3.5,.5+a/130);i.lineWidth=Math.min(1,a/300);for(let u=0;u<
o.length;u+=3)i.beginPath(),i.arc(e(o[u]),n(o[u+1]),l,0,2*Math.PI),i.fillStyle=`rgb(${et(1.15*o[u+2]/s,r).join(" ")})`,i.fill(),i.strokeStyle=r?"#0d0f13":"#fff",i.stroke()}function et(i,t){let{low:e,middle:n,
high:r}=X[t?"dark":"light"],o=i<0?e:r,s=Math.min(1.2,Math.abs(i));return n.map((a,l)=>Math.round(Math.max(0,Math.min(255,a+s*(o[l]-a)))))}function Bt(i){let t=new Uint32Array(1024),e=new Uint8Array(t.
buffer);for(let n=0;n<t.length;n++){let[r,o]=[Math.floor(n/64)/15,n%64/64*2*Math.PI],s=i?.24+.42*r:.96-.3*r;e.set([...q(s,.02+.13*r,o),255],4*n)}return t}var Ot={float32:Float32Array,float64:Float64Array,uint8:Uint8Array,uint16:Uint16Array,int16:Int16Array},K=class{constructor(t){this.listener=t;let e=new URLSearchParams(location.search).get("token")??
"";this.socket=new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(e)}`),this.socket.binaryType="arraybuffer",this.socket.addEventListener("message",n=>this.arrived(n.data)),this.socket.
addEventListener("close",()=>t.ended())}listener;socket;latest=null;waiting=!1;do(t,e={}){this.socket.readyState===WebSocket.OPEN&&this.socket.send(JSON.stringify({do:t,...e}))}change(t){this.do("sett\
ings",{values:t})}async upload(t){let e=new TextEncoder().encode(JSON.stringify({do:"upload",name:t.name})),n=new Uint8Array(4);new DataView(n.buffer).setUint32(0,e.length,!0),this.socket.send(await new Blob(
[n,e,t]).arrayBuffer())}arrived(t){if(typeof t=="string"){let r=JSON.parse(t);"settings"in r?this.listener.described(r):this.listener.noticed(r);return}let{header:e,start:n}=yt(t);if(e.file){this.listener.
received(e.file,new Blob([t.slice(n)]));return}this.latest=t,!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{if(this.waiting=!1,!this.latest)return;let r=zt(this.latest);this.latest=null,this.
do("drawn"),this.listener.framed(r)}))}};function yt(i){let t=new DataView(i).getUint32(0,!0);return{header:JSON.parse(new TextDecoder().decode(new Uint8Array(i,4,t))),start:4+t}}function zt(i){let{header:t,
start:e}=yt(i),n=c=>{let[h,d,m]=t.arrays[c];return new Ot[h](i,e+d,m)},r=t.pictures.map(c=>{let h=y=>n(`${c.name}.${y}`),d=h("counts"),m=new Uint32Array(d.length+1);for(let y=0;y<d.length;y++)m[y+1]=m[y]+
d[y];return{...c,counts:d,starts:m,corners:h("corners"),sides:h("sides"),patterns:h("patterns"),maps:h("maps"),vector:h("vector")}}),{step:o,epoch:s,running:a,recording:l,film:u}=t;return{step:o,epoch:s,
running:a,recording:l,film:u,pictures:r}}var k={colouring:"value",layer:1,edges:"layers",points:!0,dark:window.matchMedia("(prefers-color-scheme: dark)").matches},P=new Map,S=null,D=null,W="skips",wt=!1,H=[],Mt=0,Z=null,F=null,C=new K({described:Vt,
framed:jt,noticed:Gt,received:_t,ended:qt}),It=new _(i=>C.change(i)),j=new G(p("diagram"),{onNeuron:i=>{let t=i&&S?te(i.layer)+i.index:null;for(let e of P.values())e.plane.pointAtNeuron(t)},onSkip:Qt,
onWeight:ee}),rt=new V(p("loss-chart"),"loss",[],!0),it=new V(p("region-chart"),"regions",[],!1);function Vt(i){let t=!wt;if(wt=!0,S=i,t&&location.hash.length>1){let{values:n,view:r}=pt(location.hash,
i.settings);if(ie(r),Object.keys(n).length){C.do("settings",{values:n,all:!0});return}}It.show(i);let e=i.widths.length-2;E("layer").max=String(Math.max(1,e)),k.layer=Math.min(k.layer,Math.max(1,e)),j.
setNetwork({widths:i.widths,skips:i.settings.skips,possible:i.given===null?Zt(e):i.settings.skips,labels:i.widths.map((n,r)=>r===0?"input":r===e+1?"output":`layer ${r}`)});for(let n of P.values())n.plane.
describe(i),xt(n,i);at(),document.documentElement.dataset.ready="yes",t&&window.setTimeout(()=>{D||I("Preparing the engine: the first time after an installation this takes some seconds …")},1500)}function jt(i){
if(!S)return;(!D||i.step<D.step||i.step===0)&&(rt.clear(),it.clear()),D=i,Mt++,H=[...H.slice(-29),performance.now()];let t=i.pictures.map(n=>n.name);for(let[n,r]of P)t.includes(n)||(r.figure.remove(),
P.delete(n),W===n&&(W="skips"));p("planes").classList.toggle("single",t.length===1);for(let n of i.pictures){let r=P.get(n.name)??Yt(n.name);r.plane.show(n),Xt(r,n,t.length>1)}Et(),st(),Lt(i),p("count\
-step").textContent=i.step.toLocaleString("en"),p("count-epoch").textContent=T(i.epoch,3);let e=H[H.length-1]-H[0];p("count-fps").textContent=i.running&&e?(1e3*(H.length-1)/e).toFixed(0):"–",i.running||
(H=[]),Q("play",i.running),Q("record",i.recording),p("record").title=i.recording?`${i.film} pictures: stop recording`:"Record a film",document.documentElement.dataset.step=String(i.step),document.documentElement.
dataset.running=String(i.running),document.documentElement.dataset.film=String(i.film)}var kt=0;function Gt(i){i.running===!1&&Q("play",!1);let t=i.busy;if(t===null){p("notice").hidden=!0;return}I(t?`\
Working: ${t[0]} of ${t[1]} …`:i.error??i.note??"",!!i.error)}function I(i,t=!1){if(!i)return;let e=p("notice");e.textContent=i,e.classList.toggle("bad",t),e.hidden=!1,window.clearTimeout(kt),kt=window.
setTimeout(()=>{e.hidden=!0},t?9e3:5e3)}function _t(i,t){ot(t,i),I(`${i}: ${(t.size/1024).toFixed(0)} kB`)}function qt(){Q("play",!1),p("notice").hidden&&I("The server has ended. Start it again with: \
tropicell play",!0),document.documentElement.dataset.ended="yes"}function Yt(i){let t=x("figure");t.dataset.name=i;let e=x("button",void 0,"name");e.title="Show the weights of this one in the diagram";
let n=x("span"),r=x("figcaption");r.append(e,n);let o=x("div",void 0,"box"),[s,a]=[x("canvas"),x("canvas",void 0,"sheet")],l=[x("div",void 0,"corner from"),x("div",void 0,"corner to")];o.append(s,a,...l);
let u=x("p",void 0,"facts");t.append(r,o,u),i==="skips"?p("planes").prepend(t):p("planes").append(t);let c={name:i,figure:t,title:e,counts:n,facts:u,corners:l,plane:new J(s,a,k)};return c.plane.describe(
S),xt(c,S),e.addEventListener("click",()=>{W=i,Et(),St()}),a.addEventListener("pointermove",h=>{F={view:c,x:h.clientX,y:h.clientY},st()}),a.addEventListener("pointerleave",()=>{F=null,st()}),a.addEventListener(
"click",h=>ne(c,h)),new ResizeObserver(()=>c.plane.draw()).observe(o),P.set(i,c),c}function xt(i,{low:t,high:e}){i.corners[0].textContent=`(${T(t[0],3)}, ${T(t[1],3)})`,i.corners[1].textContent=`(${T(
e[0],3)}, ${T(e[1],3)})`}function Xt(i,t,e){i.title.textContent=e?t.name==="skips"?"with skips":"without skips":"network";let n=(s,a)=>(a?"":"≥ ")+s.toLocaleString("en"),r=(s,a)=>{let l=x("span");return l.
append(x("b",s),` ${a}`),l},o=[r(n(t.regions,t.complete),"regions in the box"),r(n(t.whole,t.wholeComplete),"over R²"),r(t.loss===null?"–":T(t.loss,2),"loss")];S.loss==="logistic"&&t.accuracy!==null&&
o.push(r(`${Math.round(100*t.accuracy)}%`,"right")),i.title.parentElement.replaceChildren(i.title,...o),i.figure.dataset.regions=String(t.regions),i.figure.dataset.whole=String(t.whole),St()}function St(){
for(let i of P.values())i.title.setAttribute("aria-pressed",String(P.size>1&&i.name===W))}function Jt(i){return D?.pictures.find(t=>t.name===i)}function Et(){let i=Jt(W)?.vector;if(!i||!S)return;let t=S.
terms.flatMap((e,n)=>e.slice(0,1).map(([r,o,s,a,l])=>({from:r,to:n+1,rows:s,columns:l,stride:a,values:i.subarray(o,o+s*a)})));j.setWeights(t)}function st(){if(!S||!F||!P.has(F.view.name)){for(let e of P.
values())e.plane.pointAtRegion(-1),e.facts.textContent="";j.setPattern(null);return}let[i,t]=F.view.plane.toPlane(F.x,F.y);for(let e of P.values()){let n=e.plane.regionAt(i,t);e.plane.pointAtRegion(n),
Kt(e,n,i,t),e===F.view&&j.setPattern(n<0?null:e.plane.pattern(n))}}function Kt(i,t,e,n){if(i.figure.dataset.region=String(t),t<0||!i.plane.picture){i.facts.textContent="";return}let[r,o,s]=i.plane.picture.
maps.subarray(3*t,3*t+3),a=i.plane.pattern(t),l=a.filter(m=>m>0).length,u=0,c=S.widths.slice(1,-1).map(m=>{let y=a.subarray(u,u+m);return u+=m,y.join("")}),h=m=>m<0?"−":"+",d=`${T(r,3)} x ${h(o)} ${T(
Math.abs(o),3)} y ${h(s)} ${T(Math.abs(s),3)}`;i.facts.replaceChildren(`${l} of ${a.length} neurons active, output ${T(r*e+o*n+s,3)} = ${d} `,x("code",c.join(" ")))}function Lt(i){let t=getComputedStyle(
document.documentElement),e={skips:t.getPropertyValue("--skips").trim(),plain:t.getPropertyValue("--plain").trim()},n=i.pictures.length>1,r=c=>n?c.name==="skips"?"with":"without":"network",o=i.pictures.
some(c=>c.test!==null),s=[],a=[],l=[],u=[];for(let c of i.pictures)s.push({name:r(c),colour:e[c.name]}),a.push(c.loss),o&&(s.push({name:"test",colour:e[c.name],dashed:!0}),a.push(c.test)),l.push({name:r(
c),colour:e[c.name]}),l.push({name:"over R²",colour:e[c.name],dashed:!0}),u.push(c.regions,c.whole);rt.add(i.step,a),it.add(i.step,u),rt.draw(s),it.draw(l)}function Zt(i){let t=[];for(let e=2;e<=i+1;e++)
for(let n=0;n<e-1;n++)t.push([n,e]);return t}function Qt([i,t]){if(!S)return;let e=S.settings.skips.some(r=>r[0]===i&&r[1]===t),n=S.settings.skips.filter(r=>r[0]!==i||r[1]!==t);C.change({skips:e?n:[...n,
[i,t]]})}function te(i){return S.widths.slice(1,i).reduce((t,e)=>t+e,0)}function ee({from:i,to:t,row:e,column:n,value:r,x:o,y:s}){let a=S?.terms[t-1][0];if(!a)return;Z={name:W,place:a[1]+e*a[3]+n};let l=p(
"weight"),u=i===0?`input ${n+1}`:`layer ${i}, neuron ${n+1}`,c=t===S.widths.length-1?"output":`layer ${t}, neuron`;p("weight-name").textContent=`${u} → ${c} ${e+1}`,E("weight-range").value=String(r),
E("weight-value").value=T(r,4).replace("−","-"),l.hidden=!1,l.style.left=`${Math.max(8,Math.min(o-40,window.innerWidth-l.offsetWidth-8))}px`,l.style.top=`${Math.min(s+14,window.innerHeight-l.offsetHeight-
8)}px`}function nt(i){Z&&Number.isFinite(i)&&C.do("weight",{network:Z.name,place:Z.place,value:i})}function ne(i,t){if(S?.settings.data!=="own")return;let[e,n]=i.plane.toPlane(t.clientX,t.clientY),r=(S.
high[0]-S.low[0])*.012,{points:o}=S.settings,s=o.filter(u=>Math.hypot(u[0]-e,u[1]-n)>r),a=Number(document.querySelector("input[name=class]:checked").value),l=s.length<o.length?s:[...o,[Number(e.toPrecision(
6)),Number(n.toPrecision(6)),t.shiftKey?-a:a]];C.change({points:l})}function Q(i,t){p(i).setAttribute("aria-pressed",String(t))}function ot(i,t){let e=x("a");e.href=URL.createObjectURL(i),e.download=t,
e.click(),setTimeout(()=>URL.revokeObjectURL(e.href),1e3)}function re(i){p("keep").open=!1;let t=P.get(W);if(i==="png"&&t){let e=x("canvas");[e.width,e.height]=[t.plane.canvas.width,t.plane.canvas.height];
let n=e.getContext("2d");n.drawImage(t.plane.canvas,0,0),n.drawImage(t.plane.sheet,0,0),e.toBlob(r=>{r&&ot(r,"regions.png")})}else i==="svg"&&t?ot(new Blob([t.plane.svg()],{type:"image/svg+xml"}),"reg\
ions.svg"):C.do("keep",{what:i,colouring:k.colouring})}function at(){if(!S)return;let i={};k.colouring!=="value"&&(i.colours=k.colouring),k.colouring==="layer"&&(i.layer=k.layer),k.edges!=="layers"&&(i.
edges=k.edges),k.points||(i.points=!1);let t=mt(S.settings,S.defaults,i);history.replaceState(null,"",`${location.pathname}${location.search}${t?`#${t}`:""}`)}function ie(i){let t=i.get("colours");t&&
document.querySelector(`#colouring [data-value="${CSS.escape(t)}"]`)&&(k.colouring=t),k.layer=Math.max(1,Number(i.get("layer")??1)||1);let e=i.get("edges");(e==="plain"||e==="none")&&(k.edges=e),k.points=
i.get("points")!=="false",U()}function U(){document.documentElement.dataset.theme=k.dark?"dark":"light";for(let i of document.querySelectorAll("#colouring button"))i.setAttribute("aria-checked",String(
i.dataset.value===k.colouring));p("layer-label").hidden=k.colouring!=="layer",E("layer").value=String(k.layer),p("layer-out").textContent=String(k.layer),O("edges").value=k.edges,E("points").checked=k.
points;for(let i of P.values())i.plane.restyle(k);j.refresh(),D&&Lt(D),at()}function se(){p("play").addEventListener("click",()=>{C.do(p("play").getAttribute("aria-pressed")==="true"?"pause":"play")}),
p("step").addEventListener("click",()=>C.do("step")),p("reset").addEventListener("click",()=>C.do("reset")),p("record").addEventListener("click",()=>{C.do("record",{on:p("record").getAttribute("aria-p\
ressed")!=="true"})});for(let i of document.querySelectorAll("[data-keep]"))i.addEventListener("click",()=>re(i.dataset.keep));p("link").addEventListener("click",()=>{at(),navigator.clipboard.writeText(
location.href).then(()=>I("The link is in the clipboard."),()=>I(location.href))}),p("theme").addEventListener("click",()=>{k.dark=!k.dark,U()});for(let i of document.querySelectorAll("#colouring butt\
on"))i.addEventListener("click",()=>{k.colouring=i.dataset.value,U()});p("layer").addEventListener("input",()=>{k.layer=Number(E("layer").value),U()}),p("edges").addEventListener("change",()=>{k.edges=
O("edges").value,U()}),p("points").addEventListener("change",()=>{k.points=E("points").checked,U()}),p("file").addEventListener("change",()=>{[...E("file").files??[]].sort((t,e)=>e.size-t.size).reduce(
(t,e)=>t.then(()=>C.upload(e)),Promise.resolve()),E("file").value=""}),p("weight-range").addEventListener("input",()=>{E("weight-value").value=E("weight-range").value,nt(Number(E("weight-range").value))}),
p("weight-value").addEventListener("change",()=>nt(Number(E("weight-value").value))),p("weight").addEventListener("submit",i=>{i.preventDefault(),nt(Number(E("weight-value").value)),p("weight").hidden=
!0}),document.addEventListener("keydown",i=>{if(i.key==="Escape"&&(p("weight").hidden=!0,p("keep").open=!1),i.target instanceof Element&&i.target.closest("input, select, button, summary, g")||i.ctrlKey||
i.metaKey||i.altKey)return;let e={" ":"play",s:"step",r:"reset"}[i.key];e&&(i.preventDefault(),p(e).click())}),window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change",i=>{k.dark=i.
matches,U()})}se();U();Object.assign(window,{play:{views:P,look:k,frame:()=>D,about:()=>S,drawn:()=>Mt}});
