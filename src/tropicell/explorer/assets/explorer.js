function ot(n,t,e){let r=t*Math.cos(e),s=t*Math.sin(e),o=(n+.3963377774*r+.2158037573*s)**3,i=(n-.1055613458*r-.0638541728*s)**3,a=(n-.0894841775*r-1.291485548*s)**3,u=[4.0767416621*o-3.3077115913*i+.2309699292*
a,-1.2684380046*o+2.6097574011*i-.3413193965*a,-.0041960863*o-.7034186147*i+1.707614701*a],c=m=>{let f=m<=.0031308?12.92*m:1.055*m**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,f)))};
return[c(u[0]),c(u[1]),c(u[2])]}function it(n){let t=new Uint8Array(4096);for(let e=0;e<1024;e++){let r=2*Math.PI*(e*.6180339887%1),s=(e>>3)%4,o=n?.36+.07*s:.74+.055*s;t.set([...ot(o,n?.075:.085,r),255],
4*e)}return t}function L(n,t,e){if(n===0)return e?[150,150,160]:[110,110,120];let r=.5+5*(n-1)/Math.max(1,t);return ot(e?.78:.55,.16,r)}function C(){let n=[[.2777273272,.0054073445,.3340998053],[.1050930431,
1.4046135299,1.3845901626],[-.3308618287,.2148475595,.095095163],[-4.634230499,-5.7991009734,-19.3324409563],[6.2282699363,14.1799333668,56.6905526007],[4.7763849977,-13.745145378,-65.3530326334],[-5.4354558559,
4.6458526122,26.3124352496]],t=new Uint8Array(4*256);for(let e=0;e<256;e++){for(let r=0;r<3;r++){let s=n.reduceRight((o,i)=>o*(e/255)+i[r],0);t[4*e+r]=Math.round(255*Math.min(1,Math.max(0,s)))}t[4*e+3]=
255}return t}var Bt={float64:Float64Array,float32:Float32Array,int32:Int32Array,uint32:Uint32Array,uint16:Uint16Array,uint8:Uint8Array};function st(n){return JSON.parse(document.getElementById(n).textContent)}async function at(n,t){
let e=atob(document.getElementById(n).textContent),r=new Uint8Array(e.length);for(let a=0;a<e.length;a++)r[a]=e.charCodeAt(a);let s=new Blob([r]).stream().pipeThrough(new DecompressionStream("deflate")),
o=await new Response(s).arrayBuffer(),i={};for(let[a,[u,c,m]]of Object.entries(t))i[a]=new Bt[u](o,c,m);return i}var p=n=>document.getElementById(n),w=n=>p(n),F=n=>p(n);function y(n,t,e){let r=document.createElement(n);return t!==void 0&&(r.textContent=t),e&&(r.className=e),r}function P(n,t=5){if(n===1/0)return"unbounded";if(n===0)return"0";let e=n.toPrecision(t);return(e.includes("e")?Number(e).toExponential():String(Number(e))).replace(/-/g,"−")}var It=`#version 300 es
in vec2 corner;
in vec4 colour;
in float value;
uniform vec4 view;       // factor x, y; offset x, y
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
void main() {
  gl_Position = vec4(corner * view.xy + view.zw, 0.0, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
}`,zt=`#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour
uniform vec4 single;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (mode == 2) result = vec4(single.rgb * single.a, single.a);
  else if (mode == 1) result = texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5));
  else result = vColour;
}`,B=class{gl;program;uniforms;buffers;picture;triangleCount=0;edgeEnds=new Uint32Array(1);shades={};constructor(t){let e=t.getContext("webgl2",{antialias:!0,alpha:!1});if(!e)throw new Error("this pag\
e needs WebGL 2, which the browser does not offer");this.gl=e,this.program=Dt(e),e.useProgram(this.program);let r=s=>e.getUniformLocation(this.program,s);this.uniforms={view:r("view"),range:r("range"),
mode:r("mode"),single:r("single")},e.enable(e.BLEND),e.blendFunc(e.ONE,e.ONE_MINUS_SRC_ALPHA),e.bindTexture(e.TEXTURE_2D,e.createTexture()),e.texImage2D(e.TEXTURE_2D,0,e.RGBA,256,1,0,e.RGBA,e.UNSIGNED_BYTE,
C()),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.LINEAR),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),this.buffers={corner:e.createBuffer(),colour:e.createBuffer(),value:e.createBuffer(),
triangles:e.createBuffer(),edges:e.createBuffer()},this.attribute("corner",2,e.FLOAT,!1),this.attribute("colour",4,e.UNSIGNED_BYTE,!0),this.attribute("value",1,e.FLOAT,!1)}attribute(t,e,r,s){let{gl:o}=this,
i=o.getAttribLocation(this.program,t);o.bindBuffer(o.ARRAY_BUFFER,this.buffers[t]),o.enableVertexAttribArray(i),o.vertexAttribPointer(i,e,r,s,0,0)}fill(t,e,r=this.gl.ARRAY_BUFFER){this.gl.bindBuffer(r,
this.buffers[t]),this.gl.bufferData(r,e,this.gl.STATIC_DRAW)}show(t){let e=this.gl.ELEMENT_ARRAY_BUFFER;this.picture=t;let r=t.triangles(),{pairs:s,ends:o}=t.edges();this.fill("corner",t.corners),this.
fill("triangles",r,e),this.fill("edges",s,e),this.triangleCount=r.length,this.edgeEnds=o}shade(t){let e=this.picture.sides.length;this.shades=t,this.fill("colour",t.colours??new Uint32Array(e)),this.fill(
"value",t.values??new Float32Array(e))}draw(t,{layer:e,edges:r,dark:s,background:o}){let{gl:i,uniforms:a,picture:u}=this,{width:c,height:m}=i.canvas;i.viewport(0,0,c,m),i.clearColor(o[0]/255,o[1]/255,
o[2]/255,1),i.clear(i.COLOR_BUFFER_BIT);let[f,b]=[2*t.zoom/c,2*t.zoom/m],{centre:A,scale:T}=u;i.uniform4f(a.view,T*f,T*b,(A[0]-t.x)*f,(A[1]-t.y)*b);let{low:et=0,high:Ft=1,values:nt}=this.shades;i.uniform2f(
a.range,et,1/(Ft-et||1)),i.uniform1i(a.mode,nt?1:0),i.bindBuffer(i.ELEMENT_ARRAY_BUFFER,this.buffers.triangles),i.drawElements(i.TRIANGLES,this.triangleCount,i.UNSIGNED_INT,0);let W=this.edgeStrength(
t,e);if(r==="none"||W===0)return;i.uniform1i(a.mode,2),i.bindBuffer(i.ELEMENT_ARRAY_BUFFER,this.buffers.edges);let Rt=s?[0,0,0]:nt?[255,255,255]:[40,40,60];for(let S=r==="layers"?0:e;S<=e;S++){let rt=r===
"layers"&&S>0?this.edgeEnds[S-1]:0,G=r==="layers"?L(S,u.depth,s):Rt,$t=r==="layers"?Math.max(W,.5):.6*W;i.uniform4f(a.single,G[0]/255,G[1]/255,G[2]/255,$t),i.drawElements(i.LINES,2*(this.edgeEnds[S]-rt),
i.UNSIGNED_INT,8*rt)}}edgeStrength(t,e){let r=this.edgeEnds[e]/Math.max(1,this.edgeEnds[this.picture.depth]),s=Math.max(1,this.picture.count*r*r),o=2*this.picture.scale*t.zoom/Math.sqrt(s);return o<2.5*
(window.devicePixelRatio||1)?0:Math.min(1,o/14)}measure(t,e){let{gl:r}=this,s=performance.now();return this.draw(t,e),r.readPixels(0,0,1,1,r.RGBA,r.UNSIGNED_BYTE,new Uint8Array(4)),performance.now()-s}};
function Dt(n){let t=n.createProgram();for(let[e,r]of[[n.VERTEX_SHADER,It],[n.FRAGMENT_SHADER,zt]]){let s=n.createShader(e);if(n.shaderSource(s,r),n.compileShader(s),!n.getShaderParameter(s,n.COMPILE_STATUS))
throw new Error(n.getShaderInfoLog(s)??"shader");n.attachShader(t,s)}if(n.linkProgram(t),!n.getProgramParameter(t,n.LINK_STATUS))throw new Error(n.getProgramInfoLog(t)??"program");return t}var d=p("regions"),k=p("sheet"),g=st("about"),h={x:0,y:0,zoom:1},l={index:0,layer:1,colour:"pattern",output:0,edges:"plain",dark:!1,hovered:-1,pinned:-1,place:null,marked:null,playing:null,picture:null};
function N(){return window.devicePixelRatio||1}function x([n,t]){return[d.clientWidth/2+(n-h.x)*h.zoom,d.clientHeight/2-(t-h.y)*h.zoom]}function M(n,t){return[h.x+(n-d.clientWidth/2)/h.zoom,h.y-(t-d.clientHeight/
2)/h.zoom]}function lt(n){let t=new Map,e=0,r=o=>{let i=d.getBoundingClientRect();return[o.clientX-i.left,o.clientY-i.top]};d.addEventListener("pointerdown",o=>{d.setPointerCapture(o.pointerId),t.size===0&&(e=0),
t.set(o.pointerId,r(o))}),d.addEventListener("pointermove",o=>{let i=r(o),a=t.get(o.pointerId);if(!a){n.hover(...M(...i));return}e+=Math.hypot(i[0]-a[0],i[1]-a[1]);let u=[...t].find(([c])=>c!==o.pointerId)?.[1];
if(u){let c=f=>Math.hypot(f[0]-u[0],f[1]-u[1]),m=[(i[0]+u[0])/2,(i[1]+u[1])/2];n.zoomAt(...m,c(i)/Math.max(1,c(a))),n.move((a[0]-i[0])/2/h.zoom,(i[1]-a[1])/2/h.zoom)}else e>4&&n.move((a[0]-i[0])/h.zoom,
(i[1]-a[1])/h.zoom);t.set(o.pointerId,i)});let s=o=>{let i=t.size===1&&e<=4&&o.type==="pointerup";if(t.delete(o.pointerId),!i)return;let a=M(...r(o)),u=l.picture.locate(...a);n.pin(u===l.pinned?-1:u,a)};
d.addEventListener("pointerup",s),d.addEventListener("pointercancel",s),d.addEventListener("pointerleave",n.leave),d.addEventListener("wheel",o=>{o.preventDefault();let i=o.deltaMode===1?20:1;n.zoomAt(
...r(o),Math.exp(-.0018*i*o.deltaY))},{passive:!1})}function ut(n){let t=()=>[d.clientWidth/2,d.clientHeight/2],e=()=>60/h.zoom,r={ArrowLeft:()=>n.move(-e(),0),ArrowRight:()=>n.move(e(),0),ArrowUp:()=>n.
move(0,e()),ArrowDown:()=>n.move(0,-e()),"+":()=>n.zoomAt(...t(),1.25),"=":()=>n.zoomAt(...t(),1.25),"-":()=>n.zoomAt(...t(),.8),0:n.home,Enter:()=>n.pin(l.picture.locate(h.x,h.y),[h.x,h.y])};d.addEventListener(
"keydown",s=>{let o=r[s.key];!o||s.ctrlKey||s.metaKey||s.altKey||(s.preventDefault(),o(),n.hover(h.x,h.y),l.marked=[h.x,h.y])}),d.addEventListener("blur",()=>{l.marked=null,n.redraw()}),document.addEventListener(
"keydown",s=>{s.key==="Escape"&&n.pin(-1,null)})}function j(n,t){n.beginPath();for(let e of l.picture.polygon(t))n.lineTo(...x(e));n.closePath()}function ct(n){n.lineJoin="round";let t=l.dark?"#ffffff":"#101018";if(l.pinned>=0){for(let e of l.picture.
neighbours(l.pinned))j(n,e),n.fillStyle=l.dark?"rgba(255,190,70,0.32)":"rgba(240,140,0,0.34)",n.fill(),n.lineWidth=1.5,n.strokeStyle=l.dark?"#ffc760":"#c46f00",n.stroke();j(n,l.pinned),n.fillStyle=l.dark?
"rgba(143,176,255,0.55)":"rgba(47,91,208,0.5)",n.fill(),n.lineWidth=3,n.strokeStyle=t,n.stroke()}if(l.hovered>=0&&l.hovered!==l.pinned&&(j(n,l.hovered),n.lineWidth=2.5,n.strokeStyle=t,n.stroke()),l.marked){
let[e,r]=x(l.marked);n.lineWidth=2,n.strokeStyle=t,n.beginPath();for(let[s,o]of[[1,0],[-1,0],[0,1],[0,-1]])n.moveTo(e+3*s,r+3*o),n.lineTo(e+9*s,r+9*o);n.stroke()}}function ht(n){if(!w("decision").checked)
return;let t=l.picture.decisionBoundary;n.beginPath();for(let e=0;e<t.length;e+=4)n.moveTo(...x([t[e],t[e+1]])),n.lineTo(...x([t[e+2],t[e+3]]));n.lineCap="round",n.lineWidth=4.5,n.strokeStyle=l.dark?"\
#14151a":"#ffffff",n.stroke(),n.lineWidth=2.5,n.strokeStyle=l.dark?"#ff7b72":"#d1242f",n.stroke()}function mt(n){if(w("points").checked){n.fillStyle=l.dark?"#ffffff":"#101018",n.strokeStyle=l.dark?"#1\
4151a":"#ffffff",n.lineWidth=1;for(let t of g.points){let[e,r]=x(t);e<-5||r<-5||e>d.clientWidth+5||r>d.clientHeight+5||(n.beginPath(),n.arc(e,r,3,0,2*Math.PI),n.fill(),n.stroke())}}}function _t(n,t){let[e,r,s]=n.subarray(3*t,3*t+3),o=i=>i<0?` − ${P(-i)}`:` + ${P(i)}`;return`y${t+1} = ${P(e)}·x1${o(r)}·x2${o(s)}`}function I(n,t){let e=n.names[t-1];return e?`layer ${t} (${e})`:
`layer ${t}`}function V(n,t,...e){n.append(y("dt",t));let r=y("dd");r.append(...e),n.append(r)}function dt(n,t,e,{layer:r,pinned:s,choose:o}){if(n.replaceChildren(),e<0){n.append(y("p","Move over the \
picture, or type a point or a pattern above.","hint"));return}let{about:i}=t,a=y("h2",`Region ${e.toLocaleString("en")}`);s&&a.append(y("span","pinned","badge")),n.append(a);let u=y("dl"),c=t.map(e),m=Math.
min(i.outputs,12),f=Array.from({length:m},(b,A)=>y("div",_t(c,A),"formula"));i.outputs>m&&f.push(y("div",`… and ${i.outputs-m} more`)),V(u,"map",...f),V(u,"area",P(t.areas[e])),V(u,"neighbours",String(
t.neighbours(e).length)),n.append(u),n.append(y("h3","Pattern"),Ht(t,e,r)),n.append(y("h3","Facets"),Ot(t,e,o))}function Ht(n,t,e){let r=n.pattern(t),s=y("div",void 0,"pattern");for(let o=0;o<n.depth;o++){
let i=n.network.starts[o],a=r.subarray(i,i+n.network.widths[o]),u=y("div",void 0,o<e?"":"later");u.append(y("span",I(n.about,o+1),"name")),u.append(y("code",Array.from(a,c=>c.toString(36)).join(""))),
s.append(u)}return s}function Ot(n,t,e){let r=y("ul",void 0,"facets");for(let s of n.facets(t)){let o=y("li"),i=s.neurons.map(a=>{let u=a.bend?`, breakpoint ${a.bend}`:"";return`${I(n.about,a.layer)},\
 neuron ${a.index}${u}`});if(o.append(y("span",i.join(" and ")||"edge of the domain or the frame")),s.behind>=0){let a=y("button",`→ ${s.behind}`);a.type="button",a.setAttribute("aria-label",`go to \
neighbour ${s.behind}`),a.addEventListener("click",()=>e(s.behind)),o.append(a)}r.append(o)}return r}function pt(n,t){let e=n.toLowerCase().replace(/[^0-9a-z]/g,"");return e.length===t?Uint8Array.from(
e,r=>parseInt(r,36)):null}function ft(n){let t=n.replace(/−/g,"-").trim().replace(/^[([]|[)\]]$/g,"").trim().split(/[\s,;]+/),e=t.map(Number);return e.length===2&&t.every(r=>r!=="")&&e.every(Number.
isFinite)?[e[0],e[1]]:null}var z=class{widths;outputs;neurons;starts=[];embedding;layers;constructor(t,e){this.widths=t.widths,this.outputs=t.outputs,this.neurons=t.widths.reduce((s,o)=>s+o,0);let r=0;for(let s of t.widths)this.
starts.push(r),r+=s;this.embedding=e.embedding??Float64Array.of(1,0,0,0,1,0),this.layers=t.terms.map((s,o)=>({bias:e[`bias${o+1}`],terms:s.map(i=>({...i,data:e[i.name],index:e[`${i.name}columns`],ends:e[`${i.
name}ends`]})),breakpoints:e[`breakpoints${o+1}`],slopes:e[`slopes${o+1}`],intercepts:e[`intercepts${o+1}`]}))}patternAt(t,e){let r=new Uint8Array(this.neurons),s=this.embedding,o=new Float64Array(s.length/
3);for(let a=0;a<o.length;a++)o[a]=s[3*a]*t+s[3*a+1]*e+s[3*a+2];let i=[o];for(let a=0;a<this.widths.length;a++){let u=Y(this.layers[a],i,1),c=r.subarray(this.starts[a],this.starts[a]+this.widths[a]),m=this.
layers[a].breakpoints.length/this.widths[a];for(let f=0;f<u.length;f++)for(let b=0;b<m;b++)u[f]>this.layers[a].breakpoints[f*m+b]&&c[f]++;i.push(bt(this.layers[a],u,c,1))}return r}mapper(){let t=[Float64Array.
from(this.embedding)],e=null;return r=>{let s=0;if(e)for(;s<this.widths.length&&this.sameLayer(s,e,r);)s++;for(;s<this.widths.length;s++){let o=r.subarray(this.starts[s],this.starts[s]+this.widths[s]);
t[s+1]=bt(this.layers[s],Y(this.layers[s],t,3),o,3)}return e=r.slice(),Y(this.layers[this.widths.length],t,3)}}sameLayer(t,e,r){let s=this.starts[t]+this.widths[t];for(let o=this.starts[t];o<s;o++)if(e[o]!==
r[o])return!1;return!0}};function Y(n,t,e){let r=n.bias.length,s=new Float64Array(r*e);for(let o=0;o<r;o++)s[o*e+e-1]=n.bias[o];for(let o of n.terms)e===3?Gt(s,o,t[o.source],r):Wt(s,o,t[o.source],r);return s}
function yt(n,t){return n.sparse?[t?n.ends[t-1]:0,n.ends[t]]:[t*n.columns,(t+1)*n.columns]}function Wt(n,t,e,r){let{data:s,index:o}=t;for(let i=0;i<r;i++){let[a,u]=yt(t,i),c=0;for(let m=a;m<u;m++)c+=s[m]*
e[o?o[m]:m-a];n[i]+=c}}function Gt(n,t,e,r){let{data:s,index:o}=t;for(let i=0;i<r;i++){let[a,u]=yt(t,i),[c,m,f]=[0,0,0];for(let b=a;b<u;b++){let A=3*(o?o[b]:b-a),T=s[b];c+=T*e[A],m+=T*e[A+1],f+=T*e[A+
2]}n[3*i]+=c,n[3*i+1]+=m,n[3*i+2]+=f}}function bt(n,t,e,r){let s=new Float64Array(t.length),o=n.slopes.length/e.length;for(let i=0;i<e.length;i++){let a=i*o+e[i],u=n.slopes[a];if(u!==0)for(let c=0;c<r;c++)
s[i*r+c]=u*t[i*r+c];s[i*r+r-1]+=n.intercepts[a]}return s}var D=class{constructor(t,e,r,s){this.neurons=r;this.bits=s;this.size=Math.ceil(r*s/8),this.bytes=new Uint8Array(e*this.size);for(let i=0;i<this.
size;i++){let a=0;for(let u=0;u<e;u++)a^=t[i*e+u],this.bytes[u*this.size+i]=a}let o=16;for(;o<2*e;)o*=2;this.slots=new Int32Array(o).fill(-1);for(let i=0;i<e;i++){let a=X(this.bytes,i*this.size,this.size*
8)&o-1;for(;this.slots[a]>=0;)a=a+1&o-1;this.slots[a]=i}}neurons;bits;size;bytes;slots;unpack(t,e=new Uint8Array(this.neurons)){let r=t*this.size;for(let s=0;s<this.neurons;s++){let o=0;for(let i=0;i<
this.bits;i++){let a=s*this.bits+i;o|=(this.bytes[r+(a>>3)]>>(a&7)&1)<<i}e[s]=o}return e}find(t){let e=new Uint8Array(this.size);for(let o=0;o<this.neurons;o++)for(let i=0;i<this.bits;i++){let a=o*this.
bits+i;e[a>>3]|=(t[o]>>i&1)<<(a&7)}let r=this.slots.length-1,s=X(e,0,this.size*8)&r;for(;this.slots[s]>=0;s=s+1&r){let o=this.slots[s]*this.size,i=0;for(;i<this.size&&this.bytes[o+i]===e[i];)i++;if(i===
this.size)return this.slots[s]}return-1}prefixHash(t,e){return X(this.bytes,t*this.size,e*this.bits)}};function X(n,t,e){let r=2166136261,s=e>>3;for(let i=0;i<s;i++)r=Math.imul(r^n[t+i],16777619);let o=e&
7;return o&&(r=Math.imul(r^n[t+s]&(1<<o)-1,16777619)),r^=r>>>15,r=Math.imul(r,739982445),r^=r>>>12,r=Math.imul(r,695872825),(r^r>>>15)>>>0}var _=class{constructor(t,e,r){this.about=e;this.count=e.regions,this.depth=e.widths.length,this.centre=t.centre,this.scale=t.scale,this.corners=r.corners,this.sides=r.sides,this.areas=r.areas,this.lineLayer=
r.lineLayer,this.lineIndex=r.lineIndex,this.lineBend=r.lineBend,this.starts=new Uint32Array(this.count+1);for(let s=0;s<this.count;s++)this.starts[s+1]=this.starts[s]+r.counts[s];this.behind=new Int32Array(
this.sides.length);for(let s=0;s<this.count;s++)for(let o=this.starts[s];o<this.starts[s+1];o++)this.behind[o]=r.neighbours[o]===0?-1:s+r.neighbours[o];this.network=new z(e,r),this.allMaps=r.maps??null,
this.table=new D(r.patterns,this.count,this.network.neurons,e.bits)}about;count;depth;centre;scale;corners;sides;areas;lineLayer;lineIndex;lineBend;starts;behind;network;table;allMaps;boundary=null;locate(t,e){
let r=1e-9*this.scale;for(let[s,o]of[[0,0],[1,.3],[-1,-.3],[-.3,1],[.3,-1]]){let i=this.table.find(this.network.patternAt(t+s*r,e+o*r));if(i>=0&&this.near(i,t,e))return i}return-1}near(t,e,r){let s=this.
polygon(t),o=0;for(let i=0;i<s.length;i++){let[a,u]=s[i],[c,m]=s[(i+1)%s.length],f=Math.hypot(c-a,m-u),b=((c-a)*(r-u)-(m-u)*(e-a))/(f||1);if(!(Math.abs(b)<=1e-6*this.scale)){if(o&&Math.sign(b)!==o)return!1;
o=Math.sign(b)}}return!0}polygon(t){let e=[];for(let r=this.starts[t];r<this.starts[t+1];r++)e.push([this.centre[0]+this.scale*this.corners[2*r],this.centre[1]+this.scale*this.corners[2*r+1]]);return e}middle(t){
let e=this.polygon(t),r=e.reduce(([s,o],[i,a])=>[s+i,o+a],[0,0]);return[r[0]/e.length,r[1]/e.length]}pattern(t){return this.table.unpack(t)}neighbours(t){let e=new Set(this.behind.subarray(this.starts[t],
this.starts[t+1]));return e.delete(-1),[...e]}facets(t){let e=this.pattern(t),r=[];for(let s=this.starts[t];s<this.starts[t+1];s++){let o=this.sides[s],i={behind:this.behind[s],neurons:[]};if(this.lineLayer[o]>
0){let a={layer:this.lineLayer[o],index:this.lineIndex[o],bend:this.lineBend[o]};i.neurons.push(a),i.behind>=0&&this.addOthers(i,e,a)}r.push(i)}return r}addOthers(t,e,r){let s=this.pattern(t.behind);for(let o=0;o<
this.depth;o++){let i=this.network.starts[o];for(let a=0;a<this.network.widths[o];a++)if(!(o+1===r.layer&&a===r.index)&&e[i+a]!==s[i+a]){let c=Math.min(e[i+a],s[i+a]);t.neurons.push({layer:o+1,index:a,
bend:c})}}}map(t){return this.network.mapper()(this.pattern(t))}get maps(){if(!this.allMaps){let t=3*this.network.outputs,e=new Float64Array(this.count*t),r=this.network.mapper(),s=new Uint8Array(this.
network.neurons);for(let o=0;o<this.count;o++)e.set(r(this.table.unpack(o,s)),o*t);this.allMaps=e}return this.allMaps}valueAt(t,e,r,s){let o=3*(t*this.network.outputs+e);return this.maps[o]*r+this.maps[o+
1]*s+this.maps[o+2]}shades(t,{layer:e,output:r,dark:s}){if(t==="pattern"){let o=new Uint32Array(it(s).buffer),i=e?this.network.starts[e-1]+this.network.widths[e-1]:0;return{colours:this.perCorner(Uint32Array,
a=>o[this.table.prefixHash(a,i)&1023])}}if(t==="bends"){let o=new Uint32Array(this.depth+1),i=new Uint8Array(o.buffer);for(let a=0;a<=this.depth;a++)i.set([...L(a,this.depth,s),255],4*a);return{colours:this.
perCorner(Uint32Array,a=>o[this.firstLayer(a)])}}if(t==="value")return K(this.perCorner(Float32Array,(o,i)=>this.valueAt(o,r,this.centre[0]+this.scale*this.corners[2*i],this.centre[1]+this.scale*this.
corners[2*i+1])));if(t==="gradient"){let o=i=>3*(i*this.network.outputs+r);return K(this.perCorner(Float32Array,i=>Math.hypot(this.maps[o(i)],this.maps[o(i)+1])))}return{...K(this.perCorner(Float32Array,
o=>Math.log10(this.areas[o]))),logarithmic:!0}}perCorner(t,e){let r=new t(this.sides.length);for(let s=0;s<this.count;s++)for(let o=this.starts[s];o<this.starts[s+1];o++)r[o]=e(s,o);return r}firstLayer(t){
let e=1/0;for(let r=this.starts[t];r<this.starts[t+1];r++){let s=this.lineLayer[this.sides[r]];s>0&&s<e&&(e=s)}return e===1/0?0:e}triangles(){let t=new Uint32Array(3*(this.sides.length-2*this.count)),
e=0;for(let r=0;r<this.count;r++)for(let s=this.starts[r]+1;s+1<this.starts[r+1];s++)t[e++]=this.starts[r],t[e++]=s,t[e++]=s+1;return t}edges(){let t=new Uint32Array(this.depth+1),e=(o,i)=>this.behind[i]<
0||this.behind[i]>o;for(let o=0;o<this.count;o++)for(let i=this.starts[o];i<this.starts[o+1];i++)e(o,i)&&t[this.lineLayer[this.sides[i]]]++;let r=new Uint32Array(this.depth+1);for(let o=1;o<=this.depth;o++)
r[o]=t[o-1],t[o]+=t[o-1];let s=new Uint32Array(2*t[this.depth]);for(let o=0;o<this.count;o++)for(let i=this.starts[o];i<this.starts[o+1];i++){if(!e(o,i))continue;let a=2*r[this.lineLayer[this.sides[i]]]++;
s[a]=i,s[a+1]=i+1<this.starts[o+1]?i+1:this.starts[o]}return{pairs:s,ends:t}}get decisionBoundary(){if(!this.boundary){let t=[];for(let e=0;e<this.count;e++)this.addDecisions(e,t);this.boundary=t}return this.
boundary}addDecisions(t,e){let r=this.network.outputs,s=this.polygon(t),o=(i,[a,u])=>this.valueAt(t,i,a,u);for(let i=0;i<r;i++)for(let a=i+1;a<Math.max(r,2);a++){let c=jt(s,m=>o(i,m)-(r>1?o(a,m):0));for(let m=0;c&&
m<r;m++)m!==i&&m!==a&&(c=Vt(c,f=>o(i,f)-o(m,f)));c&&e.push(...c[0],...c[1])}}};function jt(n,t){let e=[];for(let r=0;r<n.length;r++){let s=n[r],o=n[(r+1)%n.length],[i,a]=[t(s),t(o)];i>0!=a>0&&e.push(gt(
s,o,i/(i-a)))}return e.length===2?[e[0],e[1]]:null}function Vt([n,t],e){let[r,s]=[e(n),e(t)];if(r<0&&s<0)return null;if(r>=0&&s>=0)return[n,t];let o=gt(n,t,r/(r-s));return r<0?[o,t]:[n,o]}function gt(n,t,e){
return[n[0]+e*(t[0]-n[0]),n[1]+e*(t[1]-n[1])]}function K(n){let[t,e]=[1/0,-1/0];for(let r of n)r<t&&r>-1/0&&(t=r),r>e&&r<1/0&&(e=r);return t<=e?{values:n,low:t,high:e}:{values:n,low:0,high:1}}var vt=5e4;function wt(n,t){let e=document.createElement("a");e.href=URL.createObjectURL(n),e.download=t,e.click(),setTimeout(()=>URL.revokeObjectURL(e.href),1e3)}function xt(){let n=document.createElement(
"canvas");[n.width,n.height]=[d.width,d.height];let t=n.getContext("2d");t.drawImage(k,0,0),t.drawImage(d,0,0),n.toBlob(e=>{e&&wt(e,"regions.png")})}function At(n){let[t,e]=[d.clientWidth,d.clientHeight],
r=[],s=Yt(n);for(let a=0;a<l.picture.count;a++){let u=l.picture.polygon(a).map(x),c=u.map(b=>b[0]),m=u.map(b=>b[1]);if(Math.max(...c)<0||Math.min(...c)>t||Math.max(...m)<0||Math.min(...m)>e)continue;let f=u.
map(b=>`${b[0].toFixed(2)},${b[1].toFixed(2)}`).join("L");r.push(`<path d="M${f}Z" fill="${s(a)}"/>`)}if(r.length>vt){p("answer").textContent=`${r.length} regions are in view: zoom in, SVG takes up to\
 ${vt}.`;return}let o=l.edges==="none"?"none":l.dark?"#000":"#28283c",i=[`<svg xmlns="http://www.w3.org/2000/svg" width="${t}" height="${e}" viewBox="0 0 ${t} ${e}">`,`<g stroke="${o}" stroke-width="0\
.5" stroke-opacity="0.6" stroke-linejoin="round">`,...r,"</g>","</svg>"];wt(new Blob([i.join(`
`)],{type:"image/svg+xml"}),"regions.svg")}function Yt(n){let{starts:t}=l.picture;if(n.colours){let i=new Uint8Array(n.colours.buffer);return a=>`rgb(${i.slice(4*t[a],4*t[a]+3).join()})`}let e=C(),{values:r=new Float32Array,
low:s=0,high:o=1}=n;return i=>{let a=r.subarray(t[i],t[i+1]),c=(a.reduce((f,b)=>f+b,0)/a.length-s)/(o-s||1),m=4*Math.round(255*Math.min(1,Math.max(0,c)));return`rgb(${e.slice(m,m+3).join()})`}}var Xt=25,Pt=[],R,J=!1,v={x:0,y:0,zoom:0,cost:0,stale:!0,timer:0};function E(){J||!l.picture||(J=!0,requestAnimationFrame(()=>{J=!1,tt()}))}function Kt(n){let t=getComputedStyle(document.documentElement).
getPropertyValue(n).trim(),e=r=>parseInt(t.slice(r,r+2),16);return[e(1),e(3),e(5)]}function Q(){clearTimeout(v.timer),v.timer=0;let n={...h,zoom:h.zoom*N()};v.cost=R.measure(n,{...l,background:Kt("--b\
ack")}),Object.assign(v,h,{stale:!1}),k.style.transform=""}function Jt(){let n=h.zoom/v.zoom,t=(v.x-h.x)*h.zoom,e=(h.y-v.y)*h.zoom;k.style.transform=`translate(${t}px, ${e}px) scale(${n})`,clearTimeout(
v.timer),v.timer=window.setTimeout(Q,150)}function tt(){let n=h.x!==v.x||h.y!==v.y||h.zoom!==v.zoom;v.stale||n&&v.cost<Xt?Q():n&&Jt();let t=d.getContext("2d");t.setTransform(N(),0,0,N(),0,0),t.clearRect(
0,0,d.width,d.height),ht(t),mt(t),ct(t)}function U(){let n=l.picture.shades(l.colour,l);if(R.shade(n),v.stale=!0,p("legend").hidden=!n.values,n.values){let e=r=>P(n.logarithmic?10**r:r,3);p("low").textContent=
e(n.low),p("high").textContent=e(n.high)}let t=l.colour==="bends"||l.edges==="layers";p("layers").hidden=!t||!p("legend").hidden,p("layers").replaceChildren(...l.picture.about.widths.map((e,r)=>{let s=document.
createElement("span"),o=document.createElement("i");return o.style.background=`rgb(${L(r+1,l.picture.depth,l.dark).join()})`,s.append(o,`layer ${r+1}`),s})),E()}function kt(n,t){return Math.min(d.clientWidth/
(t[0]-n[0]),d.clientHeight/(t[1]-n[1]))}function Mt(){let n=kt(g.low,g.high);return{whole:n,least:n/4,most:n*5e4}}function q(){let[n,t]=g.first;[h.x,h.y]=[(n[0]+t[0])/2,(n[1]+t[1])/2],h.zoom=.94*kt(n,
t),E()}function Z(n,t,e){let[r,s]=M(n,t),{least:o,most:i}=Mt();h.zoom=Math.min(i,Math.max(o,h.zoom*e));let[a,u]=M(n,t);Tt(r-a,s-u)}function Tt(n,t){h.x=Math.min(g.high[0],Math.max(g.low[0],h.x+n)),h.y=
Math.min(g.high[1],Math.max(g.low[1],h.y+t)),E()}function Et(){for(let n of[d,k])n.width=Math.max(1,Math.round(d.clientWidth*N())),n.height=Math.max(1,Math.round(d.clientHeight*N()));v.stale=!0,tt()}function St(n,t=null){
let e=l.picture.polygon(n),r=Math.max(...[0,1].map(f=>{let b=e.map(A=>A[f]);return Math.max(...b)-Math.min(...b)})),s=Math.min(d.clientWidth,d.clientHeight);r*h.zoom<40&&(h.zoom=Math.min(Mt().most,.2*
s/Math.max(r,1e-12)));let[o,i]=t??l.picture.middle(n),[a,u]=x([o,i]),c=a>40&&u>40&&a<d.clientWidth-40&&u<d.clientHeight-40,m=r*h.zoom>s;!c&&(t||!m)&&([h.x,h.y]=[o,i]),E()}function $(){let n=l.pinned>=
0,t=n?l.pinned:l.hovered;dt(p("panel"),l.picture,t,{layer:l.layer,pinned:n,choose:e=>{H(e,l.picture.middle(e)),St(e)}}),E()}function qt(n,t){let e=l.picture.locate(n,t);p("where").textContent=`${P(n)}\
, ${P(t)}`,e!==l.hovered&&(l.hovered=e,l.pinned<0?$():E())}function Zt(){l.hovered=-1,p("where").textContent="",$()}function H(n,t){l.pinned=n,l.place=n<0?null:t,l.marked=null,$()}function Lt(n){let t=ft(
n),e=t?null:pt(n,l.picture.network.neurons),r=t?l.picture.locate(...t):e?l.picture.table.find(e):-1;return!e&&!t?p("answer").textContent=`Type two numbers, or ${l.picture.network.neurons} digits: the \
piece of every neuron.`:r<0?p("answer").textContent=t?"This point is in no region of the list.":"No region has this pattern.":(p("answer").textContent=`Region ${r}`,H(r,t??l.picture.middle(r)),l.marked=
t,St(r,t??l.picture.middle(r))),r}async function O(n){let t=g.pictures[n];Pt[n]??=new _(g,t,await at(`picture-${n}`,t.arrays));let e=!l.picture||l.layer===l.picture.depth;l.picture=Pt[n],l.index=n,l.layer=
e?l.picture.depth:Math.min(l.layer,l.picture.depth),l.hovered=-1,l.output=Math.min(l.output,t.outputs-1),l.place&&(l.pinned=l.picture.locate(...l.place)),R.show(l.picture),Ct(t),Qt(t),U(),$()}function Ct(n){
let t=l.layer===l.picture.depth,e=t?n.regions:n.after[l.layer-1],r=t?"":` after layer ${l.layer}`;p("title").textContent=`${e.toLocaleString("en")} linear regions${r}`,p("subtitle").textContent=`${n.network}\
 on ${n.domain}${n.complete?"":", not complete"}`,w("time").value=String(l.index),p("time").setAttribute("aria-valuetext",n.label),p("time-label").textContent=n.label}function Qt(n){w("layer").max=String(
Math.max(1,l.picture.depth)),w("layer").value=String(l.layer),w("layer").disabled=l.picture.depth<2,Nt(),p("output-control").hidden=n.outputs<2,p("output").replaceChildren(...Array.from({length:n.outputs},
(t,e)=>new Option(`y${e+1}`,String(e)))),F("output").value=String(l.output)}function Nt(){p("layer-label").textContent=`${l.layer} of ${l.picture.depth}`,l.picture.depth&&p("layer").setAttribute("aria\
-valuetext",`up to ${I(l.picture.about,l.layer)}`)}function te(){l.playing?(clearInterval(l.playing),l.playing=null):l.playing=window.setInterval(()=>{O((l.index+1)%g.pictures.length)},700),p("play").
textContent=l.playing?"❚❚":"▶",p("play").setAttribute("aria-label",l.playing?"pause":"play")}function Ut(n){l.dark=n,document.documentElement.classList.toggle("dark",n),p("theme").textContent=n?
"Light":"Dark",l.picture&&U()}function ee(){let n=()=>[d.clientWidth/2,d.clientHeight/2],t=(e,r,s)=>{p(e).addEventListener(r,s)};t("colour","change",()=>{l.colour=F("colour").value,U()}),t("output","c\
hange",()=>{l.output=Number(F("output").value),U()}),t("edges","change",()=>{l.edges=F("edges").value,U()}),t("layer","input",()=>{l.layer=Math.min(Number(w("layer").value),l.picture.depth),Nt(),Ct(l.
picture.about),U(),$()}),t("decision","change",E),t("points","change",E),t("find","submit",e=>{e.preventDefault(),Lt(w("query").value)}),t("zoom-in","click",()=>Z(...n(),1.5)),t("zoom-out","click",()=>Z(
...n(),1/1.5)),t("home","click",q),t("time","input",()=>{O(Number(w("time").value))}),t("play","click",te),t("theme","click",()=>Ut(!l.dark)),t("png","click",()=>{Q(),xt()}),t("svg","click",()=>At(R.shades))}
async function ne(){R=new B(k),p("film").hidden=g.pictures.length<2,w("time").max=String(g.pictures.length-1),p("points-control").hidden=g.points.length===0;let n=new ImageData(new Uint8ClampedArray(C()),
256,1);p("ramp").getContext("2d").putImageData(n,0,0),Ut(matchMedia("(prefers-color-scheme: dark)").matches),q(),await O(0),new ResizeObserver(Et).observe(d);let t={home:q,hover:qt,leave:Zt,move:Tt,pin:H,
redraw:E,zoomAt:Z};lt(t),ut(t),ee(),Et(),document.documentElement.dataset.ready="yes",Object.assign(window,{tropicell:{page:g,state:l,view:h,find:Lt,show:O,pin:H,toScreen:x,toPlane:M,paint:tt,drawn:v,
get picture(){return l.picture}}})}ne().catch(n=>{throw p("title").textContent="The page could not be shown",p("subtitle").textContent=n.message,n});
