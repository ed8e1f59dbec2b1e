var Se=`
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
`,ae="http://www.w3.org/2000/svg";var G=class{constructor(e,t={}){this.events=t;if(!document.getElementById("diagram-style")){let i=document.createElement("style");i.id="diagram-style",i.textContent=Se,document.head.append(i)}this.frame=
document.createElement("div"),this.frame.className="diagram",this.canvas=document.createElement("canvas"),this.svg=document.createElementNS(ae,"svg"),this.svg.setAttribute("role","img"),this.frame.append(
this.canvas,this.svg),e.append(this.frame),this.observer=new ResizeObserver(()=>this.layout()),this.observer.observe(this.frame),this.svg.addEventListener("click",i=>this.clicked(i)),this.svg.addEventListener(
"pointermove",i=>this.moved(i)),this.svg.addEventListener("pointerleave",()=>this.events.onNeuron?.(null))}events;frame;canvas;svg;observer;network={widths:[],skips:[]};blocks=[];neurons=[];lines=[];pattern={
pieces:null};size=[0,0];due=0;setNetwork(e){this.network=e;let t=e.skips.map(([r,s])=>`${r}→${s}`).join(", "),i=`Network ${e.widths.join(" → ")}${t?`, skips ${t}`:""}`;this.svg.setAttribute("aria-\
label",i),this.layout()}setWeights(e){this.blocks=e,this.due||(this.due=requestAnimationFrame(()=>this.drawWeights()))}setPattern(e,t){this.pattern={pieces:e,counts:t};let i=0;for(let r=1;r<this.neurons.
length-1;r++)for(let s of this.neurons[r]){let o=e?.[i]??0,l=(t?.[i]??2)-1;s.classList.toggle("on",e!==null&&o>0&&o>=l),s.classList.toggle("middle",e!==null&&o>0&&o<l),s.classList.toggle("off",e!==null&&
o===0),i++}}choose(e){for(let t of this.svg.querySelectorAll(".chosen"))t.classList.remove("chosen");e&&this.neurons[e.layer]?.[e.index]?.classList.add("chosen")}refresh(){this.drawWeights()}destroy(){
this.observer.disconnect(),cancelAnimationFrame(this.due),this.frame.remove()}arcs(){let{skips:e,possible:t}=this.network,i=new Set(e.map(String));return[...(this.events.onSkip?(t??[]).filter(s=>!i.has(
String(s))):[]).map(s=>({skip:s,on:!1,span:s[1]-s[0]})),...e.map(s=>({skip:s,on:!0,span:s[1]-s[0]}))]}top(){let e=this.arcs().map(t=>t.span);return e.length?Math.min(18+13*Math.max(...e),.42*this.size[1]):
14}x(e){let t=Math.max(1,this.network.widths.length-1);return 22+e/t*(this.size[0]-44)}y(e,t){let i=this.network.widths[e],r=this.top(),s=this.size[1]-(this.network.labels?26:12),o=Math.min(30,(s-r)/Math.
max(1,i));return(r+s)/2+(t-(i-1)/2)*o}radius(e){let t=(this.size[1]-this.top()-20)/Math.max(1,this.network.widths[e]);return Math.max(1.5,Math.min(8,.38*t,(this.size[0]-44)/(4*this.network.widths.length)))}layout(){
if(this.size=[this.frame.clientWidth,this.frame.clientHeight],!this.size[0]||!this.network.widths.length)return;let[e,t]=this.size;this.svg.setAttribute("viewBox",`0 0 ${e} ${t}`),this.svg.replaceChildren();
for(let i of this.arcs())this.svg.append(this.arc(i.skip,i.on));this.neurons=this.network.widths.map((i,r)=>Array.from({length:i},(s,o)=>this.neuron(r,o))),this.network.labels?.forEach((i,r)=>{let s=H(
"text",{x:this.x(r),y:t-6,"text-anchor":"middle"});s.textContent=i,this.svg.append(s)}),this.setPattern(this.pattern.pieces,this.pattern.counts),this.drawWeights()}arc([e,t],i){let[r,s]=[this.x(e),this.
x(t)],o=this.top()-6,l=Math.max(4,o-Math.min(13*(t-e),o-4)),a=`M${r} ${o} C${r+.12*(s-r)} ${l} ${s-.12*(s-r)} ${l} ${s} ${o}`,u=H("g",{"data-skip":`${e}-${t}`}),c=H("title",{});if(c.textContent=`skip ${e}\
→${t}${this.events.onSkip?i?": click to remove":": click to add":""}`,u.append(c,H("path",{d:a,class:`skip ${i?"":"possible"}`})),u.append(H("path",{d:a,class:"target"})),this.events.onSkip){u.classList.
add("clickable"),u.setAttribute("tabindex","0"),u.setAttribute("role","switch"),u.setAttribute("aria-checked",String(i)),u.setAttribute("aria-label",`skip ${e}→${t}`);let h=()=>this.events.onSkip?.(
[e,t]);u.addEventListener("click",m=>{m.stopPropagation(),h()}),u.addEventListener("keydown",m=>{(m.key==="Enter"||m.key===" ")&&(m.preventDefault(),h())})}return u}neuron(e,t){let i=e>0&&e<this.network.
widths.length-1,r=H("circle",{cx:this.x(e),cy:this.y(e,t),r:this.radius(e),class:`neuron ${i?"hidden":""}`,"data-layer":e,"data-index":t});return this.svg.append(r),r}drawWeights(){this.due=0;let[e,t]=this.
size,i=window.devicePixelRatio||1;this.canvas.width=Math.round(e*i),this.canvas.height=Math.round(t*i);let r=this.canvas.getContext("2d");if(!r||!e)return;r.scale(i,i);let s=getComputedStyle(this.frame),
o=[s.getPropertyValue("--diagram-negative").trim()||"#2f6db4",s.getPropertyValue("--diagram-positive").trim()||"#dd7829"];this.lines=this.visible();let l=Math.max(1e-12,...this.blocks.map(Le));for(let a of this.
lines){let u=Math.min(1,Math.abs(a.value)/l);r.globalAlpha=.12+.88*u,r.lineWidth=.4+2.6*u,r.strokeStyle=o[a.value>0?1:0],r.beginPath(),r.moveTo(a.x,a.y),r.lineTo(a.x2,a.y2),r.stroke()}}visible(){let e=this.
blocks.filter(s=>s.from===s.to-1),t=e.reduce((s,o)=>s+o.rows*o.columns,0),i=0;t>2500&&(i=e.flatMap(o=>le(o).map(Math.abs)).sort((o,l)=>l-o)[2500]);let r=[];for(let{from:s,to:o,rows:l,columns:a,values:u,
stride:c=a}of e)if(!(l>this.network.widths[o]||a>this.network.widths[s]))for(let h=0;h<l;h++)for(let m=0;m<a;m++){let p=u[h*c+m];p===0||Math.abs(p)<i||r.push({from:s,to:o,row:h,column:m,value:p,x:this.
x(s),y:this.y(s,m),x2:this.x(o),y2:this.y(o,h)})}return r}moved(e){let t=e.target.dataset,i=Number(t.layer),r=i>0&&i<this.network.widths.length-1;this.events.onNeuron?.(r?{layer:i,index:Number(t.index)}:
null),this.events.onWeight&&(this.svg.style.cursor=this.lineAt(e)?"pointer":"")}clicked(e){let t=this.events.onWeight&&this.lineAt(e);t&&this.events.onWeight?.({...t,x:e.clientX,y:e.clientY})}lineAt(e){
let t=this.svg.getBoundingClientRect(),[i,r]=[e.clientX-t.left,e.clientY-t.top],s=null,o=5;for(let l of this.lines){let a=(i-l.x)/(l.x2-l.x);if(a<.06||a>.94)continue;let u=(l.y2-l.y)/(l.x2-l.x),c=Math.
abs(l.y+a*(l.y2-l.y)-r)/Math.hypot(1,u);c<o&&([o,s]=[c,l])}return s}};function H(n,e){let t=document.createElementNS(ae,n);for(let[i,r]of Object.entries(e))t.setAttribute(i,String(r));return t}function le(n){
let{rows:e,columns:t,values:i,stride:r=t}=n;return Array.from({length:e*t},(s,o)=>i[Math.floor(o/t)*r+o%t])}function Le(n){return le(n).reduce((e,t)=>Math.max(e,Math.abs(t)),0)}var d=n=>document.getElementById(n),x=n=>d(n),_=n=>d(n);function v(n,e,t){let i=document.createElement(n);return e!==void 0&&(i.textContent=e),t&&(i.className=t),i}var Ae="⁰¹²³⁴⁵⁶⁷⁸⁹";function $e(n){let e=[...String(Math.abs(n))].map(t=>Ae[Number(t)]).join("");return`10${n<0?"⁻":""}${e}`}function $(n,e=5,t=0){if(Number.isNaN(n))return"not a nu\
mber";if(Math.abs(n)===1/0)return"unbounded";if(Math.abs(n)<=1e-12*t||n===0)return"0";let i=Math.floor(Math.log10(Math.abs(n)));if(i>=7||i<-4){let[r,s]=n.toExponential(e-1).split("e"),o=String(Number(
r)).replace("-","−");return`${o==="1"?"":o==="−1"?"−":`${o}·`}${$e(Number(s))}`}return n.toLocaleString("en",{maximumSignificantDigits:e}).replace("-","−")}var O=class{constructor(e,t,i,r){this.canvas=e;this.title=t;this.series=i;this.logarithmic=r}canvas;title;series;logarithmic;steps=[];rows=[];every=1;seen=0;clear(){[this.steps,this.rows,this.every,this.
seen]=[[],[],1,0]}add(e,t){if(this.steps.length&&e<=this.steps[this.steps.length-1])for(;this.steps.length&&e<=this.steps[this.steps.length-1];)this.steps.pop(),this.rows.pop();else if(this.seen++%this.
every)return;this.steps.push(e),this.rows.push(t),this.steps.length>1200&&(this.steps=this.steps.filter((i,r)=>r%2===0),this.rows=this.rows.filter((i,r)=>r%2===0),this.every*=2)}draw(e=this.series){this.
series=e;let{canvas:t}=this,i=window.devicePixelRatio||1,[r,s]=[t.clientWidth,t.clientHeight];t.width=Math.round(r*i),t.height=Math.round(s*i);let o=t.getContext("2d");if(!o||!r)return;o.scale(i,i);let l=getComputedStyle(
t),[a,u]=[l.getPropertyValue("--quiet"),l.getPropertyValue("--rule")];o.font=`11px ${l.fontFamily}`;let[c,h,m,p]=[44,r-8,24,s-18],[b,M]=this.range(),g=Math.max(1,this.steps[this.steps.length-1]??1),A=w=>c+
w/g*(h-c),E=w=>this.logarithmic?Math.log10(Math.max(w,1e-9)):w,S=w=>p-(E(w)-b)/(M-b)*(p-m);o.textBaseline="middle",o.textAlign="right";for(let w of this.ticks(b,M)){let T=p-(w-b)/(M-b)*(p-m);o.strokeStyle=
u,o.lineWidth=1,o.beginPath(),o.moveTo(c,Math.round(T)+.5),o.lineTo(h,Math.round(T)+.5),o.stroke(),o.fillStyle=a,o.fillText(this.logarithmic?Te(w):Ne(w),c-6,T)}o.fillText(`${g.toLocaleString("en")} st\
eps`,h,s-7),this.legend(o,c,a),this.series.forEach((w,T)=>{o.strokeStyle=w.colour,o.lineWidth=w.dashed?1.25:1.75,o.setLineDash(w.dashed?[4,3]:[]),o.beginPath();let P=!1;this.rows.forEach((C,k)=>{let R=C[T];
if(R==null){P=!1;return}P?o.lineTo(A(this.steps[k]),S(R)):o.moveTo(A(this.steps[k]),S(R)),P=!0}),o.stroke(),o.setLineDash([])})}legend(e,t,i){e.textAlign="left",e.fillStyle=i,e.fillText(this.title,0,9);
let r=Math.max(t,e.measureText(this.title).width+14);for(let s of this.series)e.strokeStyle=s.colour,e.lineWidth=2,e.setLineDash(s.dashed?[4,3]:[]),e.beginPath(),e.moveTo(r,9),e.lineTo(r+16,9),e.stroke(),
e.setLineDash([]),e.fillText(s.name,r+21,9),r+=33+e.measureText(s.name).width}range(){let[e,t]=[1/0,-1/0];for(let i of this.rows)for(let r=0;r<this.series.length;r++){let s=i[r];if(s==null)continue;let o=this.
logarithmic?Math.log10(Math.max(s,1e-9)):s;e=Math.min(e,o),t=Math.max(t,o)}return e>t?this.logarithmic?[-2,0]:[0,10]:this.logarithmic?t-e<.5?[e-.25,t+.25]:[e,t]:[0,Math.max(t*1.05,4)]}ticks(e,t){let i=(t-
e)/3,r=10**Math.floor(Math.log10(i)),s=[1,2,5,10].map(a=>a*r).find(a=>a>=i)??10*r,o=this.logarithmic?Math.max(1,Math.round(s)):s,l=[];for(let a=Math.ceil(e/o)*o;a<=t+1e-9;a+=o)l.push(a);return l}};function Ne(n){
return n>=1e4?`${Number((n/1e3).toPrecision(3))}k`:String(Number(n.toPrecision(3)))}function Te(n){return n>=-3?String(Number((10**n).toPrecision(1))):`1e${n}`.replace("-","−")}var ce=["samples","noise","reach","scale","seed","learning_rate","batch","strength","speed"],ue=["data","activation","init","optimiser","penalty","loss"],Re={phi1:"φ1 (paper)",phi2:"φ2 (paper)",phi3:"\
φ3 (paper)",phi4:"φ4 (paper)",own:"my own",he:"He",xavier:"Xavier",adam:"Adam",sgd:"SGD",rmsprop:"RMSprop",l1:"L1",l2:"L2",xor:"XOR"},j=class{constructor(e){this.change=e;for(let t of ce)d(t).addEventListener(
"change",()=>e({[t]:Number(x(t).value)}));for(let t of ue)d(t).addEventListener("change",()=>e({[t]:_(t).value}));d("compare").addEventListener("change",()=>e({compare:x("compare").checked})),d("clear").
addEventListener("click",()=>e({points:[]}))}change;about=null;show(e){this.about=e;let{settings:t,choices:i}=e;for(let r of ue){let s=_(r);if(!s.options.length)for(let o of i[r]){let l=v("option",Re[o]??
o.replace(/_/g," "));l.value=o,s.append(l)}s.value=t[r]}for(let r of ce)this.number(r,t[r]);x("compare").checked=t.compare,d("hand").hidden=t.data!=="own";for(let r of document.querySelectorAll(".gene\
rated"))r.hidden=t.data==="own";d("given").hidden=e.given===null,d("given").textContent=e.given===null?"":`Loaded: ${e.given}`,this.layers()}number(e,t){let i=d(e);i instanceof HTMLSelectElement&&![...i.
options].some(r=>Number(r.value)===t)&&i.append(v("option",String(t))),(Number(i.value)!==t||i.value==="")&&(i.value=String(t))}layers(){let{settings:e,most:t}=this.about,{widths:i}=e,r=(l,a)=>{let u=v(
"span",void 0,"one"),c=(m,p,b)=>{let M=v("button",m);return M.setAttribute("aria-label",b),M.disabled=l+p<1||l+p>t[1],M.addEventListener("click",()=>this.change({widths:i.map((g,A)=>A===a?g+p:g)})),M},
h=v("output",String(l));return h.title=`layer ${a+1}`,u.append(c("−",-1,`layer ${a+1}: fewer neurons`),h,c("+",1,`layer ${a+1}: more neurons`)),u},s=v("button","− layer");s.id="less",s.disabled=i.
length<2,s.addEventListener("click",()=>this.resize(i.slice(0,-1)));let o=v("button","+ layer");o.id="more",o.disabled=i.length>=t[0],o.addEventListener("click",()=>this.resize([...i,i[i.length-1]])),
d("layers").replaceChildren(...i.map(r),s,o)}resize(e){let t=this.about.settings.skips.filter(([,i])=>i<=e.length+1);this.change({widths:e,skips:t})}};function de(n,e,t){let i=[];for(let r of Object.keys(n)){let s=he(r,n);s!==he(r,e)&&i.push([r,s])}for(let[r,s]of Object.entries(t))i.push([`view.${r}`,String(s)]);return i.map(([r,s])=>`${r}=${encodeURIComponent(
s)}`).join("&")}function he(n,e){return n==="widths"?e.widths.join("."):n==="skips"?e.skips.map(t=>t.join("-")).join("."):n==="points"?e.points.map(t=>t.map(Pe).join(",")).join(";"):String(e[n])}function Pe(n){
return String(Number(n.toPrecision(6)))}function me(n,e){let t={},i=new Map;for(let[r,s]of new URLSearchParams(n.replace(/^#/,"")))r.startsWith("view.")?i.set(r.slice(5),s):r==="widths"?t.widths=Q(s,"\
."):r==="skips"?t.skips=s.split(".").filter(Boolean).map(o=>Q(o,"-")):r==="points"?t.points=s.split(";").filter(Boolean).map(o=>Q(o,",")):r in e&&(t[r]=Ce(s,e[r]));return{values:t,view:i}}function Q(n,e){
return n.split(e).filter(Boolean).map(Number)}function Ce(n,e){return typeof e=="number"?Number(n):typeof e=="boolean"?n==="true":n}function Y(n,e,t){let i=e*Math.cos(t),r=e*Math.sin(t),s=(n+.3963377774*i+.2158037573*r)**3,o=(n-.1055613458*i-.0638541728*r)**3,l=(n-.0894841775*i-1.291485548*r)**3,a=[4.0767416621*s-3.3077115913*o+.2309699292*
l,-1.2684380046*s+2.6097574011*o-.3413193965*l,-.0041960863*s-.7034186147*o+1.707614701*l],u=c=>{let h=c<=.0031308?12.92*c:1.055*c**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,h)))};
return[u(a[0]),u(a[1]),u(a[2])]}function pe(n){let e=new Uint8Array(4096);for(let t=0;t<1024;t++){let i=2*Math.PI*(t*.6180339887%1),r=(t>>3)%4,s=n?.36+.07*r:.74+.055*r;e.set([...Y(s,n?.075:.085,i),255],
4*t)}return e}function fe(n,e,t){if(n===0)return t?[150,150,160]:[110,110,120];let i=.5+5*(n-1)/Math.max(1,e);return Y(t?.78:.55,.16,i)}var Be=`#version 300 es
in vec2 corner;
in float value;
in vec4 colour;
in float layer;
uniform vec4 view;
uniform float size;
out float vValue;
flat out vec4 vColour;
flat out float vLayer;
void main() {
  gl_Position = vec4(corner * view.xy + view.zw, 0.0, 1.0);
  vValue = value / size;
  vColour = colour;
  vLayer = layer;
}`,Fe=`#version 300 es
precision highp float;
in float vValue;
flat in vec4 vColour;
flat in float vLayer;
uniform int mode;          // 0: sides of the boundary, 1: values, 2: colours, 3: edges
uniform vec3 low, middle, high, ink;
uniform vec3 layers[9];
uniform float shown, strength;
uniform bool coloured, cut;
out vec4 result;
vec3 ramp(float t) {
  float s = 1.0 - exp(-1.2 * abs(t));   // near the boundary steep, and never quite at its end
  return mix(middle, t < 0.0 ? low : high, s);
}
void main() {
  if (mode == 3) {
    if (vLayer > shown) discard;
    vec3 colour = coloured ? layers[int(clamp(vLayer, 0.0, 8.0))] : ink;
    result = vec4(colour * strength, strength);
    return;
  }
  vec3 colour = vColour.rgb;
  float step = max(fwidth(vValue), 1e-7);
  if (mode == 0) colour = mix(ramp(-0.9), ramp(0.9), clamp(vValue / step + 0.5, 0.0, 1.0));
  if (mode == 1) colour = ramp(vValue);
  if (cut) colour = mix(ink, colour, clamp(abs(vValue) / (1.25 * step), 0.0, 1.0));
  result = vec4(colour, 1.0);
}`,be={light:{low:[47,109,180],middle:[246,244,239],high:[221,120,41],ink:[28,33,45]},dark:{low:[84,148,222],middle:[32,35,42],high:[232,140,66],ink:[236,238,243]}},ge=20,q=class{constructor(e,t,i){this.
canvas=e;this.sheet=t;this.look=i;let r=e.getContext("webgl2",{antialias:!0,alpha:!1,preserveDrawingBuffer:!0});if(!r)throw new Error("this page needs WebGL 2, which the browser does not offer");this.
gl=r,this.program=He(r),r.useProgram(this.program),r.enable(r.BLEND),r.blendFunc(r.ONE,r.ONE_MINUS_SRC_ALPHA),[this.vertexBuffer,this.triangleBuffer,this.edgeBuffer]=[r.createBuffer(),r.createBuffer(),
r.createBuffer()],r.bindBuffer(r.ARRAY_BUFFER,this.vertexBuffer);let s=(o,l,a,u,c)=>{let h=r.getAttribLocation(this.program,o);r.enableVertexAttribArray(h),r.vertexAttribPointer(h,l,a,u,ge,c)};s("corn\
er",2,r.FLOAT,!1,0),s("value",1,r.FLOAT,!1,8),s("colour",4,r.UNSIGNED_BYTE,!0,12),s("layer",1,r.UNSIGNED_BYTE,!1,16)}canvas;sheet;look;gl;program;places=new Map;vertexBuffer;triangleBuffer;edgeBuffer;triangles=0;edges=0;size=1;picture=null;about=null;layerOf=new Uint8Array;neuron=null;region=-1;describe(e){
this.about=e;let t=[];e.widths.slice(1,-1).forEach((i,r)=>{for(let s=0;s<i;s++)t.push(r+1)}),this.layerOf=Uint8Array.from(t),this.neuron=null,this.region=-1}show(e){this.picture=e,this.region=-1,this.
load(),this.draw()}pointAtNeuron(e){e!==this.neuron&&(this.neuron=e,this.drawSheet())}pointAtRegion(e){e!==this.region&&(this.region=e,this.drawSheet())}resize(){let e=window.devicePixelRatio||1;for(let t of[
this.canvas,this.sheet]){let[i,r]=[Math.round(t.clientWidth*e),Math.round(t.clientHeight*e)];(t.width!==i||t.height!==r)&&([t.width,t.height]=[i,r])}}regionAt(e,t){if(!this.picture)return-1;let{corners:i,
starts:r,counts:s}=this.picture;for(let o=0;o<s.length;o++){let[l,a]=[r[o],r[o+1]],u=0,c=!0;for(let h=l;c&&h<a;h++){let m=h+1<a?h+1:l,p=(i[2*m]-i[2*h])*(t-i[2*h+1])-(i[2*m+1]-i[2*h+1])*(e-i[2*h]);p!==
0&&(u===0&&(u=Math.sign(p)),c=Math.sign(p)===u)}if(c&&u!==0)return o}return-1}pattern(e){let{patterns:t,counts:i,bits:r}=this.picture,s=t.length/Math.max(1,i.length),o=new Uint8Array(this.layerOf.length);
for(let l=0;l<o.length;l++)for(let a=0;a<r;a++){let u=l*r+a;o[l]|=(t[e*s+(u>>3)]>>(u&7)&1)<<a}return o}toPlane(e,t){let i=this.sheet.getBoundingClientRect(),{low:r,high:s}=this.about;return[r[0]+(e-i.
left)/i.width*(s[0]-r[0]),s[1]-(t-i.top)/i.height*(s[1]-r[1])]}load(){let{gl:e,picture:t}=this;if(!t)return;let{corners:i,counts:r,starts:s,sides:o,maps:l}=t,a=i.length/2,u=new ArrayBuffer(a*ge),[c,h]=[
new Float32Array(u),new Uint32Array(u)],m=this.colours(),p=new Uint32Array(3*Math.max(0,a-2*r.length)),b=new Uint32Array(2*a),M=[],[g,A]=[0,0];for(let E=0;E<r.length;E++){let[S,w]=[s[E],s[E+1]],[T,P,C]=[
l[3*E],l[3*E+1],l[3*E+2]];for(let k=S;k<w;k++){let[R,V]=[i[2*k],i[2*k+1]],Z=T*R+P*V+C;c[5*k]=R,c[5*k+1]=V,c[5*k+2]=Z,h[5*k+3]=m[E],h[5*k+4]=o[k]<0?0:this.layerOf[o[k]],b[A++]=k+1<w?k+1:S,b[A++]=k,k>S+
1&&(p[g++]=S,p[g++]=k-1,p[g++]=k)}w>S&&M.push(Math.abs(c[5*S+2]))}M.sort((E,S)=>E-S),this.size=Math.max(M[Math.floor(.7*(M.length-1))]??1,1e-6),e.bindBuffer(e.ARRAY_BUFFER,this.vertexBuffer),e.bufferData(
e.ARRAY_BUFFER,u,e.STREAM_DRAW),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,this.triangleBuffer),e.bufferData(e.ELEMENT_ARRAY_BUFFER,p,e.STREAM_DRAW),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,this.edgeBuffer),e.bufferData(
e.ELEMENT_ARRAY_BUFFER,b,e.STREAM_DRAW),this.triangles=g,this.edges=A}colours(){let{counts:e,maps:t,patterns:i,bits:r}=this.picture,s=new Uint32Array(e.length);if(this.look.colouring==="gradient"){let o=We(
this.look.dark),l=1e-9;for(let a=0;a<e.length;a++)l=Math.max(l,Math.hypot(t[3*a],t[3*a+1]));for(let a=0;a<e.length;a++){let u=Math.atan2(t[3*a+1],t[3*a])/(2*Math.PI)+1,c=Math.sqrt(Math.hypot(t[3*a],t[3*
a+1])/l);s[a]=o[64*Math.min(15,Math.floor(16*c))+(Math.floor(64*u)&63)]}}else if(this.look.colouring==="pattern"||this.look.colouring==="layer"){let o=new Uint32Array(pe(this.look.dark).buffer),l=i.length/
Math.max(1,e.length),u=(this.look.colouring==="pattern"?this.layerOf.length:this.layerOf.filter(c=>c<=this.look.layer).length)*r;for(let c=0;c<e.length;c++){let h=2166136261;for(let m=0;8*m<u;m++){let p=u>=
8*m+8?255:(1<<u-8*m)-1;h=Math.imul(h^i[c*l+m]&p,16777619)}s[c]=o[(h^h>>>15)&1023]}}return s}restyle(e){this.look=e,this.load(),this.draw()}draw(){let{gl:e,about:t,look:i}=this;this.resize();let{width:r,
height:s}=this.canvas;if(!t||!r||!this.picture)return;e.viewport(0,0,r,s);let o=be[i.dark?"dark":"light"];e.clearColor(o.middle[0]/255,o.middle[1]/255,o.middle[2]/255,1),e.clear(e.COLOR_BUFFER_BIT);let{
low:l,high:a}=t,[u,c]=[2/(a[0]-l[0]),2/(a[1]-l[1])];e.uniform4f(this.place("view"),u,c,-1-l[0]*u,-1-l[1]*c),e.uniform1f(this.place("size"),this.size);for(let m of["low","middle","high","ink"]){let[p,b,
M]=o[m];e.uniform3f(this.place(m),p/255,b/255,M/255)}let h=i.colouring==="decision"?0:i.colouring==="value"?1:2;e.uniform1i(this.place("mode"),h),e.uniform1i(this.place("cut"),i.colouring==="layer"?0:
1),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,this.triangleBuffer),e.drawElements(e.TRIANGLES,this.triangles,e.UNSIGNED_INT,0),this.drawEdges(r),this.drawSheet()}drawEdges(e){let{gl:t,look:i,about:r}=this,s=r.
widths.length-2,o=e/Math.sqrt(Math.max(1,this.picture.regions)),l=Math.min(1,o/12)*(i.edges==="layers"?.75:.4);if(i.edges==="none"||o<2.5)return;let a=new Float32Array(27);for(let u=0;u<9;u++)a.set(fe(
u,s,i.dark).map(c=>c/255),3*u);t.uniform3fv(this.place("layers[0]"),a),t.uniform1i(this.place("mode"),3),t.uniform1i(this.place("coloured"),i.edges==="layers"?1:0),t.uniform1f(this.place("shown"),i.colouring===
"layer"?i.layer:255),t.uniform1f(this.place("strength"),l),t.bindBuffer(t.ELEMENT_ARRAY_BUFFER,this.edgeBuffer),t.drawElements(t.LINES,this.edges,t.UNSIGNED_INT,0)}place(e){return this.places.has(e)||
this.places.set(e,this.gl.getUniformLocation(this.program,e)),this.places.get(e)}drawSheet(){let{about:e,picture:t,look:i}=this,r=this.sheet.getContext("2d");if(!r||!e||!t)return;let s=window.devicePixelRatio||
1,[o,l]=[this.sheet.width/s,this.sheet.height/s],{low:a,high:u}=e,c=m=>(m-a[0])/(u[0]-a[0])*o,h=m=>l-(m-a[1])/(u[1]-a[1])*l;r.setTransform(s,0,0,s,0,0),r.clearRect(0,0,o,l),this.neuron!==null&&this.drawNeuron(
r,c,h),i.points&&Ue(r,e,c,h,i.dark),this.region>=0&&(r.strokeStyle=i.dark?"#fff":"#101828",r.lineWidth=2,r.stroke(this.path(this.region,c,h)))}path(e,t,i){let{corners:r,starts:s}=this.picture,o=new Path2D;
for(let l=s[e];l<s[e+1];l++)o.lineTo(t(r[2*l]),i(r[2*l+1]));return o.closePath(),o}drawNeuron(e,t,i){let{corners:r,counts:s,starts:o,sides:l}=this.picture;e.fillStyle=this.look.dark?"rgb(255 255 255 /\
 0.16)":"rgb(16 24 40 / 0.13)";for(let a=0;a<s.length;a++)this.pieceOf(a)>0&&e.fill(this.path(a,t,i));e.strokeStyle=this.look.dark?"#ffd166":"#c01574",e.lineWidth=3,e.lineCap="round",e.beginPath();for(let a=0;a<
s.length;a++){let[u,c]=[o[a],o[a+1]];for(let h=u;h<c;h++){if(l[h]!==this.neuron)continue;let m=h+1<c?h+1:u;e.moveTo(t(r[2*h]),i(r[2*h+1])),e.lineTo(t(r[2*m]),i(r[2*m+1]))}}e.stroke()}pieceOf(e){let{patterns:t,
counts:i,bits:r}=this.picture,s=t.length/Math.max(1,i.length),o=0;for(let l=0;l<r;l++){let a=this.neuron*r+l;o|=(t[e*s+(a>>3)]>>(a&7)&1)<<l}return o}boundaryLength(e){return this.picture?this.picture.
sides.filter(t=>t===e).length:0}svg(e=600){let{picture:t,about:i,look:r}=this,{low:s,high:o}=i,{corners:l,counts:a,starts:u,maps:c}=t,h=this.colours(),m=new Uint8Array(h.buffer),p=[];for(let g=0;g<a.length;g++){
let[A,E]=[0,0],S=[];for(let C=u[g];C<u[g+1];C++){let[k,R]=[l[2*C],l[2*C+1]];A+=k/a[g],E+=R/a[g];let V=(k-s[0])/(o[0]-s[0])*e,Z=e-(R-s[1])/(o[1]-s[1])*e;S.push(`${V.toFixed(2)},${Z.toFixed(2)}`)}let w=c[3*
g]*A+c[3*g+1]*E+c[3*g+2],P=r.colouring!=="decision"&&r.colouring!=="value"?[...m.slice(4*g,4*g+3)]:ee(De(r.colouring==="value"?w/this.size:.9*Math.sign(w)),r.dark);p.push(`<path d="M${S.join("L")}Z" f\
ill="rgb(${P.join()})"/>`)}let b=r.edges==="none"?"none":r.dark?"#eceef3":"#1c212d",M=[];for(let g=0;r.points&&g<i.points.length;g+=3){let[A,E,S]=i.points.slice(g,g+3),w=(A-s[0])/(o[0]-s[0])*e,T=e-(E-
s[1])/(o[1]-s[1])*e,P=ee(1.1*Math.max(-1,Math.min(1,S)),r.dark).join();M.push(`<circle cx="${w.toFixed(2)}" cy="${T.toFixed(2)}" r="3.5" fill="rgb(${P})" stroke="#fff"/>`)}return[`<svg xmlns="http://w\
ww.w3.org/2000/svg" width="${e}" height="${e}" viewBox="0 0 ${e} ${e}">`,`<g stroke="${b}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,...p,"</g>",...M,"</svg>"].join(`
`)}};function Ue(n,e,t,i,r){let{points:s}=e,o=1e-9;for(let a=2;a<s.length;a+=3)o=Math.max(o,Math.abs(s[a]));let l=s.length>1500?2:3.5;n.lineWidth=1;for(let a=0;a<s.length;a+=3)n.beginPath(),n.arc(t(s[a]),
i(s[a+1]),l,0,2*Math.PI),n.fillStyle=`rgb(${ee(1.15*s[a+2]/o,r).join(" ")})`,n.fill(),n.strokeStyle=r?"#0d0f13":"#fff",n.stroke()}function De(n){return Math.sign(n)*(1-Math.exp(-1.2*Math.abs(n)))}function ee(n,e){
let{low:t,middle:i,high:r}=be[e?"dark":"light"],s=n<0?t:r,o=Math.min(1.2,Math.abs(n));return i.map((l,a)=>Math.round(Math.max(0,Math.min(255,l+o*(s[a]-l)))))}function We(n){let e=new Uint32Array(1024),
t=new Uint8Array(e.buffer);for(let i=0;i<e.length;i++){let[r,s]=[Math.floor(i/64)/15,i%64/64*2*Math.PI],o=n?.24+.42*r:.96-.3*r;t.set([...Y(o,.02+.13*r,s),255],4*i)}return e}function He(n){let e=n.createProgram();
for(let[t,i]of[[n.VERTEX_SHADER,Be],[n.FRAGMENT_SHADER,Fe]]){let r=n.createShader(t);n.shaderSource(r,i),n.compileShader(r),n.attachShader(e,r)}if(n.linkProgram(e),!n.getProgramParameter(e,n.LINK_STATUS))
throw new Error(n.getProgramInfoLog(e)??"WebGL");return e}var _e={float32:Float32Array,float64:Float64Array,uint8:Uint8Array,uint16:Uint16Array,int16:Int16Array},X=class{constructor(e){this.listener=e;let t=new URLSearchParams(location.search).get("token")??
"";this.socket=new WebSocket(`ws://${location.host}/socket?token=${encodeURIComponent(t)}`),this.socket.binaryType="arraybuffer",this.socket.addEventListener("message",i=>this.arrived(i.data)),this.socket.
addEventListener("close",()=>e.ended())}listener;socket;latest=null;waiting=!1;do(e,t={}){this.socket.readyState===WebSocket.OPEN&&this.socket.send(JSON.stringify({do:e,...t}))}change(e){this.do("sett\
ings",{values:e})}async upload(e){let t=new TextEncoder().encode(JSON.stringify({do:"upload",name:e.name})),i=new Uint8Array(4);new DataView(i.buffer).setUint32(0,t.length,!0),this.socket.send(await new Blob(
[i,t,e]).arrayBuffer())}arrived(e){if(typeof e=="string"){let r=JSON.parse(e);"settings"in r?this.listener.described(r):this.listener.noticed(r);return}let{header:t,start:i}=ve(e);if(t.file){this.listener.
received(t.file,new Blob([e.slice(i)]));return}this.latest=e,!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{if(this.waiting=!1,!this.latest)return;let r=Oe(this.latest);this.latest=null,this.
do("drawn"),this.listener.framed(r)}))}};function ve(n){let e=new DataView(n).getUint32(0,!0);return{header:JSON.parse(new TextDecoder().decode(new Uint8Array(n,4,e))),start:4+e}}function Oe(n){let{header:e,
start:t}=ve(n),i=c=>{let[h,m,p]=e.arrays[c];return new _e[h](n,t+m,p)},r=e.pictures.map(c=>{let h=b=>i(`${c.name}.${b}`),m=h("counts"),p=new Uint32Array(m.length+1);for(let b=0;b<m.length;b++)p[b+1]=p[b]+
m[b];return{...c,counts:m,starts:p,corners:h("corners"),sides:h("sides"),patterns:h("patterns"),maps:h("maps"),vector:h("vector")}}),{step:s,epoch:o,running:l,recording:a,film:u}=e;return{step:s,epoch:o,
running:l,recording:a,film:u,pictures:r}}var f={colouring:"value",layer:1,edges:"layers",points:!0,dark:window.matchMedia("(prefers-color-scheme: dark)").matches},L=new Map,y=null,D=null,W="skips",ye=!1,B=[],K=null,F=null,N=new X({described:Ie,
framed:Ve,noticed:Ge,received:je,ended:Ye}),ze=new j(n=>N.change(n)),z=new G(d("diagram"),{onNeuron:n=>{let e=n&&y?et(n.layer)+n.index:null;for(let t of L.values())t.plane.pointAtNeuron(e)},onSkip:Qe,
onWeight:tt}),ne=new O(d("loss-chart"),"loss",[],!0),re=new O(d("region-chart"),"regions",[],!1);function Ie(n){let e=!ye;if(ye=!0,y=n,e&&location.hash.length>1){let{values:i,view:r}=me(location.hash,
n.settings);if(it(r),Object.keys(i).length){N.do("settings",{values:i,all:!0});return}}ze.show(n);let t=n.widths.length-2;x("layer").max=String(Math.max(1,t)),f.layer=Math.min(f.layer,Math.max(1,t)),z.
setNetwork({widths:n.widths,skips:n.settings.skips,possible:n.given===null?Ze(t):n.settings.skips,labels:n.widths.map((i,r)=>r===0?"input":r===t+1?"output":`layer ${r}`)});for(let i of L.values())i.plane.
describe(n),ke(i,n);oe(),document.documentElement.dataset.ready="yes"}function Ve(n){if(!y)return;(!D||n.step<D.step||n.step===0)&&(ne.clear(),re.clear()),D=n,B=[...B.slice(-29),performance.now()];let e=n.
pictures.map(i=>i.name);for(let[i,r]of L)e.includes(i)||(r.figure.remove(),L.delete(i),W===i&&(W="skips"));d("planes").classList.toggle("single",e.length===1);for(let i of n.pictures){let r=L.get(i.name)??
qe(i.name);r.plane.show(i),Xe(r,i,e.length>1)}Me(),ie(),Ee(n),d("count-step").textContent=n.step.toLocaleString("en"),d("count-epoch").textContent=$(n.epoch,3);let t=B[B.length-1]-B[0];d("count-fps").
textContent=n.running&&t?(1e3*(B.length-1)/t).toFixed(0):"–",n.running||(B=[]),J("play",n.running),J("record",n.recording),d("record").title=n.recording?`${n.film} pictures: stop recording`:"Record \
a film",document.documentElement.dataset.step=String(n.step),document.documentElement.dataset.running=String(n.running),document.documentElement.dataset.film=String(n.film)}var we=0;function Ge(n){n.running===
!1&&J("play",!1);let e=n.busy;if(e===null){d("notice").hidden=!0;return}I(e?`Working: ${e[0]} of ${e[1]} …`:n.error??n.note??"",!!n.error)}function I(n,e=!1){if(!n)return;let t=d("notice");t.textContent=
n,t.classList.toggle("bad",e),t.hidden=!1,window.clearTimeout(we),we=window.setTimeout(()=>{t.hidden=!0},e?9e3:5e3)}function je(n,e){se(e,n),I(`${n}: ${(e.size/1024).toFixed(0)} kB`)}function Ye(){J("\
play",!1),d("notice").hidden&&I("The server has ended. Start it again with: tropicell play",!0),document.documentElement.dataset.ended="yes"}function qe(n){let e=v("figure");e.dataset.name=n;let t=v("\
button",void 0,"name");t.title="Show the weights of this one in the diagram";let i=v("span"),r=v("figcaption");r.append(t,i);let s=v("div",void 0,"box"),[o,l]=[v("canvas"),v("canvas",void 0,"sheet")],
a=[v("div",void 0,"corner from"),v("div",void 0,"corner to")];s.append(o,l,...a);let u=v("p",void 0,"facts");e.append(r,s,u),n==="skips"?d("planes").prepend(e):d("planes").append(e);let c={name:n,figure:e,
title:t,counts:i,facts:u,corners:a,plane:new q(o,l,f)};return c.plane.describe(y),ke(c,y),t.addEventListener("click",()=>{W=n,Me(),xe()}),l.addEventListener("pointermove",h=>{F={view:c,x:h.clientX,y:h.
clientY},ie()}),l.addEventListener("pointerleave",()=>{F=null,ie()}),l.addEventListener("click",h=>nt(c,h)),new ResizeObserver(()=>c.plane.draw()).observe(s),L.set(n,c),c}function ke(n,{low:e,high:t}){
n.corners[0].textContent=`(${$(e[0],3)}, ${$(e[1],3)})`,n.corners[1].textContent=`(${$(t[0],3)}, ${$(t[1],3)})`}function Xe(n,e,t){n.title.textContent=t?e.name==="skips"?"with skips":"without skips":"\
network";let i=(o,l)=>(l?"":"≥ ")+o.toLocaleString("en"),r=(o,l)=>{let a=v("span");return a.append(v("b",o),` ${l}`),a},s=[r(i(e.regions,e.complete),"regions in the box"),r(i(e.whole,e.wholeComplete),
"over R²"),r(e.loss===null?"–":$(e.loss,3),"loss")];y.loss==="logistic"&&e.accuracy!==null&&s.push(r(`${Math.round(100*e.accuracy)}%`,"right")),n.title.parentElement.replaceChildren(n.title,...s),n.
figure.dataset.regions=String(e.regions),n.figure.dataset.whole=String(e.whole),xe()}function xe(){for(let n of L.values())n.title.setAttribute("aria-pressed",String(L.size>1&&n.name===W))}function Ke(n){
return D?.pictures.find(e=>e.name===n)}function Me(){let n=Ke(W)?.vector;if(!n||!y)return;let e=y.terms.flatMap((t,i)=>t.slice(0,1).map(([r,s,o,l,a])=>({from:r,to:i+1,rows:o,columns:a,stride:l,values:n.
subarray(s,s+o*l)})));z.setWeights(e)}function ie(){if(!y||!F||!L.has(F.view.name)){for(let t of L.values())t.plane.pointAtRegion(-1),t.facts.textContent="";z.setPattern(null);return}let[n,e]=F.view.plane.
toPlane(F.x,F.y);for(let t of L.values()){let i=t.plane.regionAt(n,e);t.plane.pointAtRegion(i),Je(t,i,n,e),t===F.view&&z.setPattern(i<0?null:t.plane.pattern(i))}}function Je(n,e,t,i){if(n.figure.dataset.
region=String(e),e<0||!n.plane.picture){n.facts.textContent="";return}let[r,s,o]=n.plane.picture.maps.subarray(3*e,3*e+3),l=n.plane.pattern(e),a=l.filter(p=>p>0).length,u=0,c=y.widths.slice(1,-1).map(
p=>{let b=l.subarray(u,u+p);return u+=p,b.join("")}),h=p=>p<0?"−":"+",m=`${$(r,3)} x ${h(s)} ${$(Math.abs(s),3)} y ${h(o)} ${$(Math.abs(o),3)}`;n.facts.replaceChildren(`${a} of ${l.length} neurons a\
ctive, output ${$(r*t+s*i+o,3)} = ${m} `,v("code",c.join(" ")))}function Ee(n){let e=getComputedStyle(document.documentElement),t={skips:e.getPropertyValue("--skips").trim(),plain:e.getPropertyValue("\
--plain").trim()},i=n.pictures.length>1,r=c=>i?c.name==="skips"?"with":"without":"network",s=n.pictures.some(c=>c.test!==null),o=[],l=[],a=[],u=[];for(let c of n.pictures)o.push({name:r(c),colour:t[c.
name]}),l.push(c.loss),s&&(o.push({name:"test",colour:t[c.name],dashed:!0}),l.push(c.test)),a.push({name:r(c),colour:t[c.name]}),a.push({name:"R²",colour:t[c.name],dashed:!0}),u.push(c.regions,c.whole);
ne.add(n.step,l),re.add(n.step,u),ne.draw(o),re.draw(a)}function Ze(n){let e=[];for(let t=2;t<=n+1;t++)for(let i=0;i<t-1;i++)e.push([i,t]);return e}function Qe([n,e]){if(!y)return;let t=y.settings.skips.
some(r=>r[0]===n&&r[1]===e),i=y.settings.skips.filter(r=>r[0]!==n||r[1]!==e);N.change({skips:t?i:[...i,[n,e]]})}function et(n){return y.widths.slice(1,n).reduce((e,t)=>e+t,0)}function tt({from:n,to:e,
row:t,column:i,value:r,x:s,y:o}){let l=y?.terms[e-1][0];if(!l)return;K={name:W,place:l[1]+t*l[3]+i};let a=d("weight"),u=n===0?`input ${i+1}`:`layer ${n}, neuron ${i+1}`,c=e===y.widths.length-1?"output":
`layer ${e}, neuron`;d("weight-name").textContent=`${u} → ${c} ${t+1}`,x("weight-range").value=String(r),x("weight-value").value=$(r,4).replace("−","-"),a.hidden=!1,a.style.left=`${Math.max(8,Math.
min(s-40,window.innerWidth-a.offsetWidth-8))}px`,a.style.top=`${Math.min(o+14,window.innerHeight-a.offsetHeight-8)}px`}function te(n){K&&Number.isFinite(n)&&N.do("weight",{network:K.name,place:K.place,
value:n})}function nt(n,e){if(y?.settings.data!=="own")return;let[t,i]=n.plane.toPlane(e.clientX,e.clientY),r=(y.high[0]-y.low[0])*.012,{points:s}=y.settings,o=s.filter(u=>Math.hypot(u[0]-t,u[1]-i)>r),
l=Number(document.querySelector("input[name=class]:checked").value),a=o.length<s.length?o:[...s,[Number(t.toPrecision(6)),Number(i.toPrecision(6)),e.shiftKey?-l:l]];N.change({points:a})}function J(n,e){
d(n).setAttribute("aria-pressed",String(e))}function se(n,e){let t=v("a");t.href=URL.createObjectURL(n),t.download=e,t.click(),setTimeout(()=>URL.revokeObjectURL(t.href),1e3)}function rt(n){d("keep").
open=!1;let e=L.get(W);if(n==="png"&&e){let t=v("canvas");[t.width,t.height]=[e.plane.canvas.width,e.plane.canvas.height];let i=t.getContext("2d");i.drawImage(e.plane.canvas,0,0),i.drawImage(e.plane.sheet,
0,0),t.toBlob(r=>{r&&se(r,"regions.png")})}else n==="svg"&&e?se(new Blob([e.plane.svg()],{type:"image/svg+xml"}),"regions.svg"):N.do("keep",{what:n,colouring:f.colouring})}function oe(){if(!y)return;let n={};
f.colouring!=="value"&&(n.colours=f.colouring),f.colouring==="layer"&&(n.layer=f.layer),f.edges!=="layers"&&(n.edges=f.edges),f.points||(n.points=!1);let e=de(y.settings,y.defaults,n);history.replaceState(
null,"",`${location.pathname}${location.search}${e?`#${e}`:""}`)}function it(n){let e=n.get("colours");e&&document.querySelector(`#colouring [data-value="${CSS.escape(e)}"]`)&&(f.colouring=e),f.layer=
Math.max(1,Number(n.get("layer")??1)||1);let t=n.get("edges");(t==="plain"||t==="none")&&(f.edges=t),f.points=n.get("points")!=="false",U()}function U(){document.documentElement.dataset.theme=f.dark?"\
dark":"light";for(let n of document.querySelectorAll("#colouring button"))n.setAttribute("aria-checked",String(n.dataset.value===f.colouring));d("layer-label").hidden=f.colouring!=="layer",x("layer").
value=String(f.layer),d("layer-out").textContent=String(f.layer),_("edges").value=f.edges,x("points").checked=f.points;for(let n of L.values())n.plane.restyle(f);z.refresh(),D&&Ee(D),oe()}function st(){
d("play").addEventListener("click",()=>{N.do(d("play").getAttribute("aria-pressed")==="true"?"pause":"play")}),d("step").addEventListener("click",()=>N.do("step")),d("reset").addEventListener("click",
()=>N.do("reset")),d("record").addEventListener("click",()=>{N.do("record",{on:d("record").getAttribute("aria-pressed")!=="true"})});for(let n of document.querySelectorAll("[data-keep]"))n.addEventListener(
"click",()=>rt(n.dataset.keep));d("link").addEventListener("click",()=>{oe(),navigator.clipboard.writeText(location.href).then(()=>I("The link is in the clipboard."),()=>I(location.href))}),d("theme").
addEventListener("click",()=>{f.dark=!f.dark,U()});for(let n of document.querySelectorAll("#colouring button"))n.addEventListener("click",()=>{f.colouring=n.dataset.value,U()});d("layer").addEventListener(
"input",()=>{f.layer=Number(x("layer").value),U()}),d("edges").addEventListener("change",()=>{f.edges=_("edges").value,U()}),d("points").addEventListener("change",()=>{f.points=x("points").checked,U()}),
d("file").addEventListener("change",()=>{[...x("file").files??[]].sort((e,t)=>t.size-e.size).reduce((e,t)=>e.then(()=>N.upload(t)),Promise.resolve()),x("file").value=""}),d("weight-range").addEventListener(
"input",()=>{x("weight-value").value=x("weight-range").value,te(Number(x("weight-range").value))}),d("weight-value").addEventListener("change",()=>te(Number(x("weight-value").value))),d("weight").addEventListener(
"submit",n=>{n.preventDefault(),te(Number(x("weight-value").value)),d("weight").hidden=!0}),document.addEventListener("keydown",n=>{if(n.key==="Escape"&&(d("weight").hidden=!0,d("keep").open=!1),n.target instanceof
Element&&n.target.closest("input, select, button, summary, g")||n.ctrlKey||n.metaKey||n.altKey)return;let t={" ":"play",s:"step",r:"reset"}[n.key];t&&(n.preventDefault(),d(t).click())}),window.matchMedia(
"(prefers-color-scheme: dark)").addEventListener("change",n=>{f.dark=n.matches,U()})}st();U();Object.assign(window,{play:{views:L,look:f,frame:()=>D,about:()=>y,frames:()=>B}});
