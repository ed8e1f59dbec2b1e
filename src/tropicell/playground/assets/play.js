function G(r,t,e){let n=t*Math.cos(e),i=t*Math.sin(e),s=(r+.3963377774*n+.2158037573*i)**3,o=(r-.1055613458*n-.0638541728*i)**3,a=(r-.0894841775*n-1.291485548*i)**3,l=[4.0767416621*s-3.3077115913*o+.2309699292*
a,-1.2684380046*s+2.6097574011*o-.3413193965*a,-.0041960863*s-.7034186147*o+1.707614701*a],c=u=>{let h=u<=.0031308?12.92*u:1.055*u**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,h)))};
return[c(l[0]),c(l[1]),c(l[2])]}function ct(r){let t=new Uint8Array(4096);for(let e=0;e<1024;e++){let n=2*Math.PI*(e*.6180339887%1),i=(e>>3)%4,s=r?.36+.07*i:.74+.055*i;t.set([...G(s,r?.075:.085,n),255],
4*e)}return t}function q(r,t,e){if(r===0)return e?[150,150,160]:[110,110,120];let n=.5+5*(r-1)/Math.max(1,t);return G(e?.78:.55,.16,n)}function ut([r,t,e],n=1){return n===1?`rgb(${r},${t},${e})`:`rgba(${r},${t},${e},${n})`}var Nt=`
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
`,ht="http://www.w3.org/2000/svg";var _=class{constructor(t,e={}){this.events=e;if(!document.getElementById("diagram-style")){let n=document.createElement("style");n.id="diagram-style",n.textContent=Nt,document.head.append(n)}this.frame=
document.createElement("div"),this.frame.className="diagram",this.canvas=document.createElement("canvas"),this.svg=document.createElementNS(ht,"svg"),this.svg.setAttribute("role","img"),this.frame.append(
this.canvas,this.svg),t.append(this.frame),this.observer=new ResizeObserver(()=>this.layout()),this.observer.observe(this.frame),this.svg.addEventListener("click",n=>this.clicked(n)),this.svg.addEventListener(
"pointermove",n=>this.moved(n)),this.svg.addEventListener("pointerleave",()=>this.events.onNeuron?.(null))}events;frame;canvas;svg;observer;network={widths:[],skips:[]};blocks=[];neurons=[];lines=[];pattern={
pieces:null};size=[0,0];top=14;due=0;setNetwork(t){this.network=t;let e=t.skips.map(([i,s])=>`${i}→${s}`).join(", "),n=`Network ${t.widths.join(" → ")}${e?`, skips ${e}`:""}`;this.svg.setAttribute(
"aria-label",n),this.layout()}setWeights(t){this.blocks=t,this.lines.length||this.drawWeights(),this.due||(this.due=window.setTimeout(()=>this.drawWeights(),100))}setPattern(t,e){this.pattern={pieces:t,
counts:e};let n=0;for(let i=1;i<this.neurons.length-1;i++)for(let s of this.neurons[i]){let o=t?.[n]??0,a=(e?.[n]??2)-1;s.classList.toggle("on",t!==null&&o>0&&o>=a),s.classList.toggle("middle",t!==null&&
o>0&&o<a),s.classList.toggle("off",t!==null&&o===0),n++}}setLabelColours(t){this.network={...this.network,colours:t},[...this.svg.querySelectorAll(".label")].forEach((e,n)=>{e.style.fill=t[n]??"",e.style.
fontWeight=t[n]?"600":""})}choose(t){for(let e of this.svg.querySelectorAll(".chosen"))e.classList.remove("chosen");t&&this.neurons[t.layer]?.[t.index]?.classList.add("chosen")}refresh(){this.drawWeights()}destroy(){
this.observer.disconnect(),window.clearTimeout(this.due),this.frame.remove()}arcs(){let{skips:t,possible:e}=this.network,n=new Set(t.map(String));return[...(this.events.onSkip?(e??[]).filter(s=>!n.has(
String(s))):[]).map(s=>({skip:s,on:!1,span:s[1]-s[0]})),...t.map(s=>({skip:s,on:!0,span:s[1]-s[0]}))]}room(){let t=this.arcs().map(e=>e.span);return t.length?Math.min(18+13*Math.max(...t),.42*this.size[1]):
14}x(t){let e=Math.max(1,this.network.widths.length-1);return 22+t/e*(this.size[0]-44)}y(t,e){let n=this.network.widths[t],{top:i}=this,s=this.size[1]-(this.network.labels?26:12),o=Math.min(30,(s-i)/Math.
max(1,n));return(i+s)/2+(e-(n-1)/2)*o}radius(t){let e=(this.size[1]-this.top-20)/Math.max(1,this.network.widths[t]);return Math.max(1.5,Math.min(8,.38*e,(this.size[0]-44)/(4*this.network.widths.length)))}layout(){
if(this.size=[this.frame.clientWidth,this.frame.clientHeight],!this.size[0]||!this.network.widths.length)return;let[t,e]=this.size;this.top=this.room(),this.svg.setAttribute("viewBox",`0 0 ${t} ${e}`);
let n=this.svg.querySelector("[data-skip]:focus")?.getAttribute("data-skip");this.svg.replaceChildren();for(let i of this.arcs())this.svg.append(this.arc(i.skip,i.on));n&&this.svg.querySelector(`[data\
-skip="${n}"]`)?.focus(),this.neurons=this.network.widths.map((i,s)=>Array.from({length:i},(o,a)=>this.neuron(s,a))),this.network.labels?.forEach((i,s)=>{let o=B("text",{x:this.x(s),y:e-6,"text-anchor":"\
middle"});o.textContent=i,o.classList.add("label"),this.svg.append(o)}),this.setLabelColours(this.network.colours??[]),this.setPattern(this.pattern.pieces,this.pattern.counts),this.drawWeights()}arc([
t,e],n){let[i,s]=[this.x(t),this.x(e)],o=this.top-6,a=Math.max(4,o-Math.min(13*(e-t),o-4)),l=`M${i} ${o} C${i+.12*(s-i)} ${a} ${s-.12*(s-i)} ${a} ${s} ${o}`,c=B("g",{"data-skip":`${t}-${e}`}),u=B("tit\
le",{});if(u.textContent=`skip ${t}→${e}${this.events.onSkip?n?": click to remove":": click to add":""}`,c.append(u,B("path",{d:l,class:`skip ${n?"":"possible"}`})),c.append(B("path",{d:l,class:"tar\
get"})),this.events.onSkip){c.classList.add("clickable"),c.setAttribute("tabindex","0"),c.setAttribute("role","switch"),c.setAttribute("aria-checked",String(n)),c.setAttribute("aria-label",`skip ${t}→${e}`);
let h=()=>this.events.onSkip?.([t,e]);c.addEventListener("click",d=>{d.stopPropagation(),h()}),c.addEventListener("keydown",d=>{(d.key==="Enter"||d.key===" ")&&(d.preventDefault(),h())})}return c}neuron(t,e){
let n=t>0&&t<this.network.widths.length-1,i=B("circle",{cx:this.x(t),cy:this.y(t,e),r:this.radius(t),class:`neuron ${n?"hidden":""}`,"data-layer":t,"data-index":e});return this.svg.append(i),i}drawWeights(){
this.due=0;let[t,e]=this.size,n=window.devicePixelRatio||1;this.canvas.width=Math.round(t*n),this.canvas.height=Math.round(e*n);let i=this.canvas.getContext("2d");if(!i||!t)return;i.scale(n,n);let s=getComputedStyle(
this.frame),o=[s.getPropertyValue("--diagram-negative").trim()||"#2f6db4",s.getPropertyValue("--diagram-positive").trim()||"#dd7829"];this.lines=this.visible();let a=Math.max(1e-12,...this.blocks.map(
Rt)),l=Array.from({length:20},()=>new Path2D);for(let c of this.lines){let u=Math.min(9,Math.floor(10*Math.abs(c.value)/a)),h=l[2*u+(c.value>0?1:0)];h.moveTo(c.x,c.y),h.lineTo(c.x2,c.y2)}l.forEach((c,u)=>{
let h=(Math.floor(u/2)+.5)/10;i.globalAlpha=.12+.88*h,i.lineWidth=.4+2.6*h,i.strokeStyle=o[u%2],i.stroke(c)})}visible(){let t=this.blocks.filter(s=>s.from===s.to-1),e=t.reduce((s,o)=>s+o.rows*o.columns,
0),n=0;e>1500&&(n=t.flatMap(o=>dt(o).map(Math.abs)).sort((o,a)=>a-o)[1500]);let i=[];for(let{from:s,to:o,rows:a,columns:l,values:c,stride:u=l}of t)if(!(a>this.network.widths[o]||l>this.network.widths[s]))
for(let h=0;h<a;h++)for(let d=0;d<l;d++){let m=c[h*u+d];m===0||Math.abs(m)<n||i.push({from:s,to:o,row:h,column:d,value:m,x:this.x(s),y:this.y(s,d),x2:this.x(o),y2:this.y(o,h)})}return i}moved(t){let e=t.
target.dataset,n=Number(e.layer),i=n>0&&n<this.network.widths.length-1;this.events.onNeuron?.(i?{layer:n,index:Number(e.index)}:null),this.events.onWeight&&(this.svg.style.cursor=this.lineAt(t)?"point\
er":"")}clicked(t){let e=this.events.onWeight&&this.lineAt(t);e&&this.events.onWeight?.({...e,x:t.clientX,y:t.clientY})}lineAt(t){let e=this.svg.getBoundingClientRect(),[n,i]=[t.clientX-e.left,t.clientY-
e.top],s=null,o=5;for(let a of this.lines){let l=(n-a.x)/(a.x2-a.x);if(l<.06||l>.94)continue;let c=(a.y2-a.y)/(a.x2-a.x),u=Math.abs(a.y+l*(a.y2-a.y)-i)/Math.hypot(1,c);u<o&&([o,s]=[u,a])}return s}};function B(r,t){
let e=document.createElementNS(ht,r);for(let[n,i]of Object.entries(t))e.setAttribute(n,String(i));return e}function dt(r){let{rows:t,columns:e,values:n,stride:i=e}=r;return Array.from({length:t*e},(s,o)=>n[Math.
floor(o/e)*i+o%e])}function Rt(r){return dt(r).reduce((t,e)=>Math.max(t,Math.abs(e)),0)}var p=r=>document.getElementById(r),E=r=>p(r),O=r=>p(r);function S(r,t,e){let n=document.createElement(r);return t!==void 0&&(n.textContent=t),e&&(n.className=e),n}var Ft="⁰¹²³⁴⁵⁶⁷⁸⁹";function Dt(r){let t=[...String(Math.abs(r))].map(e=>Ft[Number(e)]).join("");return`10${r<0?"⁻":""}${t}`}function C(r,t=5,e=0){if(Number.isNaN(r))return"not a nu\
mber";if(Math.abs(r)===1/0)return"unbounded";if(Math.abs(r)<=1e-12*e||r===0)return"0";let n=Math.floor(Math.log10(Math.abs(r)));if(n>=7||n<-4){let[i,s]=r.toExponential(t-1).split("e"),o=String(Number(
i)).replace("-","−");return`${o==="1"?"":o==="−1"?"−":`${o}·`}${Dt(Number(s))}`}return r.toLocaleString("en",{maximumSignificantDigits:t}).replace("-","−")}var j=class{constructor(t,e,n,i){this.canvas=t;this.title=e;this.series=n;this.logarithmic=i}canvas;title;series;logarithmic;steps=[];rows=[];every=1;seen=0;due=0;clear(){[this.steps,this.rows,this.every,
this.seen]=[[],[],1,0]}add(t,e){if(this.steps.length&&t<=this.steps[this.steps.length-1])for(;this.steps.length&&t<=this.steps[this.steps.length-1];)this.steps.pop(),this.rows.pop();else if(this.seen++%
this.every)return;this.steps.push(t),this.rows.push(e),this.steps.length>1200&&(this.steps=this.steps.filter((n,i)=>i%2===0),this.rows=this.rows.filter((n,i)=>i%2===0),this.every*=2)}drawSoon(t){this.
series=t,this.due||(this.due=window.setTimeout(()=>this.draw(),100))}draw(){window.clearTimeout(this.due),this.due=0;let{canvas:t}=this,e=window.devicePixelRatio||1,[n,i]=[t.clientWidth,t.clientHeight];
t.width=Math.round(n*e),t.height=Math.round(i*e);let s=t.getContext("2d");if(!s||!n)return;s.scale(e,e);let o=getComputedStyle(t),[a,l]=[o.getPropertyValue("--quiet"),o.getPropertyValue("--rule")];s.font=
`11px ${o.fontFamily}`;let[c,u,h,d]=[44,n-8,24,i-18],[m,y]=this.range(),M=Math.max(1,this.steps[this.steps.length-1]??1),b=f=>c+f/M*(u-c),w=f=>this.logarithmic?Math.log10(Math.max(f,1e-9)):f,g=f=>d-(w(
f)-m)/(y-m)*(d-h);s.textBaseline="middle",s.textAlign="right";for(let f of this.ticks(m,y)){let k=d-(f-m)/(y-m)*(d-h);s.strokeStyle=l,s.lineWidth=1,s.beginPath(),s.moveTo(c,Math.round(k)+.5),s.lineTo(
u,Math.round(k)+.5),s.stroke(),s.fillStyle=a,s.fillText(this.logarithmic?Ht(f):Ut(f),c-6,k)}s.fillStyle=a,s.fillText(`${M.toLocaleString("en")} steps`,u,i-7),this.legend(s,c,o,a),this.series.forEach((f,k)=>{
s.strokeStyle=o.getPropertyValue(f.colour).trim(),s.lineWidth=f.dashed?1.25:1.75,s.setLineDash(f.dashed?[4,3]:[]),s.beginPath();let $=!1;this.rows.forEach((P,L)=>{let A=P[k];if(A==null){$=!1;return}$?
s.lineTo(b(this.steps[L]),g(A)):s.moveTo(b(this.steps[L]),g(A)),$=!0}),s.stroke(),s.setLineDash([])})}legend(t,e,n,i){t.textAlign="left",t.fillStyle=i,t.fillText(this.title,0,9);let s=Math.max(e+6,t.measureText(
this.title).width+14),o=this.series.filter(a=>a.dashed).slice(0,1);for(let a of[...this.series.filter(l=>!l.dashed),...o])t.strokeStyle=a.dashed?i:n.getPropertyValue(a.colour).trim(),t.lineWidth=a.dashed?
1.25:2,t.setLineDash(a.dashed?[4,3]:[]),t.beginPath(),t.moveTo(s,9),t.lineTo(s+14,9),t.stroke(),t.setLineDash([]),t.fillText(a.name,s+19,9),s+=29+t.measureText(a.name).width}range(){let[t,e]=[1/0,-1/0];
for(let n of this.rows)for(let i=0;i<this.series.length;i++){let s=n[i];if(s==null)continue;let o=this.logarithmic?Math.log10(Math.max(s,1e-9)):s;t=Math.min(t,o),e=Math.max(e,o)}return t>e?this.logarithmic?
[-2,0]:[0,10]:this.logarithmic?e-t<.5?[t-.25,e+.25]:[t,e]:[0,Math.max(e*1.05,4)]}ticks(t,e){if(this.logarithmic&&e-t<1.5){let l=e-t<.6?[1,1.5,2,3,4,5,7]:[1,2,5];return[-1,0,1].flatMap(c=>l.map(u=>Math.
floor(t)+1+c+Math.log10(u))).filter(c=>c>=t&&c<=e)}let n=(e-t)/3,i=10**Math.floor(Math.log10(n)),s=[1,2,5,10].map(l=>l*i).find(l=>l>=n)??10*i,o=this.logarithmic?Math.max(1,Math.round(s)):s,a=[];for(let l=Math.
ceil(t/o)*o;l<=e+1e-9;l+=o)a.push(l);return a}};function Ut(r){return r>=1e4?`${Number((r/1e3).toPrecision(3))}k`:String(Number(r.toPrecision(3)))}function Ht(r){return r>=-3?String(Number((10**r).toPrecision(
2))):`1e${r}`.replace("-","−")}var mt=["samples","noise","reach","scale","seed","learning_rate","batch","strength","speed"],pt=["data","activation","init","optimiser","penalty","loss"],Wt={phi1:"φ1 (paper)",phi2:"φ2 (paper)",phi3:"\
φ3 (paper)",phi4:"φ4 (paper)",own:"my own",he:"He",xavier:"Xavier",adam:"Adam",sgd:"SGD",rmsprop:"RMSprop",l1:"L1",l2:"L2",xor:"XOR"},Y=class{constructor(t){this.change=t;for(let e of mt)p(e).addEventListener(
"change",()=>t({[e]:Number(E(e).value)}));for(let e of pt)p(e).addEventListener("change",()=>t({[e]:O(e).value}));p("compare").addEventListener("change",()=>t({compare:E("compare").checked})),p("clear").
addEventListener("click",()=>t({points:[]}))}change;about=null;show(t){this.about=t;let{settings:e,choices:n}=t;for(let i of pt){let s=O(i);if(!s.options.length)for(let o of n[i]){let a=S("option",Wt[o]??
o.replace(/_/g," "));a.value=o,s.append(a)}s.value=e[i]}for(let i of mt)this.number(i,e[i]);E("compare").checked=e.compare,p("hand").hidden=e.data!=="own";for(let i of document.querySelectorAll(".gene\
rated"))i.hidden=e.data==="own";p("given").hidden=t.given===null,p("given").textContent=t.given===null?"":`Loaded: ${t.given}`,this.layers()}number(t,e){let n=p(t);n instanceof HTMLSelectElement&&![...n.
options].some(i=>Number(i.value)===e)&&n.append(S("option",String(e))),(Number(n.value)!==e||n.value==="")&&(n.value=String(e))}layers(){let{settings:t,most:e}=this.about,{widths:n}=t,i=(a,l)=>{let c=S(
"span",void 0,"one"),u=(d,m,y)=>{let M=S("button",d);return M.setAttribute("aria-label",y),M.disabled=a+m<1||a+m>e[1],M.addEventListener("click",()=>this.change({widths:n.map((b,w)=>w===l?b+m:b)})),M},
h=S("output",String(a));return h.title=`layer ${l+1}`,c.append(u("−",-1,`layer ${l+1}: fewer neurons`),h,u("+",1,`layer ${l+1}: more neurons`)),c},s=S("button","− layer");s.id="less",s.disabled=n.
length<2,s.addEventListener("click",()=>this.resize(n.slice(0,-1)));let o=S("button","+ layer");o.id="more",o.disabled=n.length>=e[0],o.addEventListener("click",()=>this.resize([...n,n[n.length-1]])),
p("layers").replaceChildren(...n.map(i),s,o)}resize(t){let e=this.about.settings.skips.filter(([,n])=>n<=t.length+1);this.change({widths:t,skips:e})}};function gt(r,t,e){let n=[];for(let i of Object.keys(r)){let s=ft(i,r);s!==ft(i,t)&&n.push([i,s])}for(let[i,s]of Object.entries(e))n.push([`view.${i}`,String(s)]);return n.map(([i,s])=>`${i}=${encodeURIComponent(
s)}`).join("&")}function ft(r,t){return r==="widths"?t.widths.join("."):r==="skips"?t.skips.map(e=>e.join("-")).join("."):r==="points"?t.points.map(e=>e.map(Bt).join(",")).join(";"):String(t[r])}function Bt(r){
return String(Number(r.toPrecision(6)))}function bt(r,t){let e={},n=new Map;for(let[i,s]of new URLSearchParams(r.replace(/^#/,"")))i.startsWith("view.")?n.set(i.slice(5),s):i==="widths"?e.widths=et(s,
"."):i==="skips"?e.skips=s.split(".").filter(Boolean).map(o=>et(o,"-")):i==="points"?e.points=s.split(";").filter(Boolean).map(o=>et(o,",")):i in t&&(e[i]=Ot(s,t[i]));return{values:e,view:n}}function et(r,t){
return r.split(t).filter(Boolean).map(Number)}function Ot(r,t){return typeof t=="number"?Number(r):typeof t=="boolean"?r==="true":r}var z=([r,t,e])=>(4278190080|e<<16|t<<8|r)>>>0;function vt(r,t,e,n){let i=new Uint32Array(1024);for(let s=0;s<1024;s++){let o=n((s+.5)/1024*2*4-4),a=o<0?r:e;i[s]=z(t.map((l,c)=>Math.round(l+Math.min(1,
Math.abs(o))*(a[c]-l))))}return i}var X=class{constructor(t,e){this.width=t;this.height=e;this.image=new ImageData(t,e),this.pixels=new Uint32Array(this.image.data.buffer),this.left=new Float64Array(e),
this.right=new Float64Array(e)}width;height;image;pixels;left;right;clear(t){this.pixels.fill(t)}rows(t,e){let{left:n,right:i,height:s}=this,[o,a]=[1/0,-1/0];for(let u=0;u<e;u++){let h=t[2*u+1];h<o&&(o=
h),h>a&&(a=h)}let l=Math.max(0,Math.ceil(o-.5)),c=Math.min(s,Math.ceil(a-.5));for(let u=l;u<c;u++)n[u]=1/0,i[u]=-1/0;for(let u=0;u<e;u++){let h=u+1<e?u+1:0,[d,m,y,M]=[t[2*u],t[2*u+1],t[2*h],t[2*h+1]];
m>M&&([d,m,y,M]=[y,M,d,m]);let b=Math.max(l,Math.ceil(m-.5)),w=Math.min(c,Math.ceil(M-.5));if(b>=w)continue;let g=(y-d)/(M-m),f=d+(b+.5-m)*g;for(let k=b;k<w;k++,f+=g)f<n[k]&&(n[k]=f),f>i[k]&&(i[k]=f)}
return[l,c]}fill(t,e,n){let[i,s]=this.rows(t,e);for(let o=i;o<s;o++){let a=Math.max(0,Math.ceil(this.left[o]-.5)),l=Math.min(this.width,Math.ceil(this.right[o]-.5));a<l&&this.pixels.fill(n,o*this.width+
a,o*this.width+l)}}shade(t,e,n,i,s,o,a,l){let[c,u]=[1/0,-1/0];for(let g=0;g<e;g++){let f=n*t[2*g]+i*t[2*g+1]+s;f<c&&(c=f),f>u&&(u=f)}let h=1.3*Math.hypot(n,i),d=l!==null&&c<h&&u>-h&&h>0;if(a>=0&&!d){this.
fill(t,e,a);return}let[m,y]=this.rows(t,e),{pixels:M,width:b}=this,w=n*1024/8;for(let g=m;g<y;g++){let f=Math.max(0,Math.ceil(this.left[g]-.5)),k=Math.min(b,Math.ceil(this.right[g]-.5)),$=n*(f+.5)+i*(g+
.5)+s,P=($+4)*1024/8,L=g*b;if(a<0)for(let A=f;A<k;A++,P+=w)M[L+A]=o[P<0?0:P>=1024?1023:P|0];else f<k&&M.fill(a,L+f,L+k);d&&this.cut(L,f,k,$,n,h,l)}}cut(t,e,n,i,s,o,a){let[l,c]=[e,n];if(s!==0){let[u,h]=[
e+(-o-i)/s,e+(o-i)/s];l=Math.max(e,Math.floor(Math.min(u,h))),c=Math.min(n,Math.ceil(Math.max(u,h))+1)}else if(Math.abs(i)>=o)return;for(let u=l;u<c;u++){let h=1-Math.abs(i+(u-e)*s)/o;h>0&&this.blend(
t+u,a,Math.min(1,1.6*h))}}blend(t,e,n){let i=this.pixels[t],s=n*256|0,o=256-s,a=(e&16711935)*s+(i&16711935)*o>>>8&16711935,l=(e&65280)*s+(i&65280)*o>>>8&65280;this.pixels[t]=(4278190080|a|l)>>>0}line(t,e,n,i,s,o){
let{width:a,height:l}=this,c=Math.abs(i-e)>Math.abs(n-t);if(c&&([t,e,n,i]=[e,t,i,n]),t>n&&([t,e,n,i]=[n,i,t,e]),n-t<1e-9)return;let[u,h]=c?[l,a]:[a,l],d=(i-e)/(n-t),m=Math.max(0,Math.round(t-.5)),y=Math.
min(u-1,Math.round(n-.5)-1),M=e+(m+.5-t)*d-.5;for(let b=m;b<=y;b++,M+=d){let w=Math.floor(M),g=M-w;w>=0&&w<h&&this.blend(c?b*a+w:w*a+b,s,o*(1-g)),w>=-1&&w+1<h&&this.blend(c?b*a+w+1:(w+1)*a+b,s,o*g)}}};var J={light:{low:[47,109,180],middle:[246,244,239],high:[221,120,41],ink:[28,33,45]},dark:{low:[84,148,222],middle:[32,35,42],high:[232,140,66],ink:[236,238,243]}},yt=r=>Math.sign(r)*(1-Math.exp(-1.2*
Math.abs(r))),K=class{constructor(t,e,n){this.canvas=t;this.sheet=e;this.look=n;this.pen=t.getContext("2d",{alpha:!1,willReadFrequently:!0})}canvas;sheet;look;pen;raster=null;ramps=null;size=1;picture=null;about=null;layerOf=new Uint8Array;neuron=null;region=-1;stale=!0;describe(t){
this.about=t;let e=[];t.widths.slice(1,-1).forEach((n,i)=>{for(let s=0;s<n;s++)e.push(i+1)}),this.layerOf=Uint8Array.from(e),this.neuron=null,this.region=-1,this.stale=!0}show(t){this.picture=t,this.stale||=
this.region>=0||this.neuron!==null,this.region=-1,this.size=this.strength(),this.draw()}pointAtNeuron(t){t!==this.neuron&&(this.neuron=t,this.drawSheet())}pointAtRegion(t){t!==this.region&&(this.region=
t,this.drawSheet())}resize(){let t=window.devicePixelRatio||1;for(let e of[this.canvas,this.sheet]){let[n,i]=[Math.round(e.clientWidth*t),Math.round(e.clientHeight*t)];e.width===n&&e.height===i||([e.width,
e.height]=[n,i],this.stale=!0)}}regionAt(t,e){if(!this.picture)return-1;let{corners:n,starts:i,counts:s}=this.picture;for(let o=0;o<s.length;o++){let[a,l]=[i[o],i[o+1]],c=0,u=!0;for(let h=a;u&&h<l;h++){
let d=h+1<l?h+1:a,m=(n[2*d]-n[2*h])*(e-n[2*h+1])-(n[2*d+1]-n[2*h+1])*(t-n[2*h]);m!==0&&(c===0&&(c=Math.sign(m)),u=Math.sign(m)===c)}if(u&&c!==0)return o}return-1}pattern(t){let{patterns:e,counts:n,bits:i}=this.
picture,s=e.length/Math.max(1,n.length),o=new Uint8Array(this.layerOf.length);for(let a=0;a<o.length;a++)for(let l=0;l<i;l++){let c=a*i+l;o[a]|=(e[t*s+(c>>3)]>>(c&7)&1)<<l}return o}toPlane(t,e){let n=this.
sheet.getBoundingClientRect(),{low:i,high:s}=this.about;return[i[0]+(t-n.left)/n.width*(s[0]-i[0]),s[1]-(e-n.top)/n.height*(s[1]-i[1])]}strength(){let{corners:t,counts:e,starts:n,maps:i}=this.picture,
s=new Float32Array(e.length);for(let o=0;o<e.length;o++){let[a,l]=[t[2*n[o]],t[2*n[o]+1]];s[o]=Math.abs(i[3*o]*a+i[3*o+1]*l+i[3*o+2])}return s.sort(),Math.max(s[Math.floor(.7*(s.length-1))]||0,1e-6)}colours(){
let{counts:t,maps:e,patterns:n,bits:i}=this.picture,s=new Uint32Array(t.length);if(this.look.colouring==="gradient"){let o=It(this.look.dark),a=1e-9;for(let l=0;l<t.length;l++)a=Math.max(a,Math.hypot(
e[3*l],e[3*l+1]));for(let l=0;l<t.length;l++){let c=Math.atan2(e[3*l+1],e[3*l])/(2*Math.PI)+1,u=Math.sqrt(Math.hypot(e[3*l],e[3*l+1])/a);s[l]=o[64*Math.min(15,Math.floor(16*u))+(Math.floor(64*c)&63)]}}else if(this.
look.colouring==="pattern"||this.look.colouring==="layer"){let o=new Uint32Array(ct(this.look.dark).buffer),a=n.length/Math.max(1,t.length),c=(this.look.colouring==="pattern"?this.layerOf.length:this.
layerOf.filter(u=>u<=this.look.layer).length)*i;for(let u=0;u<t.length;u++){let h=2166136261;for(let d=0;8*d<c;d++){let m=c>=8*d+8?255:(1<<c-8*d)-1;h=Math.imul(h^n[u*a+d]&m,16777619)}s[u]=o[(h^h>>>15)&
1023]}}return s}restyle(t){this.look=t,this.stale=!0,this.draw()}draw(){let{about:t,look:e,picture:n}=this;this.resize();let{width:i,height:s}=this.canvas;if(!t||!i||!n)return;(this.raster?.width!==i||
this.raster.height!==s)&&(this.raster=new X(i,s));let o=J[e.dark?"dark":"light"];if(this.ramps?.dark!==e.dark){let a=l=>vt(o.low,o.middle,o.high,l);this.ramps={dark:e.dark,value:a(yt),decision:a(l=>.66*
Math.sign(l))}}this.raster.clear(z(o.middle)),this.paint(this.raster),this.pen.putImageData(this.raster.image,0,0),this.stale&&this.drawSheet()}paint(t){let{about:e,look:n,picture:i,ramps:s}=this,{corners:o,
counts:a,starts:l,maps:c}=i,{low:u,high:h}=e,[d,m]=[t.width/(h[0]-u[0]),t.height/(h[1]-u[1])],y=new Float64Array(o.length);for(let g=0;g<o.length;g+=2)y[g]=(o[g]-u[0])*d,y[g+1]=(h[1]-o[g+1])*m;let M=n.
colouring!=="value"&&n.colouring!=="decision"?this.colours():null,b=n.colouring==="decision"?s.decision:s.value,w=n.colouring==="layer"?null:z(J[n.dark?"dark":"light"].ink);for(let g=0;g<a.length;g++){
let[f,k,$]=[c[3*g],c[3*g+1],c[3*g+2]];t.shade(y.subarray(2*l[g],2*l[g+1]),a[g],f/d/this.size,-k/m/this.size,(f*u[0]+k*h[1]+$)/this.size,b,M?M[g]:-1,w)}this.paintEdges(t,y)}paintEdges(t,e){let{look:n,about:i,
layerOf:s}=this,{counts:o,starts:a,sides:l}=this.picture,c=t.width/Math.sqrt(Math.max(1,o.length));if(n.edges==="none"||c<2.5)return;let u=n.edges==="layers",h=Math.min(1,c/12)*(u?.8:.5),d=i.widths.length-
2,m=z(J[n.dark?"dark":"light"].ink),y=Array.from({length:d+1},(b,w)=>u?z(q(w,d,n.dark)):m),M=n.colouring==="layer"?n.layer:d;for(let b=0;b<o.length;b++){let[w,g]=[a[b],a[b+1]];for(let f=w;f<g;f++){let k=l[f]<
0?0:s[l[f]];if(k===0||k>M)continue;let $=f+1<g?f+1:w,[P,L,A,V]=[e[2*f],e[2*f+1],e[2*$],e[2*$+1]];(P<A||P===A&&L<V)&&t.line(P,L,A,V,y[k],h)}}}drawSheet(){let{about:t,picture:e,look:n}=this,i=this.sheet.
getContext("2d");if(!i||!t||!e)return;this.stale=!1;let s=window.devicePixelRatio||1,[o,a]=[this.sheet.width/s,this.sheet.height/s],{low:l,high:c}=t,u=d=>(d-l[0])/(c[0]-l[0])*o,h=d=>a-(d-l[1])/(c[1]-l[1])*
a;i.setTransform(s,0,0,s,0,0),i.clearRect(0,0,o,a),this.neuron!==null&&(i.save(),this.drawNeuron(i,u,h),i.restore()),n.points&&zt(i,t,u,h,n.dark),this.region>=0&&(i.strokeStyle=n.dark?"#fff":"#101828",
i.lineWidth=2,i.stroke(this.path(this.region,u,h)))}path(t,e,n){let{corners:i,starts:s}=this.picture,o=new Path2D;for(let a=s[t];a<s[t+1];a++)o.lineTo(e(i[2*a]),n(i[2*a+1]));return o.closePath(),o}drawNeuron(t,e,n){
let{corners:i,counts:s,starts:o,sides:a}=this.picture;t.fillStyle=this.look.dark?"rgb(255 255 255 / 0.16)":"rgb(16 24 40 / 0.13)";for(let l=0;l<s.length;l++)this.pieceOf(l)>0&&t.fill(this.path(l,e,n));
t.strokeStyle=this.look.dark?"#ffd166":"#c01574",t.lineWidth=3,t.lineCap="round",t.beginPath();for(let l=0;l<s.length;l++){let[c,u]=[o[l],o[l+1]];for(let h=c;h<u;h++){if(a[h]!==this.neuron)continue;let d=h+
1<u?h+1:c;t.moveTo(e(i[2*h]),n(i[2*h+1])),t.lineTo(e(i[2*d]),n(i[2*d+1]))}}t.stroke()}pieceOf(t){let{patterns:e,counts:n,bits:i}=this.picture,s=e.length/Math.max(1,n.length),o=0;for(let a=0;a<i;a++){let l=this.
neuron*i+a;o|=(e[t*s+(l>>3)]>>(l&7)&1)<<a}return o}boundaryLength(t){return this.picture?this.picture.sides.filter(e=>e===t).length:0}svg(t=600){let{picture:e,about:n,look:i}=this,{low:s,high:o}=n,{corners:a,
counts:l,starts:c,maps:u}=e,h=this.colours(),d=new Uint8Array(h.buffer),m=[];for(let b=0;b<l.length;b++){let[w,g]=[0,0],f=[];for(let L=c[b];L<c[b+1];L++){let[A,V]=[a[2*L],a[2*L+1]];w+=A/l[b],g+=V/l[b];
let Tt=(A-s[0])/(o[0]-s[0])*t,Ct=t-(V-s[1])/(o[1]-s[1])*t;f.push(`${Tt.toFixed(2)},${Ct.toFixed(2)}`)}let k=u[3*b]*w+u[3*b+1]*g+u[3*b+2],P=i.colouring!=="decision"&&i.colouring!=="value"?[...d.slice(4*
b,4*b+3)]:nt(yt(i.colouring==="value"?k/this.size:.9*Math.sign(k)),i.dark);m.push(`<path d="M${f.join("L")}Z" fill="rgb(${P.join()})"/>`)}let y=i.edges==="none"?"none":i.dark?"#eceef3":"#1c212d",M=[];
for(let b=0;i.points&&b<n.points.length;b+=3){let[w,g,f]=n.points.slice(b,b+3),k=(w-s[0])/(o[0]-s[0])*t,$=t-(g-s[1])/(o[1]-s[1])*t,P=nt(1.1*Math.max(-1,Math.min(1,f)),i.dark).join();M.push(`<circle cx\
="${k.toFixed(2)}" cy="${$.toFixed(2)}" r="3.5" fill="rgb(${P})" stroke="#fff"/>`)}return[`<svg xmlns="http://www.w3.org/2000/svg" width="${t}" height="${t}" viewBox="0 0 ${t} ${t}">`,`<g stroke="${y}\
" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,...m,"</g>",...M,"</svg>"].join(`
`)}};function zt(r,t,e,n,i){let{points:s}=t,o=1e-9;for(let c=2;c<s.length;c+=3)o=Math.max(o,Math.abs(s[c]));let a=e(t.high[0]),l=Math.min(s.length>1500?2:3.5,.5+a/130);r.lineWidth=Math.min(1,a/300);for(let c=0;c<
s.length;c+=3)r.beginPath(),r.arc(e(s[c]),n(s[c+1]),l,0,2*Math.PI),r.fillStyle=`rgb(${nt(1.15*s[c+2]/o,i).join(" ")})`,r.fill(),r.strokeStyle=i?"#0d0f13":"#fff",r.stroke()}function nt(r,t){let{low:e,middle:n,
high:i}=J[t?"dark":"light"],s=r<0?e:i,o=Math.min(1.2,Math.abs(r));return n.map((a,l)=>Math.round(Math.max(0,Math.min(255,a+o*(s[l]-a)))))}function It(r){let t=new Uint32Array(1024),e=new Uint8Array(t.
buffer);for(let n=0;n<t.length;n++){let[i,s]=[Math.floor(n/64)/15,n%64/64*2*Math.PI],o=r?.24+.42*i:.96-.3*i;e.set([...G(o,.02+.13*i,s),255],4*n)}return t}var Vt={float32:Float32Array,float64:Float64Array,uint8:Uint8Array,uint16:Uint16Array,int16:Int16Array},Z=class{constructor(t){this.listener=t;let e=new URLSearchParams(location.search).get("token")??
"";this.socket=new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(e)}`),this.socket.binaryType="arraybuffer",this.socket.addEventListener("message",n=>this.arrived(n.data)),this.socket.
addEventListener("close",()=>t.ended())}listener;socket;latest=null;waiting=!1;do(t,e={}){this.socket.readyState===WebSocket.OPEN&&this.socket.send(JSON.stringify({do:t,...e}))}change(t){this.do("sett\
ings",{values:t})}async upload(t){let e=new TextEncoder().encode(JSON.stringify({do:"upload",name:t.name})),n=new Uint8Array(4);new DataView(n.buffer).setUint32(0,e.length,!0),this.socket.send(await new Blob(
[n,e,t]).arrayBuffer())}arrived(t){if(typeof t=="string"){let i=JSON.parse(t);"settings"in i?this.listener.described(i):this.listener.noticed(i);return}let{header:e,start:n}=wt(t);if(e.file){this.listener.
received(e.file,new Blob([t.slice(n)]));return}this.latest=t,!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{if(this.waiting=!1,!this.latest)return;let i=jt(this.latest);this.latest=null,this.
do("drawn"),this.listener.framed(i)}))}};function wt(r){let t=new DataView(r).getUint32(0,!0);return{header:JSON.parse(new TextDecoder().decode(new Uint8Array(r,4,t))),start:4+t}}function jt(r){let{header:t,
start:e}=wt(r),n=u=>{let[h,d,m]=t.arrays[u];return new Vt[h](r,e+d,m)},i=t.pictures.map(u=>{let h=y=>n(`${u.name}.${y}`),d=h("counts"),m=new Uint32Array(d.length+1);for(let y=0;y<d.length;y++)m[y+1]=m[y]+
d[y];return{...u,counts:d,starts:m,corners:h("corners"),sides:h("sides"),patterns:h("patterns"),maps:h("maps"),vector:h("vector")}}),{step:s,epoch:o,running:a,recording:l,film:c}=t;return{step:s,epoch:o,
running:a,recording:l,film:c,pictures:i}}var v={colouring:"value",layer:1,edges:"layers",points:!0,dark:window.matchMedia("(prefers-color-scheme: dark)").matches},kt=63*2**20,T=new Map,x=null,D=null,W="skips",Mt=!1,U=[],St=0,Q=null,R=null,N=new Z(
{described:qt,framed:_t,noticed:Yt,received:Xt,ended:Jt}),Gt=new Y(r=>N.change(r)),I=new _(p("diagram"),{onNeuron:r=>{let t=r&&x?re(r.layer)+r.index:null;for(let e of T.values())e.plane.pointAtNeuron(
t)},onSkip:ne,onWeight:ie}),it=new j(p("loss-chart"),"loss",[],!0),st=new j(p("region-chart"),"regions",[],!1);function qt(r){let t=!Mt;if(Mt=!0,x=r,t&&location.hash.length>1){let{values:n,view:i}=bt(
location.hash,r.settings);if(ae(i),Object.keys(n).length){N.do("settings",{values:n,all:!0});return}}Gt.show(r);let e=r.widths.length-2;E("layer").max=String(Math.max(1,e)),v.layer=Math.min(v.layer,Math.
max(1,e)),I.setNetwork({widths:r.widths,skips:r.settings.skips,possible:r.given===null?ee(e):r.settings.skips,labels:r.widths.map((n,i)=>i===0?"input":i===e+1?"output":`layer ${i}`),colours:Et(e)});for(let n of T.
values())n.plane.describe(r),Lt(n,r);lt(),document.documentElement.dataset.ready="yes",t&&window.setTimeout(()=>{D||H("Preparing the engine: the first time after an installation this takes some second\
s …")},1500)}function Et(r){return v.edges!=="layers"?[]:Array.from({length:r+1},(t,e)=>e?ut(q(e,r,v.dark)):"")}function _t(r){if(!x)return;(!D||r.step<D.step||r.step===0)&&(it.clear(),st.clear()),D=
r,St++,U=[...U.slice(-29),performance.now()];let t=r.pictures.map(n=>n.name);for(let[n,i]of T)t.includes(n)||(i.figure.remove(),T.delete(n),W===n&&(W="skips"));p("planes").classList.toggle("single",t.
length===1);for(let n of r.pictures){let i=T.get(n.name)??Kt(n.name);i.plane.show(n),Zt(i,n,t.length>1)}$t(),ot(),Pt(r),p("count-step").textContent=r.step.toLocaleString("en"),p("count-epoch").textContent=
C(r.epoch,3);let e=U[U.length-1]-U[0];p("count-fps").textContent=r.running&&e?(1e3*(U.length-1)/e).toFixed(0):"–",r.running||(U=[]),tt("play",r.running),tt("record",r.recording),p("record").title=r.
recording?`${r.film} pictures: stop recording`:"Record a film",document.documentElement.dataset.step=String(r.step),document.documentElement.dataset.running=String(r.running),document.documentElement.
dataset.film=String(r.film)}var xt=0;function Yt(r){r.running===!1&&tt("play",!1);let t=r.busy;if(t===null){p("notice").hidden=!0;return}H(t?`Working: ${t[0]} of ${t[1]} …`:r.error??r.note??"",!!r.error)}
function H(r,t=!1){if(!r)return;let e=p("notice");e.textContent=r,e.classList.toggle("bad",t),e.hidden=!1,window.clearTimeout(xt),xt=window.setTimeout(()=>{e.hidden=!0},t?9e3:5e3)}function Xt(r,t){at(
t,r),H(`${r}: ${(t.size/1024).toFixed(0)} kB`)}function Jt(){tt("play",!1),p("notice").hidden&&H("The server has ended. Start it again with: tropicell play",!0),document.documentElement.dataset.ended=
"yes"}function Kt(r){let t=S("figure");t.dataset.name=r;let e=S("button",void 0,"name");e.title="Show the weights of this one in the diagram";let n=S("span"),i=S("figcaption");i.append(e,n);let s=S("d\
iv",void 0,"box"),[o,a]=[S("canvas"),S("canvas",void 0,"sheet")],l=[S("div",void 0,"corner from"),S("div",void 0,"corner to")];s.append(o,a,...l);let c=S("p",void 0,"facts");t.append(i,s,c),r==="skips"?
p("planes").prepend(t):p("planes").append(t);let u={name:r,figure:t,title:e,counts:n,facts:c,corners:l,plane:new K(o,a,v)};return u.plane.describe(x),Lt(u,x),e.addEventListener("click",()=>{W=r,$t(),At()}),
a.addEventListener("pointermove",h=>{R={view:u,x:h.clientX,y:h.clientY},ot()}),a.addEventListener("pointerleave",()=>{R=null,ot()}),a.addEventListener("click",h=>se(u,h)),new ResizeObserver(()=>u.plane.
draw()).observe(s),T.set(r,u),u}function Lt(r,{low:t,high:e}){r.corners[0].textContent=`(${C(t[0],3)}, ${C(t[1],3)})`,r.corners[1].textContent=`(${C(e[0],3)}, ${C(e[1],3)})`}function Zt(r,t,e){r.title.
textContent=e?t.name==="skips"?"with skips":"without skips":"network";let n=(o,a)=>(a?"":"≥ ")+o.toLocaleString("en"),i=(o,a)=>{let l=S("span");return l.append(S("b",o),` ${a}`),l},s=[i(n(t.regions,
t.complete),"regions in the box"),i(n(t.whole,t.wholeComplete),"over R²"),i(t.loss===null?"–":C(t.loss,2),"loss")];x.loss==="logistic"&&t.accuracy!==null&&s.push(i(`${Math.round(100*t.accuracy)}%`,
"right")),r.title.parentElement.replaceChildren(r.title,...s),r.figure.dataset.regions=String(t.regions),r.figure.dataset.whole=String(t.whole),At()}function At(){for(let r of T.values())r.title.setAttribute(
"aria-pressed",String(T.size>1&&r.name===W))}function Qt(r){return D?.pictures.find(t=>t.name===r)}function $t(){let r=Qt(W)?.vector;if(!r||!x)return;let t=x.terms.flatMap((e,n)=>e.slice(0,1).map(([i,
s,o,a,l])=>({from:i,to:n+1,rows:o,columns:l,stride:a,values:r.subarray(s,s+o*a)})));I.setWeights(t)}function ot(){if(!x||!R||!T.has(R.view.name)){for(let e of T.values())e.plane.pointAtRegion(-1),e.facts.
textContent="";I.setPattern(null);return}let[r,t]=R.view.plane.toPlane(R.x,R.y);for(let e of T.values()){let n=e.plane.regionAt(r,t);e.plane.pointAtRegion(n),te(e,n,r,t),e===R.view&&I.setPattern(n<0?null:
e.plane.pattern(n))}}function te(r,t,e,n){if(r.figure.dataset.region=String(t),t<0||!r.plane.picture){r.facts.textContent="";return}let[i,s,o]=r.plane.picture.maps.subarray(3*t,3*t+3),a=r.plane.pattern(
t),l=a.filter(m=>m>0).length,c=0,u=x.widths.slice(1,-1).map(m=>{let y=a.subarray(c,c+m);return c+=m,y.join("")}),h=m=>m<0?"−":"+",d=`${C(i,3)} x ${h(s)} ${C(Math.abs(s),3)} y ${h(o)} ${C(Math.abs(o),
3)}`;r.facts.replaceChildren(`${l} of ${a.length} neurons active, output ${C(i*e+s*n+o,3)} = ${d} `,S("code",u.join(" ")))}function Pt(r){let t={skips:"--skips",plain:"--plain"},e=r.pictures.length>1,
n=c=>e?c.name==="skips"?"with":"without":"network",i=r.pictures.some(c=>c.test!==null),s=[],o=[],a=[],l=[];for(let c of r.pictures)s.push({name:n(c),colour:t[c.name]}),o.push(c.loss),i&&(s.push({name:"\
test",colour:t[c.name],dashed:!0}),o.push(c.test)),a.push({name:n(c),colour:t[c.name]}),a.push({name:"over R²",colour:t[c.name],dashed:!0}),l.push(c.regions,c.whole);it.add(r.step,o),st.add(r.step,l),
it.drawSoon(s),st.drawSoon(a)}function ee(r){let t=[];for(let e=2;e<=r+1;e++)for(let n=0;n<e-1;n++)t.push([n,e]);return t}function ne([r,t]){if(!x)return;let e=x.settings.skips.some(i=>i[0]===r&&i[1]===
t),n=x.settings.skips.filter(i=>i[0]!==r||i[1]!==t);N.change({skips:e?n:[...n,[r,t]]})}function re(r){return x.widths.slice(1,r).reduce((t,e)=>t+e,0)}function ie({from:r,to:t,row:e,column:n,value:i,x:s,
y:o}){let a=x?.terms[t-1][0];if(!a)return;Q={name:W,place:a[1]+e*a[3]+n};let l=p("weight"),c=r===0?`input ${n+1}`:`layer ${r}, neuron ${n+1}`,u=t===x.widths.length-1?"output":`layer ${t}, neuron`;p("w\
eight-name").textContent=`${c} → ${u} ${e+1}`,E("weight-range").value=String(i),E("weight-value").value=C(i,4).replace("−","-"),l.hidden=!1,l.style.left=`${Math.max(8,Math.min(s-40,window.innerWidth-
l.offsetWidth-8))}px`,l.style.top=`${Math.min(o+14,window.innerHeight-l.offsetHeight-8)}px`}function rt(r){Q&&Number.isFinite(r)&&N.do("weight",{network:Q.name,place:Q.place,value:r})}function se(r,t){
if(x?.settings.data!=="own")return;let[e,n]=r.plane.toPlane(t.clientX,t.clientY),i=(x.high[0]-x.low[0])*.012,{points:s}=x.settings,o=s.filter(c=>Math.hypot(c[0]-e,c[1]-n)>i),a=Number(document.querySelector(
"input[name=class]:checked").value),l=o.length<s.length?o:[...s,[Number(e.toPrecision(6)),Number(n.toPrecision(6)),t.shiftKey?-a:a]];N.change({points:l})}function tt(r,t){p(r).setAttribute("aria-press\
ed",String(t))}function at(r,t){let e=S("a");e.href=URL.createObjectURL(r),e.download=t,e.click(),setTimeout(()=>URL.revokeObjectURL(e.href),1e3)}function oe(r){p("keep").open=!1;let t=T.get(W);if(r===
"png"&&t){let e=S("canvas");[e.width,e.height]=[t.plane.canvas.width,t.plane.canvas.height];let n=e.getContext("2d");n.drawImage(t.plane.canvas,0,0),n.drawImage(t.plane.sheet,0,0),e.toBlob(i=>{i&&at(i,
"regions.png")})}else r==="svg"&&t?at(new Blob([t.plane.svg()],{type:"image/svg+xml"}),"regions.svg"):N.do("keep",{what:r,colouring:v.colouring})}function lt(){if(!x)return;let r={};v.colouring!=="val\
ue"&&(r.colours=v.colouring),v.colouring==="layer"&&(r.layer=v.layer),v.edges!=="layers"&&(r.edges=v.edges),v.points||(r.points=!1);let t=gt(x.settings,x.defaults,r);history.replaceState(null,"",`${location.
pathname}${location.search}${t?`#${t}`:""}`)}function ae(r){let t=r.get("colours");t&&document.querySelector(`#colouring [data-value="${CSS.escape(t)}"]`)&&(v.colouring=t),v.layer=Math.max(1,Number(r.
get("layer")??1)||1);let e=r.get("edges");(e==="plain"||e==="none")&&(v.edges=e),v.points=r.get("points")!=="false",F()}function F(){document.documentElement.dataset.theme=v.dark?"dark":"light";for(let r of document.
querySelectorAll("#colouring button"))r.setAttribute("aria-checked",String(r.dataset.value===v.colouring));p("layer-label").hidden=v.colouring!=="layer",E("layer").value=String(v.layer),p("layer-out").
textContent=String(v.layer),O("edges").value=v.edges,E("points").checked=v.points;for(let r of T.values())r.plane.restyle(v);I.setLabelColours(Et(x?x.widths.length-2:0)),I.refresh(),D&&Pt(D),lt()}function le(){
p("play").addEventListener("click",()=>{N.do(p("play").getAttribute("aria-pressed")==="true"?"pause":"play")}),p("step").addEventListener("click",()=>N.do("step")),p("reset").addEventListener("click",
()=>N.do("reset")),p("record").addEventListener("click",()=>{N.do("record",{on:p("record").getAttribute("aria-pressed")!=="true"})});for(let r of document.querySelectorAll("[data-keep]"))r.addEventListener(
"click",()=>oe(r.dataset.keep));p("link").addEventListener("click",()=>{lt(),navigator.clipboard.writeText(location.href).then(()=>H("The link is in the clipboard."),()=>H(location.href))}),p("theme").
addEventListener("click",()=>{v.dark=!v.dark,F()});for(let r of document.querySelectorAll("#colouring button"))r.addEventListener("click",()=>{v.colouring=r.dataset.value,F()});p("layer").addEventListener(
"input",()=>{v.layer=Number(E("layer").value),F()}),p("edges").addEventListener("change",()=>{v.edges=O("edges").value,F()}),p("points").addEventListener("change",()=>{v.points=E("points").checked,F()}),
p("file").addEventListener("change",()=>{let r=[...E("file").files??[]].sort((e,n)=>n.size-e.size),t=r.find(e=>e.size>kt);t?H(`${t.name} is too large: files of up to ${kt>>20} MB can be loaded.`,!0):r.
reduce((e,n)=>e.then(()=>N.upload(n)),Promise.resolve()),E("file").value=""}),p("weight-range").addEventListener("input",()=>{E("weight-value").value=E("weight-range").value,rt(Number(E("weight-range").
value))}),p("weight-value").addEventListener("change",()=>rt(Number(E("weight-value").value))),p("weight").addEventListener("submit",r=>{r.preventDefault(),rt(Number(E("weight-value").value)),p("weigh\
t").hidden=!0}),document.addEventListener("keydown",r=>{if(r.key==="Escape"&&(p("weight").hidden=!0,p("keep").open=!1),r.target instanceof Element&&r.target.closest("input, select, button, summary, g")||
r.ctrlKey||r.metaKey||r.altKey)return;let e={" ":"play",s:"step",r:"reset"}[r.key];e&&(r.preventDefault(),p(e).click())}),window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change",r=>{
v.dark=r.matches,F()})}le();F();Object.assign(window,{play:{views:T,look:v,frame:()=>D,about:()=>x,drawn:()=>St}});
