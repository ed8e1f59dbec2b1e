var Ke={float64:Float64Array,float32:Float32Array,int32:Int32Array,uint32:Uint32Array,uint16:Uint16Array,uint8:Uint8Array};function Jt(i){return JSON.parse(document.getElementById(i).textContent)}async function Lt(i,t){
let e=atob(document.getElementById(i).textContent),n=new Uint8Array(e.length);for(let a=0;a<e.length;a++)n[a]=e.charCodeAt(a);let r=new Blob([n]).stream().pipeThrough(new DecompressionStream("deflate")),
s=await new Response(r).arrayBuffer(),o={};for(let[a,[l,c,h]]of Object.entries(t))o[a]=new Ke[l](s,c,h);return o}var w=i=>document.getElementById(i),T=i=>w(i),U=i=>w(i);function y(i,t,e){let n=document.createElement(i);return t!==void 0&&(n.textContent=t),e&&(n.className=e),n}var Je="⁰¹²³⁴⁵⁶⁷⁸⁹";function Ze(i){let t=[...String(Math.abs(i))].map(e=>Je[Number(e)]).join("");return`10${i<0?"⁻":""}${t}`}function $(i,t=5,e=0){if(Number.isNaN(i))return"not a nu\
mber";if(Math.abs(i)===1/0)return"unbounded";if(Math.abs(i)<=1e-12*e||i===0)return"0";let n=Math.floor(Math.log10(Math.abs(i)));if(n>=7||n<-4){let[r,s]=i.toExponential(t-1).split("e"),o=String(Number(
r)).replace("-","−");return`${o==="1"?"":o==="−1"?"−":`${o}·`}${Ze(Number(s))}`}return i.toLocaleString("en",{maximumSignificantDigits:t}).replace("-","−")}function tt(i,t){let e=Math.max(0,Math.
min(12,Math.ceil(-Math.log10(t)))),n=Number(i.toFixed(e));return(n===0?"0":n.toFixed(e).replace(/\.?0+$/,r=>r.includes(".")?"":r)).replace("-","−")}function et(i,t,e){let n=(t-i)/Math.max(1,e);if(!(n>
0)||!Number.isFinite(n))return{values:[],step:1};let r=10**Math.floor(Math.log10(n)),s=r*([1,2,5].find(a=>a*r>=n*.999)??10),o=[];for(let a=Math.ceil(i/s-1e-9);a*s<=t+1e-9*s;a++)o.push(a*s);return{values:o,
step:s}}function j(i,t){if(Math.abs(i)<1e-9*t)return"0";let e=Math.floor(Math.log10(Math.abs(i))+1e-9);if(e>=6||e<-4)return $(i,Math.min(9,Math.max(1,e-Math.floor(Math.log10(t)+1e-9)+1)));let n=Math.max(
0,Math.min(12,-Math.floor(Math.log10(t)+1e-9)));return i.toLocaleString("en",{minimumFractionDigits:0,maximumFractionDigits:n}).replace("-","−")}function Qt(i,t,e){let n=t*Math.cos(e),r=t*Math.sin(e),s=(i+.3963377774*n+.2158037573*r)**3,o=(i-.1055613458*n-.0638541728*r)**3,a=(i-.0894841775*n-1.291485548*r)**3,l=[4.0767416621*s-3.3077115913*o+.2309699292*
a,-1.2684380046*s+2.6097574011*o-.3413193965*a,-.0041960863*s-.7034186147*o+1.707614701*a],c=h=>{let m=h<=.0031308?12.92*h:1.055*h**.4166666666666667-.055;return Math.round(255*Math.min(1,Math.max(0,m)))};
return[c(l[0]),c(l[1]),c(l[2])]}function lt(i){let t=new Uint8Array(4096);for(let e=0;e<1024;e++){let n=2*Math.PI*(e*.6180339887%1),r=(e>>3)%4,s=i?.36+.07*r:.74+.055*r;t.set([...Qt(s,i?.075:.085,n),255],
4*e)}return t}function Y(i,t,e){if(i===0)return e?[150,150,160]:[110,110,120];let n=.5+5*(i-1)/Math.max(1,t);return Qt(e?.78:.55,.16,n)}function z(){let i=[[.2777273272,.0054073445,.3340998053],[.1050930431,
1.4046135299,1.3845901626],[-.3308618287,.2148475595,.095095163],[-4.634230499,-5.7991009734,-19.3324409563],[6.2282699363,14.1799333668,56.6905526007],[4.7763849977,-13.745145378,-65.3530326334],[-5.4354558559,
4.6458526122,26.3124352496]],t=new Uint8Array(4*256);for(let e=0;e<256;e++){for(let n=0;n<3;n++){let r=i.reduceRight((s,o)=>s*(e/255)+o[n],0);t[4*e+n]=Math.round(255*Math.min(1,Math.max(0,r)))}t[4*e+3]=
255}return t}var Zt=[[0,114,178],[230,97,0],[0,158,115],[204,82,160],[240,190,30],[86,180,233],[120,70,30],[110,110,110],[130,60,190],[170,200,60]];function nt(i){return Zt[i%Zt.length]}function W([i,
t,e],n=1){return n===1?`rgb(${i},${t},${e})`:`rgba(${i},${t},${e},${n})`}var ct={azimuth:-.95,elevation:.5,distance:4.8},ut=class{azimuth=ct.azimuth;elevation=ct.elevation;distance=ct.distance;turn(t,e){this.azimuth-=t*.008,this.elevation=Math.min(1.55,Math.max(-1.55,this.
elevation+e*.008))}approach(t){this.distance=Math.min(12,Math.max(.6,this.distance/t))}home(){Object.assign(this,ct)}get eye(){let t=Math.cos(this.elevation)*this.distance;return[t*Math.cos(this.azimuth),
t*Math.sin(this.azimuth),Math.sin(this.elevation)*this.distance]}frame(){let[t,e]=[Math.cos(this.azimuth),Math.sin(this.azimuth)],[n,r]=[Math.cos(this.elevation),Math.sin(this.elevation)];return[[-e,t,
0],[-r*t,-r*e,n],[n*t,n*e,r]]}matrix(t){let[e,n,r]=this.frame(),s=2.6*Math.min(1,t),[o,a]=[s/t,s],[l,c]=[Math.max(.02,this.distance-3),this.distance+3],[h,m]=[-(c+l)/(c-l),-2*c*l/(c-l)],d=[];for(let p=0;p<
3;p++)d.push(o*e[p],a*n[p],h*r[p],-r[p]);return d.push(0,0,-h*this.distance+m,this.distance),Float32Array.from(d)}project(t,[e,n,r],s,o){let a=c=>t[c]*e+t[4+c]*n+t[8+c]*r+t[12+c],l=a(3);return[(.5+.5*
a(0)/l)*s,(.5-.5*a(1)/l)*o,l]}ray(t,e,n,r){let[s,o,a]=this.frame(),l=n/r,c=2.6*Math.min(1,l),h=(2*t/n-1)*(l/c),m=(1-2*e/r)/c,d=p=>h*s[p]+m*o[p]-a[p];return[d(0),d(1),d(2)]}};var ht=class{widths;outputs;neurons;starts=[];inputs;embedding;layers;constructor(t,e){this.widths=t.widths,this.outputs=t.outputs,this.neurons=t.widths.reduce((r,s)=>r+s,0);let n=0;for(let r of t.widths)
this.starts.push(n),n+=r;this.inputs=t.inputs,this.embedding=e.embedding??en(t.inputs),this.layers=t.terms.map((r,s)=>({bias:e[`bias${s+1}`],terms:r.map(o=>({...o,data:e[o.name],index:e[`${o.name}colu\
mns`],ends:e[`${o.name}ends`]})),breakpoints:e[`breakpoints${s+1}`],slopes:e[`slopes${s+1}`],intercepts:e[`intercepts${s+1}`]}))}inputsAt(t){let e=this.embedding,n=this.inputs+1,r=new Float64Array(e.length/
n);for(let s=0;s<r.length;s++){let o=0;for(let a=0;a<this.inputs;a++)o+=e[n*s+a]*t[a];r[s]=o+e[n*s+this.inputs]}return r}patternAt(t){let e=new Uint8Array(this.neurons),n=[this.inputsAt(t)];for(let r=0;r<
this.widths.length;r++){let s=Pt(this.layers[r],n,1),o=e.subarray(this.starts[r],this.starts[r]+this.widths[r]),a=this.layers[r].breakpoints.length/this.widths[r];for(let l=0;l<s.length;l++)for(let c=0;c<
a;c++)s[l]>this.layers[r].breakpoints[l*a+c]&&o[l]++;n.push(te(this.layers[r],s,o,1))}return e}mapper(){let t=this.inputs+1,e=[Float64Array.from(this.embedding)],n=null;return r=>{let s=0;if(n)for(;s<
this.widths.length&&this.sameLayer(s,n,r);)s++;for(;s<this.widths.length;s++){let o=r.subarray(this.starts[s],this.starts[s]+this.widths[s]);e[s+1]=te(this.layers[s],Pt(this.layers[s],e,t),o,t)}return n=
r.slice(),Pt(this.layers[this.widths.length],e,t)}}sameLayer(t,e,n){let r=this.starts[t]+this.widths[t];for(let s=this.starts[t];s<r;s++)if(e[s]!==n[s])return!1;return!0}};function Pt(i,t,e){let n=i.bias.
length,r=new Float64Array(n*e);for(let s=0;s<n;s++)r[s*e+e-1]=i.bias[s];for(let s of i.terms)e>1?tn(r,s,t[s.source],n,e):Qe(r,s,t[s.source],n);return r}function ee(i,t){return i.sparse?[t?i.ends[t-1]:
0,i.ends[t]]:[t*i.columns,(t+1)*i.columns]}function Qe(i,t,e,n){let{data:r,index:s}=t;for(let o=0;o<n;o++){let[a,l]=ee(t,o),c=0;for(let h=a;h<l;h++)c+=r[h]*e[s?s[h]:h-a];i[o]+=c}}function tn(i,t,e,n,r){
let{data:s,index:o}=t,a=new Float64Array(r);for(let l=0;l<n;l++){let[c,h]=ee(t,l);a.fill(0);for(let m=c;m<h;m++){let d=r*(o?o[m]:m-c),p=s[m];for(let g=0;g<r;g++)a[g]+=p*e[d+g]}for(let m=0;m<r;m++)i[r*
l+m]+=a[m]}}function en(i){let t=new Float64Array(i*(i+1));for(let e=0;e<i;e++)t[e*(i+1)+e]=1;return t}function te(i,t,e,n){let r=new Float64Array(t.length),s=i.slopes.length/e.length;for(let o=0;o<e.
length;o++){let a=o*s+e[o],l=i.slopes[a];if(l!==0)for(let c=0;c<n;c++)r[o*n+c]=l*t[o*n+c];r[o*n+n-1]+=i.intercepts[a]}return r}var mt=class{constructor(t,e,n,r){this.neurons=n;this.bits=r;this.size=Math.
ceil(n*r/8),this.bytes=new Uint8Array(e*this.size);for(let o=0;o<this.size;o++){let a=0;for(let l=0;l<e;l++)a^=t[o*e+l],this.bytes[l*this.size+o]=a}let s=16;for(;s<2*e;)s*=2;this.slots=new Int32Array(
s).fill(-1);for(let o=0;o<e;o++){let a=Nt(this.bytes,o*this.size,this.size*8)&s-1;for(;this.slots[a]>=0;)a=a+1&s-1;this.slots[a]=o}}neurons;bits;size;bytes;slots;unpack(t,e=new Uint8Array(this.neurons)){
let n=t*this.size;for(let r=0;r<this.neurons;r++){let s=0;for(let o=0;o<this.bits;o++){let a=r*this.bits+o;s|=(this.bytes[n+(a>>3)]>>(a&7)&1)<<o}e[r]=s}return e}find(t){let e=new Uint8Array(this.size);
for(let s=0;s<this.neurons;s++)for(let o=0;o<this.bits;o++){let a=s*this.bits+o;e[a>>3]|=(t[s]>>o&1)<<(a&7)}let n=this.slots.length-1,r=Nt(e,0,this.size*8)&n;for(;this.slots[r]>=0;r=r+1&n){let s=this.
slots[r]*this.size,o=0;for(;o<this.size&&this.bytes[s+o]===e[o];)o++;if(o===this.size)return this.slots[r]}return-1}prefixHash(t,e){return Nt(this.bytes,t*this.size,e*this.bits)}};function Nt(i,t,e){let n=2166136261,
r=e>>3;for(let o=0;o<r;o++)n=Math.imul(n^i[t+o],16777619);let s=e&7;return s&&(n=Math.imul(n^i[t+r]&(1<<s)-1,16777619)),n^=n>>>15,n=Math.imul(n,739982445),n^=n>>>12,n=Math.imul(n,695872825),(n^n>>>15)>>>
0}var X=class{constructor(t,e,n,r){this.about=e;this.count=e.regions,this.depth=e.widths.length,this.inputs=e.inputs,this.centre=t.centre,this.scale=t.scale,this.sides=n.sides,this.areas=n.areas,this.lineLayer=
n.lineLayer,this.lineIndex=n.lineIndex,this.lineBend=n.lineBend,this.behind=new Int32Array(this.sides.length);for(let s=0,o=0;s<this.count;s++)for(let a=o+r[s];o<a;o++)this.behind[o]=n.neighbours[o]===
0?-1:s+n.neighbours[o];this.network=new ht(e,n),this.allMaps=n.maps??null,this.table=new mt(n.patterns,this.count,this.network.neurons,e.bits)}about;count;depth;inputs;centre;scale;sides;lineLayer;lineIndex;lineBend;behind;areas;network;table;allMaps;pattern(t){
return this.table.unpack(t)}neighbours(t){let e=new Set(this.behind.subarray(this.facetStarts[t],this.facetStarts[t+1]));return e.delete(-1),[...e]}facets(t){let e=this.pattern(t),n=[];for(let r=this.
facetStarts[t];r<this.facetStarts[t+1];r++){let s=this.sides[r],o={behind:this.behind[r],neurons:[]};if(this.lineLayer[s]>0){let a={layer:this.lineLayer[s],index:this.lineIndex[s],bend:this.lineBend[s]};
o.neurons.push(a),o.behind>=0&&this.addOthers(o,e,a)}n.push(o)}return n}addOthers(t,e,n){let r=this.pattern(t.behind);for(let s=0;s<this.depth;s++){let o=this.network.starts[s];for(let a=0;a<this.network.
widths[s];a++)if(!(s+1===n.layer&&a===n.index)&&e[o+a]!==r[o+a]){let c=Math.min(e[o+a],r[o+a]);t.neurons.push({layer:s+1,index:a,bend:c})}}}map(t){return this.network.mapper()(this.pattern(t))}get maps(){
if(!this.allMaps){let t=(this.inputs+1)*this.network.outputs,e=new Float64Array(this.count*t),n=this.network.mapper(),r=new Uint8Array(this.network.neurons);for(let s=0;s<this.count;s++)e.set(n(this.table.
unpack(s,r)),s*t);this.allMaps=e}return this.allMaps}valueAt(t,e,n){let r=(this.inputs+1)*(t*this.network.outputs+e),s=this.maps[r+this.inputs];for(let o=0;o<this.inputs;o++)s+=this.maps[r+o]*n[o];return s}gradientNorm(t,e){
let n=(this.inputs+1)*(t*this.network.outputs+e);return Math.hypot(...this.maps.subarray(n,n+this.inputs))}shader(t,{layer:e,output:n,dark:r}){let s={flat:!0,logarithmic:!1};if(t==="pattern"){let o=new Uint32Array(
lt(r).buffer),a=this.neuronsUpTo(e);return{...s,colour:l=>o[this.table.prefixHash(l,a)&1023]}}if(t==="bends"){let o=new Uint32Array(this.depth+1),a=new Uint8Array(o.buffer);for(let l=0;l<=this.depth;l++)
a.set([...Y(l,this.depth,r),255],4*l);return{...s,colour:l=>o[this.firstLayer(l)]}}return t==="value"?{...s,flat:!1,value:(o,a)=>this.valueAt(o,n,a)}:t==="gradient"?{...s,value:o=>this.gradientNorm(o,
n)}:{...s,value:o=>Math.log10(this.areas[o]),logarithmic:!0}}neuronsUpTo(t){return t?this.network.starts[t-1]+this.network.widths[t-1]:0}firstLayer(t){let e=1/0;for(let n=this.facetStarts[t];n<this.facetStarts[t+
1];n++){let r=this.lineLayer[this.sides[n]];r>0&&r<e&&(e=r)}return e===1/0?0:e}};function ne(i){let[t,e]=[1/0,-1/0];for(let n of i)n<t&&n>-1/0&&(t=n),n>e&&n<1/0&&(e=n);return t<=e?{values:i,low:t,high:e}:
{values:i,low:0,high:1}}function q(i){let t=new Uint32Array(i.length+1);for(let e=0;e<i.length;e++)t[e+1]=t[e]+i[e];return t}var I=class extends X{corners;starts;facetStarts;boundary=null;constructor(t,e,n){super(t,e,n,n.counts),this.corners=n.corners,this.starts=this.facetStarts=q(n.counts)}locate([t,e]){let n=1e-9*this.scale;
for(let[r,s]of[[0,0],[1,.3],[-1,-.3],[-.3,1],[.3,-1]]){let o=this.table.find(this.network.patternAt([t+r*n,e+s*n]));if(o>=0&&this.near(o,t,e))return o}return-1}near(t,e,n){let r=this.polygon(t),s=0;for(let o=0;o<
r.length;o++){let[a,l]=r[o],[c,h]=r[(o+1)%r.length],m=Math.hypot(c-a,h-l),d=((c-a)*(n-l)-(h-l)*(e-a))/(m||1);if(!(Math.abs(d)<=1e-6*this.scale)){if(s&&Math.sign(d)!==s)return!1;s=Math.sign(d)}}return!0}polygon(t){
let e=[];for(let n=this.starts[t];n<this.starts[t+1];n++)e.push(this.corner(n));return e}middle(t){let e=this.polygon(t),n=e.reduce(([r,s],[o,a])=>[r+o,s+a],[0,0]);return[n[0]/e.length,n[1]/e.length]}shades(t,e){
let n=this.shader(t,e),{colour:r,value:s,logarithmic:o}=n;if(r)return{colours:this.perCorner(Uint32Array,r),low:0,high:1};let a=n.flat?this.perRegion(s):null,l=this.perCorner(Float32Array,(c,h)=>a?a[c]:
s(c,this.corner(h)));return{...ne(l),logarithmic:o}}perRegion(t){return Float64Array.from({length:this.count},(e,n)=>t(n,[]))}heights(t){return this.perCorner(Float32Array,(e,n)=>this.valueAt(e,t,this.
corner(n)))}corner(t){return[this.centre[0]+this.scale*this.corners[2*t],this.centre[1]+this.scale*this.corners[2*t+1]]}perCorner(t,e){let n=new t(this.sides.length);for(let r=0;r<this.count;r++)for(let s=this.
starts[r];s<this.starts[r+1];s++)n[s]=e(r,s);return n}triangles(){let t=new Uint32Array(3*(this.sides.length-2*this.count)),e=0;for(let n=0;n<this.count;n++)for(let r=this.starts[n]+1;r+1<this.starts[n+
1];r++)t[e++]=this.starts[n],t[e++]=r,t[e++]=r+1;return t}edges(){let t=new Uint32Array(this.depth+1),e=(s,o)=>this.behind[o]<0||this.behind[o]>s;for(let s=0;s<this.count;s++)for(let o=this.starts[s];o<
this.starts[s+1];o++)e(s,o)&&t[this.lineLayer[this.sides[o]]]++;let n=new Uint32Array(this.depth+1);for(let s=1;s<=this.depth;s++)n[s]=t[s-1],t[s]+=t[s-1];let r=new Uint32Array(2*t[this.depth]);for(let s=0;s<
this.count;s++)for(let o=this.starts[s];o<this.starts[s+1];o++){if(!e(s,o))continue;let a=2*n[this.lineLayer[this.sides[o]]]++;r[a]=o,r[a+1]=o+1<this.starts[s+1]?o+1:this.starts[s]}return{pairs:r,ends:t}}get decisionBoundary(){
if(!this.boundary){let t=[];for(let e=0;e<this.count;e++)this.addDecisions(e,t);this.boundary=t}return this.boundary}boundaryOf(t,e){let n=[];for(let r=0;r<this.count;r++)for(let s=this.starts[r];s<this.
starts[r+1];s++){let o=this.sides[s];if(this.lineLayer[o]!==t||this.lineIndex[o]!==e)continue;let a=s+1<this.starts[r+1]?s+1:this.starts[r];n.push(...this.corner(s),...this.corner(a))}return n}addDecisions(t,e){
let n=this.network.outputs,r=this.polygon(t),s=(o,a)=>this.valueAt(t,o,a);for(let o=0;o<n;o++)for(let a=o+1;a<Math.max(n,2);a++){let c=nn(r,h=>s(o,h)-(n>1?s(a,h):0));for(let h=0;c&&h<n;h++)h!==o&&h!==
a&&(c=rn(c,m=>s(o,m)-s(h,m)));c&&e.push(...c[0],...c[1])}}};function nn(i,t){let e=[];for(let n=0;n<i.length;n++){let r=i[n],s=i[(n+1)%i.length],[o,a]=[t(r),t(s)];o>0!=a>0&&e.push(re(r,s,o/(o-a)))}return e.
length===2?[e[0],e[1]]:null}function rn([i,t],e){let[n,r]=[e(i),e(t)];if(n<0&&r<0)return null;if(n>=0&&r>=0)return[i,t];let s=re(i,t,n/(n-r));return n<0?[s,t]:[i,s]}function re(i,t,e){return[i[0]+e*(t[0]-
i[0]),i[1]+e*(t[1]-i[1])]}var sn=`#version 300 es
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
}`,on=`#version 300 es
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
}`,dt=class{gl;program;uniforms;buffers;picture;triangleCount=0;edgeEnds=new Uint32Array(1);shades={low:0,high:1};constructor(t){let e=t.getContext("webgl2",{antialias:!0,alpha:!1});if(!e)throw new Error(
"this page needs WebGL 2, which the browser does not offer");this.gl=e,this.program=Ct(e,sn,on),e.useProgram(this.program);let n=r=>e.getUniformLocation(this.program,r);this.uniforms={view:n("view"),range:n(
"range"),mode:n("mode"),single:n("single")},e.enable(e.BLEND),e.blendFunc(e.ONE,e.ONE_MINUS_SRC_ALPHA),e.bindTexture(e.TEXTURE_2D,e.createTexture()),e.texImage2D(e.TEXTURE_2D,0,e.RGBA,256,1,0,e.RGBA,e.
UNSIGNED_BYTE,z()),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.LINEAR),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),this.buffers={corner:e.createBuffer(),colour:e.createBuffer(),
value:e.createBuffer(),triangles:e.createBuffer(),edges:e.createBuffer()},this.attribute("corner",2,e.FLOAT,!1),this.attribute("colour",4,e.UNSIGNED_BYTE,!0),this.attribute("value",1,e.FLOAT,!1)}attribute(t,e,n,r){
let{gl:s}=this,o=s.getAttribLocation(this.program,t);s.bindBuffer(s.ARRAY_BUFFER,this.buffers[t]),s.enableVertexAttribArray(o),s.vertexAttribPointer(o,e,n,r,0,0)}fill(t,e,n=this.gl.ARRAY_BUFFER){this.
gl.bindBuffer(n,this.buffers[t]),this.gl.bufferData(n,e,this.gl.STATIC_DRAW)}show(t){let e=this.gl.ELEMENT_ARRAY_BUFFER;this.picture=t;let n=t.triangles(),{pairs:r,ends:s}=t.edges();this.fill("corner",
t.corners),this.fill("triangles",n,e),this.fill("edges",r,e),this.triangleCount=n.length,this.edgeEnds=s}shade(t){let e=this.picture.sides.length;this.shades=t,this.fill("colour",t.colours??new Uint32Array(
e)),this.fill("value",t.values??new Float32Array(e))}draw(t,{layer:e,edges:n,dark:r,background:s}){let{gl:o,uniforms:a,picture:l}=this,{width:c,height:h}=o.canvas;o.viewport(0,0,c,h),o.clearColor(s[0]/
255,s[1]/255,s[2]/255,1),o.clear(o.COLOR_BUFFER_BIT);let[m,d]=[2*t.zoom/c,2*t.zoom/h],{centre:p,scale:g}=l;o.uniform4f(a.view,g*m,g*d,(p[0]-t.x)*m,(p[1]-t.y)*d);let{low:v,high:S,values:k}=this.shades;
o.uniform2f(a.range,v,1/(S-v||1)),o.uniform1i(a.mode,k?1:0),o.bindBuffer(o.ELEMENT_ARRAY_BUFFER,this.buffers.triangles),o.drawElements(o.TRIANGLES,this.triangleCount,o.UNSIGNED_INT,0);let N=this.edgeStrength(
t,e);if(n==="none"||N===0)return;o.uniform1i(a.mode,2),o.bindBuffer(o.ELEMENT_ARRAY_BUFFER,this.buffers.edges);let C=r?[0,0,0]:k?[255,255,255]:[40,40,60];for(let L=n==="layers"?0:e;L<=e;L++){let B=n===
"layers"&&L>0?this.edgeEnds[L-1]:0,F=n==="layers"?Y(L,l.depth,r):C,D=n==="layers"?Math.max(N,.5):.6*N;o.uniform4f(a.single,F[0]/255,F[1]/255,F[2]/255,D),o.drawElements(o.LINES,2*(this.edgeEnds[L]-B),o.
UNSIGNED_INT,8*B)}}edgeStrength(t,e){let n=this.edgeEnds[e]/Math.max(1,this.edgeEnds[this.picture.depth]),r=Math.max(1,this.picture.count*n*n),s=2*this.picture.scale*t.zoom/Math.sqrt(r);return s<2.5*(window.
devicePixelRatio||1)?0:Math.min(1,s/14)}measure(t,e,n){let{gl:r}=this,s=performance.now();this.draw(t,e);let o=r.fenceSync(r.SYNC_GPU_COMMANDS_COMPLETE,0);r.flush();let a=()=>{if(o&&r.getSyncParameter(
o,r.SYNC_STATUS)===r.UNSIGNALED&&!r.isContextLost()){setTimeout(a);return}r.deleteSync(o),n(performance.now()-s)};setTimeout(a)}};function Ct(i,t,e){let n=i.createProgram();for(let[r,s]of[[i.VERTEX_SHADER,
t],[i.FRAGMENT_SHADER,e]]){let o=i.createShader(r);if(i.shaderSource(o,s),i.compileShader(o),!i.getShaderParameter(o,i.COMPILE_STATUS))throw new Error(i.getShaderInfoLog(o)??"shader");i.attachShader(n,
o)}if(i.linkProgram(n),!i.getProgramParameter(n,i.LINK_STATUS))throw new Error(i.getProgramInfoLog(n)??"program");return n}var an=`#version 300 es
in vec3 position;
in vec4 colour;
in float value;
in uint owner;
uniform mat4 camera;
uniform vec2 range;      // low, 1 / (high - low)
out vec4 vColour;
out float vValue;
out vec3 vPlace;
flat out uint vOwner;
void main() {
  gl_Position = camera * vec4(position, 1.0);
  vColour = colour;
  vValue = clamp((value - range.x) * range.y, 0.0, 1.0);
  vPlace = position;
  vOwner = owner;
}`,ln=`#version 300 es
precision highp float;
in vec4 vColour;
in float vValue;
in vec3 vPlace;
flat in uint vOwner;
uniform int mode;        // 0: colours, 1: numbers, 2: one colour, 3: owners
uniform vec4 single;
uniform vec4 plane;      // what is beyond it is cut away
uniform vec3 eye;
uniform sampler2D ramp;
out vec4 result;
void main() {
  if (dot(plane.xyz, vPlace) > plane.w) discard;
  if (mode == 3) {
    result = vec4(uvec4(vOwner, vOwner >> 8, vOwner >> 16, vOwner >> 24) & 255u) / 255.0;
    return;
  }
  if (mode == 2) { result = vec4(single.rgb * single.a, single.a); return; }
  vec3 tone = mode == 1 ? texture(ramp, vec2((vValue * 255.0 + 0.5) / 256.0, 0.5)).rgb : vColour.rgb;
  vec3 normal = normalize(cross(dFdx(vPlace), dFdy(vPlace)));
  vec3 towards = normalize(eye - vPlace);
  if (dot(normal, towards) < 0.0) normal = -normal;
  float light = 0.62 + 0.30 * max(0.0, dot(normal, normalize(vec3(0.35, 0.2, 0.9))))
    + 0.16 * max(0.0, dot(normal, towards));
  result = vec4(tone * min(light, 1.08), 1.0);
}`,cn=["camera","range","mode","single","plane","eye"],ft=class{gl;program;uniforms;loaded=new Map;picking;shown="";owners=null;constructor(t){let e=t.getContext("webgl2",{antialias:!0,alpha:!0,preserveDrawingBuffer:!1});
if(!e)throw new Error("this page needs WebGL 2, which the browser does not offer");this.gl=e,this.program=Ct(e,an,ln),e.useProgram(this.program);let n=cn.map(r=>[r,e.getUniformLocation(this.program,r)]);
this.uniforms=Object.fromEntries(n),e.bindTexture(e.TEXTURE_2D,e.createTexture()),e.texImage2D(e.TEXTURE_2D,0,e.RGBA,256,1,0,e.RGBA,e.UNSIGNED_BYTE,z()),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,
e.LINEAR),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.enable(e.DEPTH_TEST),e.enable(e.BLEND),e.blendFunc(e.ONE,e.ONE_MINUS_SRC_ALPHA),this.picking={frame:e.createFramebuffer(),colour:e.
createRenderbuffer(),depth:e.createRenderbuffer()}}set(t,e){let{gl:n}=this,r=this.loaded.get(t);if(r){n.deleteVertexArray(r.arrays);for(let s of[...r.buffers,r.triangles,r.lines])n.deleteBuffer(s);this.
loaded.delete(t)}this.owners=null,e&&this.loaded.set(t,this.load(e))}load(t){let{gl:e}=this,n=t.positions.length/3,r=e.createVertexArray();e.bindVertexArray(r);let s=[],o=(h,m,d,p)=>{let g=e.createBuffer();
s.push(g),e.bindBuffer(e.ARRAY_BUFFER,g),e.bufferData(e.ARRAY_BUFFER,m,e.STATIC_DRAW);let v=e.getAttribLocation(this.program,h);e.enableVertexAttribArray(v),p===e.UNSIGNED_INT?e.vertexAttribIPointer(v,
d,p,0,0):e.vertexAttribPointer(v,d,p,p===e.UNSIGNED_BYTE,0,0)};o("position",t.positions,3,e.FLOAT),o("colour",t.colours??new Uint32Array(n),4,e.UNSIGNED_BYTE),o("value",t.values??new Float32Array(n),1,
e.FLOAT),o("owner",t.owners??new Uint32Array(n),1,e.UNSIGNED_INT);let a=h=>{let m=e.createBuffer();return e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,m),e.bufferData(e.ELEMENT_ARRAY_BUFFER,h,e.STATIC_DRAW),m},
l=a(t.triangles),c=a(t.lines??new Uint32Array);return e.bindVertexArray(null),{batch:t,arrays:r,buffers:s,triangles:l,lines:c}}draw(t){let{gl:e,uniforms:n}=this;e.viewport(0,0,e.drawingBufferWidth,e.drawingBufferHeight),
e.clearColor(0,0,0,0),e.clear(e.COLOR_BUFFER_BIT|e.DEPTH_BUFFER_BIT),this.prepare(t);let r=[...t.camera,...t.plane??[],e.drawingBufferWidth,e.drawingBufferHeight].join();r!==this.shown&&(this.owners=null),
this.shown=r;for(let{batch:s,arrays:o,triangles:a,lines:l}of this.loaded.values())this.cutting(s,t),e.bindVertexArray(o),e.enable(e.POLYGON_OFFSET_FILL),e.polygonOffset(1,1),e.uniform1i(n.mode,s.values?
1:0),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,a),e.drawElements(e.TRIANGLES,s.triangles.length,e.UNSIGNED_INT,0),e.disable(e.POLYGON_OFFSET_FILL),!(!s.lines?.length||!t.lines)&&(e.uniform1i(n.mode,2),e.uniform4f(
n.single,...t.lines),e.bindBuffer(e.ELEMENT_ARRAY_BUFFER,l),e.drawElements(e.LINES,s.lines.length,e.UNSIGNED_INT,0));e.bindVertexArray(null)}prepare(t){let{gl:e,uniforms:n}=this;e.uniformMatrix4fv(n.camera,
!1,t.camera),e.uniform3f(n.eye,t.eye[0],t.eye[1],t.eye[2]),e.uniform2f(n.range,t.low,1/(t.high-t.low||1))}cutting(t,{plane:e}){let[n,r,s,o]=t.cut&&e?e:[0,0,0,1];this.gl.uniform4f(this.uniforms.plane,n,
r,s,o)}ownerAt(t,e,n){let{gl:r}=this,[s,o]=[r.drawingBufferWidth,r.drawingBufferHeight];this.owners||(this.owners=new Uint32Array(s*o),r.bindFramebuffer(r.FRAMEBUFFER,this.picking.frame),this.drawOwners(
s,o,n),r.readPixels(0,0,s,o,r.RGBA,r.UNSIGNED_BYTE,new Uint8Array(this.owners.buffer)),r.bindFramebuffer(r.FRAMEBUFFER,null));let[a,l]=[Math.floor(t),o-1-Math.floor(e)];return a>=0&&a<s?this.owners[l*
s+a]??0:0}drawOwners(t,e,n){let{gl:r,picking:s}=this;r.bindRenderbuffer(r.RENDERBUFFER,s.colour),r.renderbufferStorage(r.RENDERBUFFER,r.RGBA8,t,e),r.framebufferRenderbuffer(r.FRAMEBUFFER,r.COLOR_ATTACHMENT0,
r.RENDERBUFFER,s.colour),r.bindRenderbuffer(r.RENDERBUFFER,s.depth),r.renderbufferStorage(r.RENDERBUFFER,r.DEPTH_COMPONENT24,t,e),r.framebufferRenderbuffer(r.FRAMEBUFFER,r.DEPTH_ATTACHMENT,r.RENDERBUFFER,
s.depth),r.viewport(0,0,t,e),r.disable(r.BLEND),r.clearColor(0,0,0,0),r.clear(r.COLOR_BUFFER_BIT|r.DEPTH_BUFFER_BIT),this.prepare(n),r.uniform1i(this.uniforms.mode,3);for(let{batch:o,arrays:a,triangles:l}of this.
loaded.values())this.cutting(o,n),r.bindVertexArray(a),r.bindBuffer(r.ELEMENT_ARRAY_BUFFER,l),r.drawElements(r.TRIANGLES,o.triangles.length,r.UNSIGNED_INT,0);r.bindVertexArray(null),r.enable(r.BLEND)}};var pt=class{constructor(t,e){this.cells=t;this.shader=e}cells;shader;positions=[];colours=[];values=[];owners=[];triangles=[];lines=[];add(t,e,n){return this.positions.push(e[0],e[1],e[2]),this.colours.
push(this.shader.colour?.(t)??0),this.shader.value&&this.values.push(this.shader.value(t,this.cells.absolute(n))),this.owners.push(t+1),this.owners.length-1}batch(t){return{positions:Float32Array.from(
this.positions),colours:Uint32Array.from(this.colours),values:this.shader.value?Float32Array.from(this.values):void 0,owners:Uint32Array.from(this.owners),triangles:Uint32Array.from(this.triangles),lines:Uint32Array.
from(this.lines),cut:t}}},O=class extends X{corners;starts;facetStarts;faceStarts;faceCorners;middles;constructor(t,e,n){super(t,e,n,n.facetCounts),this.corners=n.corners,this.starts=q(n.counts),this.
facetStarts=q(n.facetCounts),this.faceStarts=q(n.faceSizes),this.faceCorners=n.faceCorners,this.middles=new Float32Array(3*this.count);for(let r=0;r<this.count;r++){let s=this.starts[r+1]-this.starts[r];
for(let o=this.starts[r];o<this.starts[r+1];o++)for(let a=0;a<3;a++)this.middles[3*r+a]+=this.corners[3*o+a]/s}}absolute(t){return t.map((e,n)=>this.centre[n]+this.scale*e)}relative(t){return t.map((e,n)=>(e-
this.centre[n])/this.scale)}corner(t){return[this.corners[3*t],this.corners[3*t+1],this.corners[3*t+2]]}middle(t){return this.absolute([...this.middles.subarray(3*t,3*t+3)])}locate(t){let e=1e-9*this.
scale;for(let[n,r,s]of[[0,0,0],[1,.3,.5],[-1,-.3,-.5],[-.3,1,.4],[.3,-1,-.4]]){let o=[t[0]+n*e,t[1]+r*e,t[2]+s*e],a=this.table.find(this.network.patternAt(o));if(a>=0&&this.near(a,this.relative(t)))return a}
return-1}near(t,e){let n=[...this.middles.subarray(3*t,3*t+3)];for(let r=this.facetStarts[t];r<this.facetStarts[t+1];r++){let s=this.face(t,r);if(s.length<3)continue;let o=se(s),a=K(o,Ft(n,s[0]));if(K(
o,Ft(e,s[0]))*Math.sign(a)<-1e-6)return!1}return!0}face(t,e){let n=[];for(let r=this.faceStarts[e];r<this.faceStarts[e+1];r++)n.push(this.corner(this.starts[t]+this.faceCorners[r]));return n}moved(t,e,n){
let r=1-.55*n;return e.map((s,o)=>{let a=this.middles[3*t+o];return a+r*(s-a)})}outline(t,e){let n=[];for(let r=this.facetStarts[t];r<this.facetStarts[t+1];r++){let s=this.face(t,r).map(o=>this.moved(
t,o,e));s.forEach((o,a)=>n.push([o,s[(a+1)%s.length]]))}return n}entry(t,e,n,r,s){let o=[...this.middles.subarray(3*t,3*t+3)],[a,l]=[0,1/0],c=(d,p)=>{let[g,v]=[K(d,e),K(d,n)];v<0?a=Math.max(a,(p-g)/v):
v>0&&(l=Math.min(l,(p-g)/v))};for(let d=this.facetStarts[t];d<this.facetStarts[t+1];d++){let p=this.face(t,d).map(S=>this.moved(t,S,r));if(p.length<3)continue;let g=se(p),v=K(g,Ft(o,p[0]))>0?g.map(S=>-S):
g;c(v,K(v,p[0]))}if(s&&c(s,s[3]),!Number.isFinite(a)||a>l+1e-6)return null;let h=1-.55*r,m=o.map((d,p)=>d+(e[p]+a*n[p]-d)/h);return this.absolute(m)}faces(t,e){let n=new pt(this,t);for(let r=0;r<this.
count;r++)for(let s=this.facetStarts[r];s<this.facetStarts[r+1];s++){if(e===0&&this.behind[s]>=0)continue;let o=this.face(r,s).map(a=>n.add(r,this.moved(r,a,e),a));for(let a=1;a+1<o.length;a++)n.triangles.
push(o[0],o[a],o[a+1]);o.forEach((a,l)=>n.lines.push(a,o[(l+1)%o.length]))}return n.batch(!0)}caps(t,e,n,r){let s=new pt(this,t);for(let o=0;o<this.count;o++)this.straddles(o,e,n,r)&&this.addCap(s,o,e,
n,r);return s.batch(!1)}straddles(t,e,n,r){let s=1-.55*e,o=this.middles[3*t+n],[a,l]=[!1,!1];for(let c=this.starts[t];c<this.starts[t+1];c++)o+s*(this.corners[3*c+n]-o)<=r?a=!0:l=!0;return a&&l}addCap(t,e,n,r,s){
let o=[];for(let h=this.facetStarts[e];h<this.facetStarts[e+1];h++){let m=[],d=this.face(e,h);d.forEach((p,g)=>{let v=d[(g+1)%d.length],[S,k]=[this.moved(e,p,n)[r],this.moved(e,v,n)[r]];if(S<=s==k<=s)
return;let N=(s-S)/(k-S);m.push(p.map((C,L)=>C+N*(v[L]-C)))}),m.length===2&&o.push([m[0],m[1]])}if(o.length<3)return;let a=[0,1,2].map(h=>o.reduce((m,[d])=>m+d[h],0)/o.length),l=h=>t.add(e,this.moved(
e,h,n),h),c=l(a);for(let[h,m]of o){let[d,p]=[l(h),l(m)];t.triangles.push(c,d,p),t.lines.push(d,p)}}};function Ft(i,t){return[i[0]-t[0],i[1]-t[1],i[2]-t[2]]}function K(i,t){return i[0]*t[0]+i[1]*t[1]+i[2]*
t[2]}function se(i){let t=[0,0,0];i.forEach((n,r)=>{let s=i[(r+1)%i.length];t[0]+=(n[1]-s[1])*(n[2]+s[2]),t[1]+=(n[2]-s[2])*(n[0]+s[0]),t[2]+=(n[0]-s[0])*(n[1]+s[1])});let e=Math.hypot(t[0],t[1],t[2])||
1;return t.map(n=>n/e)}var f=Jt("about"),b={x:0,y:0,zoom:1},u={index:0,layer:1,colour:"pattern",output:0,edges:"plain",dark:!1,decision:!1,points:!0,mesh:!0,surface:!1,cutAxis:-1,cutAt:.5,apart:0,place:null,marked:null,neuron:null,
playing:null,panel:!0};function P(){return window.devicePixelRatio||1}var M=new ut,bt=.62,gt=class{constructor(t,e){this.canvas=t;this.under=e;this.scene=new ft(t)}canvas;under;scene;cells=null;heights={low:0,high:1};shades={low:0,high:1};matrix=M.matrix(1);show(t){this.
cells=t}addMesh(t,e){let n=e.vertices,r=new Uint8Array(4*n.length/3).fill(255),s=e.colours;for(let a=0;a<n.length/3;a++)for(let l=0;l<3;l++)r[4*a+l]=s?s[3*a+l]:[224,168,92][l];let o=e.triangles;this.scene.
set(t,{positions:n,colours:new Uint32Array(r.buffer),triangles:o,cut:!0})}removeMesh(t){this.scene.set(t,null)}range(){if(!(this.cells instanceof I))return null;let t=this.cells.heights(u.output),[e,n]=[
1/0,-1/0];for(let r of t)[e,n]=[Math.min(e,r),Math.max(n,r)];return{low:e,high:n}}showSurface(t,e){let n=this.cells;this.heights=e,this.shades=t;let r=n.heights(u.output),s=new Float32Array(3*r.length);
for(let h=0;h<r.length;h++)s[3*h]=n.corners[2*h],s[3*h+1]=n.corners[2*h+1],s[3*h+2]=this.height(r[h]);let o=new Uint32Array(r.length);for(let h=0;h<n.count;h++)o.fill(h+1,n.starts[h],n.starts[h+1]);let{
pairs:a,ends:l}=n.edges(),c=a.slice(0,2*l[u.layer]);this.scene.set("cells",{positions:s,colours:t.colours,values:t.values,owners:o,triangles:n.triangles(),lines:c,cut:!1})}height(t){let{low:e,high:n}=this.
heights;return n>e?bt*(2*(t-e)/(n-e)-1):0}showCells(){let t=this.cells,e=t.shader(u.colour,u),n=t.faces(e,u.apart);return this.scene.set("cells",n),this.shades={low:1/0,high:-1/0,logarithmic:e.logarithmic},
this.widen(n),n.values||Object.assign(this.shades,{colours:n.colours,low:0,high:1}),this.showCut(),this.shades}widen({values:t}){if(t){for(let e of t)Number.isFinite(e)&&(this.shades.low=Math.min(this.
shades.low,e),this.shades.high=Math.max(this.shades.high,e));this.shades.values=t}}showCut(){if(!(this.cells instanceof O)||u.cutAxis<0){this.scene.set("caps",null);return}let t=this.cells.shader(u.colour,
u);this.scene.set("caps",this.cells.caps(t,u.apart,u.cutAxis,this.cutPlace()))}setRange(t,e){Object.assign(this.shades,{low:t,high:e})}cutPlace(){let{from:t,to:e}=this.axes()[u.cutAxis];return t+(e-t)*
u.cutAt}plane(){if(u.cutAxis<0)return null;let t=M.eye[u.cutAxis]<0?-1:1,e=[0,0,0];return e[u.cutAxis]=t,[...e,t*this.cutPlace()]}planeAt(){let{low:t,high:e}=this.axes()[Math.max(0,u.cutAxis)];return t+
(e-t)*u.cutAt}options(){let t=this.lineStrength(),e=u.dark?0:this.shades.values?1:.14,n=e===1?.5:.75;return{camera:this.matrix,eye:M.eye,low:this.shades.low,high:this.shades.high,plane:this.plane(),lines:u.
edges==="none"||t===0?null:[e,e,e,n*t]}}lineStrength(){let t=this.cells?.count??1,e=this.canvas.clientHeight/M.distance/(t**(1/f.inputs)||1);return e<1.5?0:Math.min(1,e/6)}axes(){let t=r=>({name:f.axes[r],
from:(f.low[r]-f.centre[r])/f.scale,to:(f.high[r]-f.centre[r])/f.scale,low:f.low[r],high:f.high[r]});if(f.inputs===3)return[t(0),t(1),t(2)];let{low:e,high:n}=this.heights;return[t(0),t(1),{name:`y${u.
output+1}`,from:-bt,to:bt,low:e,high:n}]}paint(t){let[e,n]=[this.canvas.clientWidth,this.canvas.clientHeight];this.matrix=M.matrix(e/Math.max(1,n)),this.scene.draw(this.options());let r=this.under.getContext(
"2d");r.setTransform(P(),0,0,P(),0,0),r.clearRect(0,0,e,n),this.paintBox(r,t),this.paintPlane(t)}at(t){let[e,n]=M.project(this.matrix,t,this.canvas.clientWidth,this.canvas.clientHeight);return[e,n]}line(t,e){
t.beginPath();for(let n of e)t.lineTo(...this.at(n));t.stroke()}paintBox(t,e){let n=this.axes(),r=M.eye,s=n.map(({from:p,to:g},v)=>r[v]>(p+g)/2?p:g),o=n.map(({from:p,to:g},v)=>s[v]===p?g:p),a=n.map(({
low:p,high:g})=>et(p,g,5)),l=({from:p,to:g,low:v,high:S},k)=>p+(g-p)*(k-v)/(S-v||1);t.lineWidth=1;for(let p=0;p<3;p++){let[g,v]=[(p+1)%3,(p+2)%3],S=(B,F)=>{let D=[0,0,0];return[D[p],D[g],D[v]]=[s[p],B,
F],D};t.strokeStyle=u.dark?"rgba(255,255,255,0.10)":"rgba(20,24,40,0.09)";for(let B of a[g].values){let F=l(n[g],B);this.line(t,[S(F,n[v].from),S(F,n[v].to)])}for(let B of a[v].values){let F=l(n[v],B);
this.line(t,[S(n[g].from,F),S(n[g].to,F)])}t.strokeStyle=u.dark?"rgba(255,255,255,0.35)":"rgba(20,24,40,0.35)";let[k,N,C,L]=[n[g].from,n[g].to,n[v].from,n[v].to];this.line(t,[S(k,C),S(N,C),S(N,L),S(k,
L),S(k,C)])}let c=[[0,o[1],s[2]],[o[0],0,s[2]],[o[0],s[1],0]],h=[s[0],o[1],0];this.at(h)[0]<this.at(c[2])[0]&&(c[2]=h);let m=this.at([0,0,(n[2].from+n[2].to)/2]);e.font="11px system-ui, sans-serif",e.
textAlign="center",e.textBaseline="middle";let d=u.dark?"#b9bcc8":"#555a66";for(let p=0;p<3;p++){let g=N=>c[p].map((C,L)=>L===p?N:C),v=this.at(g((n[p].from+n[p].to)/2)),S=Math.hypot(v[0]-m[0],v[1]-m[1])||
1,k=[(v[0]-m[0])/S,(v[1]-m[1])/S];e.fillStyle=d;for(let N of a[p].values){let[C,L]=this.at(g(l(n[p],N)));e.fillText(j(N,a[p].step),C+16*k[0],L+14*k[1])}e.font="600 12px system-ui, sans-serif",e.fillStyle=
u.dark?"#e8e8ee":"#1d1e26",e.fillText(n[p].name,v[0]+42*k[0],v[1]+32*k[1]),e.font="11px system-ui, sans-serif"}}paintPlane(t){let e=u.cutAxis;if(e<0)return;let n=this.axes(),[r,s]=[(e+1)%3,(e+2)%3],o=[
[0,0],[1,0],[1,1],[0,1],[0,0]].map(([a,l])=>{let c=[0,0,0];return c[e]=this.cutPlace(),c[r]=a?n[r].to:n[r].from,c[s]=l?n[s].to:n[s].from,c});t.lineWidth=1.5,t.strokeStyle=u.dark?"#8fb0ff":"#2f5bd0",this.
line(t,o)}paintOutline(t,e,n,r){t.lineJoin="round";let s=this.cells instanceof I?[this.surfaceOf(this.cells,e)]:this.cells instanceof O?this.cells.outline(e,u.apart):[],o=u.dark?"rgba(0,0,0,0.7)":"rgb\
a(255,255,255,0.8)";for(let[a,l]of[[2,o],[0,n]]){t.lineWidth=r+a,t.strokeStyle=l;for(let c of s)this.line(t,c)}}surfaceOf(t,e){let n=t.map(e),r=3*u.output,s=t.polygon(e).map(([o,a])=>[(o-f.centre[0])/
f.scale,(a-f.centre[1])/f.scale,this.height(n[r]*o+n[r+1]*a+n[r+2])]);return[...s,s[0]]}paintPoint(t,e,n){let r=e.map((a,l)=>(a-f.centre[l])/f.scale),[s,o]=this.at(r);t.fillStyle=W([n[0],n[1],n[2]]),t.
beginPath(),t.arc(s,o,3,0,2*Math.PI),t.fill(),t.stroke()}hit(t,e){let n=this.scene.ownerAt(t*P(),e*P(),this.options());if(n===0||!this.cells)return null;let r=n-1,s=M.ray(t,e,this.canvas.clientWidth,this.
canvas.clientHeight),o=this.cells instanceof O?this.cells.entry(r,M.eye,s,u.apart,this.plane()):this.onSurface(this.cells,r,s);return o&&{region:r,point:o}}onSurface(t,e,n){let r=t.map(e).subarray(3*u.
output),s=M.eye,o=(m,d)=>r[0]*(f.scale*m[0]+d*f.centre[0])+r[1]*(f.scale*m[1]+d*f.centre[1])+r[2]*d,a=2*bt/(this.heights.high-this.heights.low||1),l=s[2]-this.height(o(s,1)),c=n[2]-a*o(n,0),h=-l/c;return Number.
isFinite(h)?[0,1].map(m=>f.centre[m]+f.scale*(s[m]+h*n[m])):null}};var rt=i=>String(Number(i.toPrecision(7)));function ie(){return Math.max(1,w("regions").clientWidth)}function oe(i){let t=new URLSearchParams,e=(n,r,s)=>{r!==s&&t.set(n,r===!0?"1":r===!1?"0":String(r))};
return f.inputs===2&&t.set("view",[b.x,b.y,ie()/b.zoom].map(rt).join(",")),e("colour",u.colour,"pattern"),e("output",u.output+1,1),e("edges",u.edges,"plain"),e("layer",u.layer,i),e("time",u.index+1,1),
e("decision",u.decision,!1),e("points",u.points,!0),e("surface",u.surface,!1),(u.surface||f.inputs===3)&&t.set("camera",[M.azimuth,M.elevation,M.distance].map(rt).join(",")),u.cutAxis>=0&&t.set("cut",
`${f.axes[u.cutAxis]},${rt(u.cutAt)}`),e("panel",u.panel,!0),e("apart",Number(rt(u.apart)),0),u.place&&t.set("place",u.place.map(rt).join(",")),t.toString().replaceAll("%2C",",")}function Rt(i,t){let e=(i??
"").split(",").map(Number);return i&&e.length===t&&e.every(Number.isFinite)?e:null}function Bt(i){let t=new URLSearchParams(i),e=(c,h)=>{let m=Number(t.get(c));return t.has(c)&&Number.isInteger(m)&&m>=
1&&m<=h?m:null},n=(c,h)=>t.has(c)?t.get(c)==="1":h,r=(c,h,m)=>{let d=t.get(c);return d!==null&&h.includes(d)?d:m},s=Rt(t.get("place"),f.inputs);u.colour=r("colour",["pattern","value","gradient","area",
"bends"],u.colour),u.edges=r("edges",["plain","layers","none"],u.edges),u.output=(e("output",f.pictures[0]?.outputs??1)??u.output+1)-1,u.index=(e("time",Math.max(...f.panes.map(c=>c.length)))??u.index+
1)-1,u.decision=n("decision",u.decision),u.points=n("points",u.points),u.surface=f.inputs===2&&n("surface",u.surface),u.place=s??u.place,u.panel=n("panel",u.panel);let[o,a]=(t.get("cut")??"").split(",");
f.axes.includes(o)&&Number(a)>=0&&Number(a)<=1&&f.inputs===3&&(u.cutAxis=f.axes.indexOf(o),u.cutAt=Number(a)),u.apart=Math.min(1,Math.max(0,Number(t.get("apart")??u.apart)||0));let l=Rt(t.get("camera"),
3);return l&&([M.azimuth,M.elevation,M.distance]=l),e("layer",1e6)}function ae(i){let t=Rt(new URLSearchParams(i).get("view"),3);return!t||!(t[2]>0)?!1:([b.x,b.y]=t,b.zoom=ie()/t[2],!0)}var un=`
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
`,le="http://www.w3.org/2000/svg";var yt=class{constructor(t,e={}){this.events=e;if(!document.getElementById("diagram-style")){let n=document.createElement("style");n.id="diagram-style",n.textContent=un,document.head.append(n)}this.frame=
document.createElement("div"),this.frame.className="diagram",this.canvas=document.createElement("canvas"),this.svg=document.createElementNS(le,"svg"),this.svg.setAttribute("role","img"),this.frame.append(
this.canvas,this.svg),t.append(this.frame),this.observer=new ResizeObserver(()=>this.layout()),this.observer.observe(this.frame),this.svg.addEventListener("click",n=>this.clicked(n)),this.svg.addEventListener(
"pointermove",n=>this.moved(n)),this.svg.addEventListener("pointerleave",()=>this.events.onNeuron?.(null))}events;frame;canvas;svg;observer;network={widths:[],skips:[]};blocks=[];neurons=[];lines=[];pattern={
pieces:null};size=[0,0];top=14;due=0;setNetwork(t){this.network=t;let e=t.skips.map(([r,s])=>`${r}→${s}`).join(", "),n=`Network ${t.widths.join(" → ")}${e?`, skips ${e}`:""}`;this.svg.setAttribute(
"aria-label",n),this.layout()}setWeights(t){this.blocks=t,this.due||(this.due=window.setTimeout(()=>this.drawWeights(),100))}setPattern(t,e){this.pattern={pieces:t,counts:e};let n=0;for(let r=1;r<this.
neurons.length-1;r++)for(let s of this.neurons[r]){let o=t?.[n]??0,a=(e?.[n]??2)-1;s.classList.toggle("on",t!==null&&o>0&&o>=a),s.classList.toggle("middle",t!==null&&o>0&&o<a),s.classList.toggle("off",
t!==null&&o===0),n++}}choose(t){for(let e of this.svg.querySelectorAll(".chosen"))e.classList.remove("chosen");t&&this.neurons[t.layer]?.[t.index]?.classList.add("chosen")}refresh(){this.drawWeights()}destroy(){
this.observer.disconnect(),window.clearTimeout(this.due),this.frame.remove()}arcs(){let{skips:t,possible:e}=this.network,n=new Set(t.map(String));return[...(this.events.onSkip?(e??[]).filter(s=>!n.has(
String(s))):[]).map(s=>({skip:s,on:!1,span:s[1]-s[0]})),...t.map(s=>({skip:s,on:!0,span:s[1]-s[0]}))]}room(){let t=this.arcs().map(e=>e.span);return t.length?Math.min(18+13*Math.max(...t),.42*this.size[1]):
14}x(t){let e=Math.max(1,this.network.widths.length-1);return 22+t/e*(this.size[0]-44)}y(t,e){let n=this.network.widths[t],{top:r}=this,s=this.size[1]-(this.network.labels?26:12),o=Math.min(30,(s-r)/Math.
max(1,n));return(r+s)/2+(e-(n-1)/2)*o}radius(t){let e=(this.size[1]-this.top-20)/Math.max(1,this.network.widths[t]);return Math.max(1.5,Math.min(8,.38*e,(this.size[0]-44)/(4*this.network.widths.length)))}layout(){
if(this.size=[this.frame.clientWidth,this.frame.clientHeight],!this.size[0]||!this.network.widths.length)return;let[t,e]=this.size;this.top=this.room(),this.svg.setAttribute("viewBox",`0 0 ${t} ${e}`),
this.svg.replaceChildren();for(let n of this.arcs())this.svg.append(this.arc(n.skip,n.on));this.neurons=this.network.widths.map((n,r)=>Array.from({length:n},(s,o)=>this.neuron(r,o))),this.network.labels?.
forEach((n,r)=>{let s=J("text",{x:this.x(r),y:e-6,"text-anchor":"middle"});s.textContent=n,this.svg.append(s)}),this.setPattern(this.pattern.pieces,this.pattern.counts),this.drawWeights()}arc([t,e],n){
let[r,s]=[this.x(t),this.x(e)],o=this.top-6,a=Math.max(4,o-Math.min(13*(e-t),o-4)),l=`M${r} ${o} C${r+.12*(s-r)} ${a} ${s-.12*(s-r)} ${a} ${s} ${o}`,c=J("g",{"data-skip":`${t}-${e}`}),h=J("title",{});
if(h.textContent=`skip ${t}→${e}${this.events.onSkip?n?": click to remove":": click to add":""}`,c.append(h,J("path",{d:l,class:`skip ${n?"":"possible"}`})),c.append(J("path",{d:l,class:"target"})),
this.events.onSkip){c.classList.add("clickable"),c.setAttribute("tabindex","0"),c.setAttribute("role","switch"),c.setAttribute("aria-checked",String(n)),c.setAttribute("aria-label",`skip ${t}→${e}`);
let m=()=>this.events.onSkip?.([t,e]);c.addEventListener("click",d=>{d.stopPropagation(),m()}),c.addEventListener("keydown",d=>{(d.key==="Enter"||d.key===" ")&&(d.preventDefault(),m())})}return c}neuron(t,e){
let n=t>0&&t<this.network.widths.length-1,r=J("circle",{cx:this.x(t),cy:this.y(t,e),r:this.radius(t),class:`neuron ${n?"hidden":""}`,"data-layer":t,"data-index":e});return this.svg.append(r),r}drawWeights(){
this.due=0;let[t,e]=this.size,n=window.devicePixelRatio||1;this.canvas.width=Math.round(t*n),this.canvas.height=Math.round(e*n);let r=this.canvas.getContext("2d");if(!r||!t)return;r.scale(n,n);let s=getComputedStyle(
this.frame),o=[s.getPropertyValue("--diagram-negative").trim()||"#2f6db4",s.getPropertyValue("--diagram-positive").trim()||"#dd7829"];this.lines=this.visible();let a=Math.max(1e-12,...this.blocks.map(
hn)),l=Array.from({length:20},()=>new Path2D);for(let c of this.lines){let h=Math.min(9,Math.floor(10*Math.abs(c.value)/a)),m=l[2*h+(c.value>0?1:0)];m.moveTo(c.x,c.y),m.lineTo(c.x2,c.y2)}l.forEach((c,h)=>{
let m=(Math.floor(h/2)+.5)/10;r.globalAlpha=.12+.88*m,r.lineWidth=.4+2.6*m,r.strokeStyle=o[h%2],r.stroke(c)})}visible(){let t=this.blocks.filter(s=>s.from===s.to-1),e=t.reduce((s,o)=>s+o.rows*o.columns,
0),n=0;e>1500&&(n=t.flatMap(o=>ce(o).map(Math.abs)).sort((o,a)=>a-o)[1500]);let r=[];for(let{from:s,to:o,rows:a,columns:l,values:c,stride:h=l}of t)if(!(a>this.network.widths[o]||l>this.network.widths[s]))
for(let m=0;m<a;m++)for(let d=0;d<l;d++){let p=c[m*h+d];p===0||Math.abs(p)<n||r.push({from:s,to:o,row:m,column:d,value:p,x:this.x(s),y:this.y(s,d),x2:this.x(o),y2:this.y(o,m)})}return r}moved(t){let e=t.
target.dataset,n=Number(e.layer),r=n>0&&n<this.network.widths.length-1;this.events.onNeuron?.(r?{layer:n,index:Number(e.index)}:null),this.events.onWeight&&(this.svg.style.cursor=this.lineAt(t)?"point\
er":"")}clicked(t){let e=this.events.onWeight&&this.lineAt(t);e&&this.events.onWeight?.({...e,x:t.clientX,y:t.clientY})}lineAt(t){let e=this.svg.getBoundingClientRect(),[n,r]=[t.clientX-e.left,t.clientY-
e.top],s=null,o=5;for(let a of this.lines){let l=(n-a.x)/(a.x2-a.x);if(l<.06||l>.94)continue;let c=(a.y2-a.y)/(a.x2-a.x),h=Math.abs(a.y+l*(a.y2-a.y)-r)/Math.hypot(1,c);h<o&&([o,s]=[h,a])}return s}};function J(i,t){
let e=document.createElementNS(le,i);for(let[n,r]of Object.entries(t))e.setAttribute(n,String(r));return e}function ce(i){let{rows:t,columns:e,values:n,stride:r=e}=i;return Array.from({length:t*e},(s,o)=>n[Math.
floor(o/e)*r+o%e])}function hn(i){return ce(i).reduce((t,e)=>Math.max(t,Math.abs(e)),0)}var mn=40,dn=14,fn=2e4;function pn(i){if(!i?.depth)return!1;let{widths:t,outputs:e}=i.network;return t.length<=dn&&Math.max(...t,e)<=mn}function bn(i){let t=[];return i.layers.forEach((e,n)=>{let r=e.
bias.length;for(let{source:s,sparse:o,columns:a,data:l,index:c,ends:h}of e.terms){if(s!==n||a>fn)continue;let m=o?new Float64Array(r*a):l;for(let d=0;o&&d<r;d++)for(let p=d?h[d-1]:0;p<h[d];p++)m[d*a+c[p]]=
l[p];n===0&&i.embedding.length!==i.inputs*(i.inputs+1)?t.push(gn(i,m,r,a)):t.push({from:s,to:n+1,rows:r,columns:a,values:m})}}),t}function gn(i,t,e,n){let{embedding:r,inputs:s}=i,o=new Float64Array(e*
s);for(let a=0;a<e;a++)for(let l=0;l<n;l++){let c=t[a*n+l];for(let h=0;h<s;h++)o[a*s+h]+=c*r[l*(s+1)+h]}return{from:0,to:1,rows:e,columns:s,values:o}}var vt=class{constructor(t,e,n){this.box=t;for(let r=0;r<
e;r++){let s=y("div",void 0,"diagram-host");t.append(s),this.hosts.push(s),this.diagrams.push(new yt(s,{onNeuron:o=>{JSON.stringify(o)!==JSON.stringify(u.neuron)&&(u.neuron=o,n())}}))}}box;diagrams=[];hosts=[];shown=[];show(t,e,n){
let r=pn(e);if(this.hosts[t].hidden=!r,this.box.hidden=this.hosts.every(l=>l.hidden),!r)return;let{network:s}=e,o=this.diagrams[t];if(this.shown[t]!==e){this.shown[t]=e;let l=s.layers.flatMap((c,h)=>c.
terms.filter(m=>m.source<h).map(m=>[m.source,h+1]));o.setNetwork({widths:[e.inputs,...s.widths,s.outputs],skips:l}),o.setWeights(bn(s))}let a=s.layers.slice(0,-1).flatMap((l,c)=>Array.from({length:s.widths[c]},
()=>l.slopes.length/s.widths[c]));o.setPattern(n,a)}refresh(){for(let t of this.diagrams)t.refresh()}};function ue(i,t,e){let{image:n}=f;if(!n)return!1;let{height:r,width:s,channels:o,low:a,high:l}=n,c=t.inputsAt(e);if(c.length!==r*s*o)return!1;[i.width,i.height]=[s,r];let h=new ImageData(s,r);for(let m=0;m<
r*s;m++){for(let d=0;d<3;d++){let p=c[o===3?d*r*s+m:m];h.data[4*m+d]=Math.round(255*(p-a)/(l-a||1))}h.data[4*m+3]=255}return i.getContext("2d").putImageData(h,0,0),!0}var st="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";function H(){return u.dark?{line:"#565a68",text:"#a9adba",strong:"#e8e8ee"}:{line:"#a3a5ad",text:"#595d69",strong:"#1d1e26"}}function Ut(i){
let[t,e]=[i.clientWidth,i.clientHeight].map(r=>Math.round(r*P()));(i.width!==t||i.height!==e)&&Object.assign(i,{width:t,height:e});let n=i.getContext("2d");return n.setTransform(P(),0,0,P(),0,0),n.clearRect(
0,0,i.clientWidth,i.clientHeight),n}function he(i,t,e){let[n,r]=[b.x-t/2/b.zoom,b.x+t/2/b.zoom],{values:s,step:o}=et(n,r,Math.max(2,t/85));i.font=st,i.textBaseline="top",i.fillStyle=H().text,i.strokeStyle=
H().line,i.beginPath();for(let a of s){let l=t/2+(a-b.x)*b.zoom;i.moveTo(l,0),i.lineTo(l,5);let c=j(a,o),h=i.measureText(c).width/2;i.textAlign="center",l+h<t-22&&i.fillText(c,Math.max(l,h),8)}i.stroke(),
i.textAlign="right",i.font=`600 ${st}`,i.fillStyle=H().strong,i.fillText(f.axes[0],t-2,Math.min(8,e-12))}function me(i,t,e){let[n,r]=[b.y-e/2/b.zoom,b.y+e/2/b.zoom],{values:s,step:o}=et(n,r,Math.max(2,
e/60));i.font=st,i.textBaseline="middle",i.textAlign="right",i.fillStyle=H().text,i.strokeStyle=H().line,i.beginPath();for(let a of s){let l=e/2-(a-b.y)*b.zoom;i.moveTo(t,l),i.lineTo(t-5,l),l>24&&l<e-
6&&i.fillText(j(a,o),t-8,l)}i.stroke(),i.font=`600 ${st}`,i.fillStyle=H().strong,i.fillText(f.axes[1],t-8,9)}function de(i,t,e){let n=120/b.zoom,r=10**Math.floor(Math.log10(n)),s=r*(n>=5*r?5:n>=2*r?2:
1),o=s*b.zoom,[a,l]=[t-16,e-16],c=j(s,s/2);i.font=`600 ${st}`,i.textAlign="center",i.textBaseline="bottom",i.lineCap="butt";let h=u.dark?"rgba(20,21,26,0.85)":"rgba(255,255,255,0.9)";for(let[m,d]of[[3,
h],[0,H().strong]])i.strokeStyle=d,i.lineWidth=2+m,i.beginPath(),i.moveTo(a-o,l-5),i.lineTo(a-o,l),i.lineTo(a,l),i.lineTo(a,l-5),i.stroke(),i.lineWidth=m,m&&i.strokeText(c,a-o/2,l-5);i.fillStyle=H().strong,
i.fillText(c,a-o/2,l-5)}var fe=()=>u.dark?"rgba(0,0,0,0.75)":"rgba(255,255,255,0.9)",it=()=>u.dark?"#ffffff":"#101018",wt=()=>u.dark?"#ffc760":"#d97706",It=()=>u.dark?"#ff7b72":"#d1242f",yn=()=>u.dark?"#7ee7d8":"#0f766e";function $t(i,t,e,n,r){
i.beginPath();for(let s of t.picture.polygon(e))i.lineTo(...t.toScreen(s));i.closePath(),i.lineJoin="round",i.lineWidth=r+2.5,i.strokeStyle=fe(),i.stroke(),i.lineWidth=r,i.strokeStyle=n,i.stroke()}function pe(i,t){
if(t.pinned>=0){for(let e of t.picture.neighbours(t.pinned))$t(i,t,e,wt(),1.5);$t(i,t,t.pinned,it(),3)}t.hovered>=0&&t.hovered!==t.pinned&&$t(i,t,t.hovered,it(),1.5),u.marked&&vn(i,...t.toScreen(u.marked))}
function vn(i,t,e){i.lineWidth=2,i.strokeStyle=it(),i.beginPath();for(let[n,r]of[[1,0],[-1,0],[0,1],[0,-1]])i.moveTo(t+3*n,e+3*r),i.lineTo(t+9*n,e+9*r);i.stroke()}function be(i,t,e,n,r){i.beginPath();
for(let s=0;s<e.length;s+=4)i.moveTo(...t.toScreen([e[s],e[s+1]])),i.lineTo(...t.toScreen([e[s+2],e[s+3]]));i.lineCap="round",i.lineWidth=r+2,i.strokeStyle=fe(),i.stroke(),i.lineWidth=r,i.strokeStyle=
n,i.stroke()}function ge(i,t){u.decision&&be(i,t,t.picture.decisionBoundary,It(),2.5)}function ye(i,t){let{neuron:e}=u;!e||e.layer>t.picture.depth||be(i,t,t.picture.boundaryOf(e.layer,e.index),yn(),2.5)}
function ve(i,t){u.points&&(i.strokeStyle=u.dark?"#14151a":"#ffffff",i.lineWidth=1,f.points.forEach((e,n)=>{let[r,s]=t.toScreen(e);r<-5||s<-5||r>t.canvas.clientWidth+5||s>t.canvas.clientHeight+5||(i.fillStyle=
f.pointLabels.length?W(nt(f.pointLabels[n])):it(),i.beginPath(),i.arc(r,s,f.pointLabels.length?3.5:3,0,2*Math.PI),i.fill(),i.stroke())}))}function we(i,t){f.inputs===3&&u.points&&(i.strokeStyle=u.dark?
"#14151a":"#ffffff",i.lineWidth=1,f.points.forEach((e,n)=>{let r=f.pointLabels.length?f.pointLabels[n]:0;t.space.paintPoint(i,e,nt(r))})),t.pinned>=0&&t.space.paintOutline(i,t.pinned,wt(),2),t.hovered>=
0&&t.hovered!==t.pinned&&t.space.paintOutline(i,t.hovered,it(),1)}var wn=25;function E(){return f.inputs===3||u.surface}var xt=class{constructor(t){this.number=t;this.stage.append(this.under,this.sheet,this.spaceCanvas,this.canvas,this.tooltip),this.figure.append(this.
caption,this.axisY,this.stage,this.axisX),this.canvas.tabIndex=0,this.canvas.setAttribute("role","img"),this.canvas.setAttribute("aria-describedby","keys"),this.canvas.setAttribute("aria-label",`Linea\
r regions of a network ${f.inputs===3?"in space":"in the plane"}`);for(let e of[this.under,this.sheet,this.spaceCanvas,this.axisX,this.axisY,this.tooltip])e.setAttribute("aria-hidden","true");t===0&&([
this.canvas.id,this.sheet.id,this.stage.id]=["regions","sheet","stage"])}number;figure=y("figure",void 0,"pane");caption=y("figcaption");stage=y("div",void 0,"stage");canvas=y("canvas",void 0,"top");sheet=y(
"canvas",void 0,"sheet");under=y("canvas",void 0,"under");spaceCanvas=y("canvas",void 0,"space");axisX=y("canvas",void 0,"axis-x");axisY=y("canvas",void 0,"axis-y");tooltip=y("div",void 0,"tooltip");painter=null;ownSpace=null;cells=null;hovered=-1;pinned=-1;over=null;shades={
low:0,high:1};drawn={x:0,y:0,zoom:0,cost:0,stale:!0,timer:0};get picture(){return this.cells instanceof I?this.cells:null}get space(){return this.ownSpace||(this.ownSpace=new gt(this.spaceCanvas,this.
under),this.ownSpace.show(this.cells)),this.ownSpace}show(t){this.cells=t,this.hovered=-1,this.ownSpace?.show(t),t instanceof I&&(this.painter??=new dt(this.sheet),this.painter.show(t)),this.pinned=u.
place&&t?t.locate(u.place):-1}shade(){return this.cells instanceof O?this.shades=this.space.showCells():this.picture&&(this.shades=this.picture.shades(u.colour,u)),this.shades}colour(t,e,n){Object.assign(
this.shades,{low:t,high:e}),this.picture?(this.painter.shade(this.shades),u.surface&&n&&this.space.showSurface(this.shades,n)):this.cells&&this.space.setRange(t,e),this.drawn.stale=!0}resize(){let[t,e]=[
this.canvas.clientWidth,this.canvas.clientHeight];for(let n of[this.canvas,this.sheet,this.under,this.spaceCanvas])n.width=Math.max(1,Math.round(t*P())),n.height=Math.max(1,Math.round(e*P()));this.drawn.
stale=!0}paint(){let t=E();this.figure.classList.toggle("in-space",t);let e=this.canvas.getContext("2d");if(e.setTransform(P(),0,0,P(),0,0),e.clearRect(0,0,this.canvas.width,this.canvas.height),t){this.
space.paint(e),we(e,this);return}this.picture&&(this.paintSheetIfNeeded(),ge(e,this),ye(e,this),ve(e,this),pe(e,this),de(e,this.canvas.clientWidth,this.canvas.clientHeight),he(Ut(this.axisX),this.axisX.
clientWidth,this.axisX.clientHeight),me(Ut(this.axisY),this.axisY.clientWidth,this.axisY.clientHeight))}paintSheetIfNeeded(){let{drawn:t}=this,e=b.x!==t.x||b.y!==t.y||b.zoom!==t.zoom;t.stale||e&&t.cost<
wn?this.paintSheet():e&&this.moveSheet()}paintSheet(){if(E()){this.paint();return}let{drawn:t}=this;clearTimeout(t.timer),t.timer=0;let e={...b,zoom:b.zoom*P()},n={...u,background:xn()};this.painter.measure(
e,n,r=>{t.cost=r}),Object.assign(t,b,{stale:!1}),this.sheet.style.transform=""}moveSheet(){let{drawn:t}=this,e=b.zoom/t.zoom,n=(t.x-b.x)*b.zoom,r=(b.y-t.y)*b.zoom;this.sheet.style.transform=`translate\
(${n}px, ${r}px) scale(${e})`,clearTimeout(t.timer),t.timer=window.setTimeout(()=>this.paintSheet(),150)}layers(){return E()?[this.under,this.spaceCanvas,this.canvas]:[this.sheet,this.canvas]}toScreen([
t,e]){return[this.canvas.clientWidth/2+(t-b.x)*b.zoom,this.canvas.clientHeight/2-(e-b.y)*b.zoom]}toPlane(t,e){return[b.x+(t-this.canvas.clientWidth/2)/b.zoom,b.y-(e-this.canvas.clientHeight/2)/b.zoom]}at(t,e){
if(!this.cells)return{region:-1,point:null};if(E())return this.space.hit(t,e)??{region:-1,point:null};let n=this.toPlane(t,e);return{region:this.cells.locate(n),point:n}}tell(t,e){let{cells:n,hovered:r,
over:s}=this;if(!n||r<0||!s){this.quiet();return}let o=E()?f.scale/200:1/b.zoom,a=s.map(d=>tt(d,o)).join(", ");this.tooltip.replaceChildren(y("b",`Region ${r.toLocaleString("en")}`),y("span",this.valueText(
r,s)),y("small",`(${a})`)),this.tooltip.classList.add("shown");let[l,c]=[this.tooltip.offsetWidth,this.tooltip.offsetHeight],h=t+16+l>this.canvas.clientWidth?t-14-l:t+16,m=e+18+c>this.canvas.clientHeight?
e-14-c:e+18;this.tooltip.style.transform=`translate(${Math.max(2,h)}px, ${Math.max(2,m)}px)`}quiet(){this.tooltip.classList.remove("shown")}valueText(t,e){let n=this.cells,r=n.map(t),s=n.inputs+1,o=c=>{
let h=r.subarray(c*s,(c+1)*s);return e.reduce((m,d,p)=>m+d*h[p],h[s-1])};if(u.colour==="area")return`${f.inputs===3?"volume":"area"} ${$(n.areas[t],4)}`;if(u.colour==="value"||u.colour==="gradient"||n.
about.outputs===1||u.surface)return`y${u.output+1} = ${$(o(u.output),4,.001)}`;let l=0;for(let c=1;c<n.about.outputs;c++)o(c)>o(l)&&(l=c);return`largest: y${l+1} = ${$(o(l),4,.001)}`}};function xn(){let i=getComputedStyle(
document.documentElement).getPropertyValue("--back").trim(),t=e=>parseInt(i.slice(e,e+2),16);return[t(1),t(3),t(5)]}function xe(i,t){let{canvas:e}=i,n=new Map,r=0,s=c=>{let h=e.getBoundingClientRect();return[c.clientX-h.left,c.clientY-h.top]},o=(c,h)=>{E()?t.turn(c,h):t.move(-c/b.zoom,h/b.zoom)};e.addEventListener(
"pointerdown",c=>{e.setPointerCapture(c.pointerId),n.size===0&&(r=0),n.set(c.pointerId,s(c))}),e.addEventListener("pointermove",c=>{let h=s(c),m=n.get(c.pointerId);if(!m){t.hover(i,...h,c.pointerType!==
"touch");return}i.quiet(),r+=Math.hypot(h[0]-m[0],h[1]-m[1]);let d=[...n].find(([p])=>p!==c.pointerId)?.[1];if(d){let p=v=>Math.hypot(v[0]-d[0],v[1]-d[1]),g=[(h[0]+d[0])/2,(h[1]+d[1])/2];t.zoomAt(i,...g,
p(h)/Math.max(1,p(m))),o((h[0]-m[0])/2,(h[1]-m[1])/2)}else r>4&&o(h[0]-m[0],h[1]-m[1]);n.set(c.pointerId,h)});let a=c=>{let h=n.size===1&&r<=4&&c.type==="pointerup";if(n.delete(c.pointerId),!h)return;
let{region:m,point:d}=i.at(...s(c));t.pin(m<0||m===i.pinned?null:d)};e.addEventListener("pointerup",a),e.addEventListener("pointercancel",a),e.addEventListener("pointerleave",t.leave);let l=window.parent===
window;e.addEventListener("pointerdown",()=>{l=!0}),e.addEventListener("pointerleave",()=>{l=window.parent===window}),e.addEventListener("wheel",c=>{if(!l&&!c.ctrlKey)return;c.preventDefault();let h=c.
deltaMode===1?20:1;t.zoomAt(i,...s(c),Math.exp(-.0018*h*c.deltaY))},{passive:!1})}function Ae(i,t){let{canvas:e}=i,n=()=>[e.clientWidth/2,e.clientHeight/2],r=(o,a)=>{E()?t.turn(-24*o,24*a):t.move(60*o/
b.zoom,60*a/b.zoom)},s={ArrowLeft:()=>r(-1,0),ArrowRight:()=>r(1,0),ArrowUp:()=>r(0,1),ArrowDown:()=>r(0,-1),"+":()=>t.zoomAt(i,...n(),1.25),"=":()=>t.zoomAt(i,...n(),1.25),"-":()=>t.zoomAt(i,...n(),.8),
0:t.home,Enter:()=>t.pin(i.at(...n()).point)};e.addEventListener("keydown",o=>{let a=s[o.key];!a||o.ctrlKey||o.metaKey||o.altKey||(o.preventDefault(),a(),t.hover(i,...n(),!1),u.marked=[b.x,b.y])}),e.addEventListener(
"blur",()=>{u.marked=null,t.redraw()})}function ot(i){let t=y("div",void 0,"group");return i&&t.append(y("span",i,"name")),t}function At(i,t,e){let n=y("span",void 0,"item"),r=y("i",void 0,e);return r.style.setProperty("--colour",i),n.append(
r,t),n}function Ot(i,t){let e=ot(i),n=y("canvas",void 0,"ramp");[n.width,n.height]=[256,1];let r=new ImageData(new Uint8ClampedArray(z()),256,1);n.getContext("2d").putImageData(r,0,0);let s=Math.max(Math.
abs(t.low),Math.abs(t.high)),o=h=>t.logarithmic?$(10**h,3):$(h,3,s),a=y("span",void 0,"scale"),l=[t.low,(t.low+t.high)/2,t.high],c=y("span",void 0,"numbers");return c.append(...l.map(h=>y("span",o(h)))),
a.append(n,c),e.append(a),e}function Se(i,t,e,n){let r=ot(i);for(let s=n;s<=t;s++){let o=s===0?"domain":`layer ${s}`;r.append(At(W(Y(s,t,u.dark)),o,e))}return r}function An(i,t){let e=`y${u.output+1}`;
if(u.colour==="value")return Ot(i.about.outputs>1?`value of ${e}`:"value",t);if(u.colour==="gradient")return Ot(i.about.outputs>1?`gradient norm of ${e}`:"gradient norm",t);if(u.colour==="area")return Ot(
f.inputs===3?"volume (log)":"area (log)",t);if(u.colour==="bends")return Se("first bend",i.depth,"box",0);let n=ot("pattern"),r=lt(u.dark),s=y("span",void 0,"item");for(let o of[0,9,18,27,36]){let a=y(
"i",void 0,"box");a.style.setProperty("--colour",W([r[4*o],r[4*o+1],r[4*o+2]])),s.append(a)}return s.append("a colour for every pattern"),n.append(s),n}function Ee(i,t,e){let n=[];if(i&&n.push(An(i,t)),
i&&u.edges==="layers"&&!E()&&u.layer>1&&n.push(Se("edges",u.layer,"line",1)),f.labelNames.length&&u.points){let o=ot("points");f.labelNames.forEach((a,l)=>o.append(At(W(nt(l)),a,"dot"))),n.push(o)}let s=ot(
"");u.decision&&!E()&&s.append(At(It(),"decision boundary","line")),e&&!E()&&s.append(At(wt(),"neighbours","line")),s.childElementCount&&n.push(s),w("key").replaceChildren(...n)}var Z=7,_t=60;function Sn(i,t,e){let n=i.subarray((e+1)*t,(e+1)*(t+1)),r=Math.max(...n.map(Math.abs)),s="";return n.forEach((o,a)=>{let l=$(Math.abs(o),4,r);if(l==="0")return;let c=a<e?l==="1"?f.axes[a]:
`${l} ${f.axes[a]}`:l;s+=s?o<0?` − ${c}`:` + ${c}`:o<0?`−${c}`:c}),`y${t+1} = ${s||"0"}`}function St(i,t){let e=i.names[t-1];return e?`layer ${t} (${e})`:`layer ${t}`}function Dt(i,t,...e){i.append(
y("dt",t));let n=y("dd");n.append(...e),i.append(n)}function Me(i,t,e,{pinned:n,name:r,choose:s}){let o=i.querySelector(".pattern")?.scrollTop??0;if(i.replaceChildren(),r&&i.append(y("h3",r,"whose")),
e<0){let g=r?"No region here.":"Move over the picture, or type a point or a pattern above.";i.append(y("p",g,"hint"));return}let{about:a}=t,l=y("h2",`Region ${e.toLocaleString("en")}`);n&&l.append(y("\
span","pinned","badge")),i.append(l);let c=y("dl"),h=t.map(e),m=Math.min(a.outputs,12),d=g=>Sn(h,g,t.inputs),p=Array.from({length:m},(g,v)=>y("div",d(v),"formula"));if(a.outputs>m&&p.push(y("div",`… a\
nd ${a.outputs-m} more`)),Dt(c,"map",...p),Dt(c,t.inputs===3?"volume":"area",$(t.areas[e],5)),Dt(c,"neighbours",String(t.neighbours(e).length)),i.append(c),t.depth){let g=Mn(t,e);i.append(En(t,e),g),g.
scrollTop=o}i.append(y("h3","Facets"),Tn(t,e,s))}function En(i,t){let e=y("h3","Pattern"),n=y("button","Copy","small");return n.type="button",n.setAttribute("aria-label","copy the pattern"),n.addEventListener(
"click",()=>{let r=i.pattern(t),s=i.network.widths.map((o,a)=>ke(r,i.network.starts[a],o)).join("|");navigator.clipboard?.writeText(s).then(()=>{n.textContent="Copied"},()=>{})}),e.append(n),e}function ke(i,t,e){
return Array.from(i.subarray(t,t+e),n=>n.toString(36)).join("")}function Mn(i,t){let e=i.pattern(t),n=y("div",void 0,"pattern");n.tabIndex=0;for(let r=0;r<i.depth;r++){let s=i.network.starts[r],o=i.network.
widths[r],a=e.subarray(s,s+o),l=y("div",void 0,r<u.layer?"":"later"),c=i.network.layers[r].slopes.length/o,h=a.reduce((d,p)=>d+(p>0?1:0),0);l.append(y("span",St(i.about,r+1),"name"));let m=y("span",c===
2?`${h} of ${o}`:`${c} pieces`,"count");c===2&&(m.title=`${h} of ${o} neurons are active`),l.append(kn(a,c),m,y("code",ke(e,s,o),"spoken")),n.append(l)}return n}function kn(i,t){let e=y("canvas",void 0,
"boxes"),n=Math.min(i.length,36),r=Math.ceil(i.length/n);[e.width,e.height]=[2*n*(Z+1),2*r*(Z+2)],[e.style.width,e.style.height]=[`${e.width/2}px`,`${e.height/2}px`];let s=e.getContext("2d");return s.
scale(2,2),i.forEach((o,a)=>{let l=o/Math.max(1,t-1);s.fillStyle=l===0?u.dark?"#3a3e4b":"#e1e2e6":u.dark?`rgba(143,176,255,${.45+.55*l})`:`rgba(47,91,208,${.4+.6*l})`,s.fillRect(a%n*(Z+1),Math.floor(a/
n)*(Z+2),Z,Z+1)}),e.setAttribute("aria-hidden","true"),e}function Tn(i,t,e){let n=y("ul",void 0,"facets"),r=i.facets(t);for(let s of r.slice(0,_t)){let o=y("li"),a=s.neurons.map(l=>{let c=l.bend?`, br\
eakpoint ${l.bend}`:"";return`${St(i.about,l.layer)}, neuron ${l.index}${c}`});if(o.append(y("span",a.join(" and ")||"edge of the domain or the frame")),s.behind>=0){let l=y("button",`→ ${s.behind}`);
l.type="button",l.setAttribute("aria-label",`go to neighbour ${s.behind}`),l.addEventListener("click",()=>e(s.behind)),o.append(l)}n.append(o)}return r.length>_t&&n.append(y("li",`… and ${r.length-_t}\
 more`)),n}function Te(i,t){let e=i.toLowerCase().replace(/[^0-9a-z]/g,"");return e.length===t?Uint8Array.from(e,n=>parseInt(n,36)):null}function Le(i,t){let e=i.replace(/−/g,"-").trim().replace(/^[([]|[)\]]$/g,
"").trim().split(/[\s,;]+/),n=e.map(Number);return n.length===t&&e.every(r=>r!=="")&&n.every(Number.isFinite)?n:null}var Pe=5e4,Ne=6;function Ce(i,t){let e=document.createElement("a");e.href=URL.createObjectURL(i),e.download=t,e.click(),setTimeout(()=>URL.revokeObjectURL(e.href),1e3)}function Fe(i){let t=document.createElement(
"canvas"),[e]=i,[n,r]=E()?[0,0]:[e.axisY.width,e.axisX.height],s=n+e.canvas.width,o=Math.round(12*P());t.width=i.length*s+(i.length-1)*o,t.height=e.canvas.height+r;let a=t.getContext("2d");a.fillStyle=
getComputedStyle(document.body).backgroundColor,a.fillRect(0,0,t.width,t.height),i.forEach((l,c)=>{let h=c*(s+o);l.paintSheet();for(let m of l.layers())a.drawImage(m,h+n,0);E()||(a.drawImage(l.axisY,h,
0),a.drawImage(l.axisX,h+n,l.canvas.height))}),t.toBlob(l=>{l&&Ce(l,"regions.png")})}function Re(i){let[t,e]=[i.canvas.clientWidth,i.canvas.clientHeight],n=i.picture,r=[],s=[],o=Ln(i,s);for(let c=0;c<
n.count;c++){let h=n.polygon(c).map(g=>i.toScreen(g)),m=h.map(g=>g[0]),d=h.map(g=>g[1]);if(Math.max(...m)<0||Math.min(...m)>t||Math.max(...d)<0||Math.min(...d)>e)continue;let p=h.map(g=>`${g[0].toFixed(
2)},${g[1].toFixed(2)}`).join("L");r.push(`<path d="M${p}Z" fill="${o(c)}"/>`)}if(r.length>Pe){w("answer").textContent=`${r.length.toLocaleString("en")} regions are in view: zoom in, SVG takes up to ${Pe.
toLocaleString("en")}.`;return}let a=u.edges==="none"?"none":u.dark?"#000":i.shades.values?"#fff":"#28283c",l=[`<svg xmlns="http://www.w3.org/2000/svg" width="${t}" height="${e}" viewBox="0 0 ${t} ${e}\
">`,`<defs>${s.join(`
`)}</defs>`,`<g stroke="${a}" stroke-width="0.5" stroke-opacity="0.6" stroke-linejoin="round">`,...r,"</g>","</svg>"];Ce(new Blob([l.join(`
`)],{type:"image/svg+xml"}),"regions.svg")}function Ln(i,t){let e=i.picture,{starts:n}=e,{colours:r,values:s=new Float32Array,low:o,high:a}=i.shades;if(r){let h=new Uint8Array(r.buffer);return m=>`rgb\
(${h.slice(4*n[m],4*n[m]+3).join()})`}let l=z(),c=h=>{let m=(h-o)/(a-o||1),d=4*Math.round(255*Math.min(1,Math.max(0,m)));return`rgb(${l.slice(d,d+3).join()})`};return h=>{let m=[...s.subarray(n[h],n[h+
1])],[d,p]=[Math.min(...m),Math.max(...m)];if(c(d)===c(p))return c(d);let g=e.map(h).subarray(3*u.output),v=i.toScreen(e.corner(n[h]+m.indexOf(d))),k=(p-d)/(g[0]**2+g[1]**2)*(i.toScreen([1,0])[0]-i.toScreen(
[0,0])[0]),[N,C]=[v[0]+g[0]*k,v[1]-g[1]*k],L=Array.from({length:Ne},(F,D)=>{let Kt=D/(Ne-1);return`<stop offset="${Kt}" stop-color="${c(d+Kt*(p-d))}"/>`}),B=[v[0],v[1],N,C].map(F=>F.toFixed(2));return t.
push(`<linearGradient id="g${h}" gradientUnits="userSpaceOnUse" x1="${B[0]}" y1="${B[1]}" x2="${B[2]}" y2="${B[3]}">${L.join("")}</linearGradient>`),`url(#g${h})`}}var zt=[],x=f.panes.map((i,t)=>new xt(t)),[A]=x,Ht=Math.max(...f.panes.map(i=>i.length)),Et,Wt=!1,Q=!0,Be=null,Ue=0;function _(){return Math.max(1,...x.map(i=>i.cells?.depth??1))}function Yt(){for(let i of x)
i.paint()}function R(){Wt||(Wt=!0,requestAnimationFrame(()=>{Wt=!1,Yt(),clearTimeout(Ue),Ue=window.setTimeout(Pn,250)}))}function Pn(){let i=oe(_());if(Be??=i,!(i===Be&&!location.hash))try{history.replaceState(
null,"",`#${i}`)}catch{}}function G(){let i=x.filter(s=>s.cells).map(s=>s.shade()),t=Math.min(...i.map(s=>s.low)),e=Math.max(...i.map(s=>s.high)),n=u.surface?x.map(s=>s.space.range()).filter(s=>s!==null):
[],r=n.length?{low:Math.min(...n.map(s=>s.low)),high:Math.max(...n.map(s=>s.high))}:null;for(let s of x)s.colour(t,e,r);Mt(),R()}function Mt(){let i=A.cells?A.shades:{low:0,high:1};Ee(A.cells,i,x.some(
t=>t.pinned>=0))}function Xt(i,t){return Math.min(A.canvas.clientWidth/(t[0]-i[0]),A.canvas.clientHeight/(t[1]-i[1]))}function Oe(){let i=Xt(f.low,f.high);return{least:i/4,most:i*5e4}}function Gt(){Q=
!0,M.home();let[i,t]=f.first;[b.x,b.y]=[(i[0]+t[0])/2,(i[1]+t[1])/2],b.zoom=.97*Xt(i,t),R()}function Vt(i,t,e,n){if(E()){M.approach(n),R();return}let[r,s]=i.toPlane(t,e),{least:o,most:a}=Oe();b.zoom=Math.
min(a,Math.max(o,b.zoom*n));let[l,c]=i.toPlane(t,e);_e(r-l,s-c)}function _e(i,t){Q=!1,b.x=Math.min(f.high[0],Math.max(f.low[0],b.x+i)),b.y=Math.min(f.high[1],Math.max(f.low[1],b.y+t)),R()}function Nn(i,t){
M.turn(i,t),R()}function $e(){for(let i of x)i.resize();if(Q&&f.inputs===2){let[i,t]=f.first;b.zoom=.97*Xt(i,t)}Yt()}function De(i,t,e){R();let{picture:n}=i;if(!n||E())return;let r=n.polygon(t),s=Math.
max(...[0,1].map(m=>{let d=r.map(p=>p[m]);return Math.max(...d)-Math.min(...d)})),[o,a]=[i.canvas.clientWidth,i.canvas.clientHeight],l=Math.min(o,a);s*b.zoom<40&&(b.zoom=Math.min(Oe().most,.2*l/Math.max(
s,1e-12)),Q=!1);let[c,h]=i.toScreen(e);c>40&&h>40&&c<o-40&&h<a-40||([b.x,b.y]=e,Q=!1)}function V(){x.forEach((i,t)=>{let{cells:e}=i;if(!e)return;let n=i.pinned>=0?i.pinned:i.hovered;Me(w("panel").children[t],
e,n,{pinned:i.pinned>=0,name:x.length>1?f.names[t]:"",choose:r=>{let s=e.middle(r);at(s),De(i,r,s)}}),Et.show(t,e,n<0?null:e.pattern(n))}),ze(),Mt(),R()}function ze(){if(!f.image||!A.cells)return;let i=x.
find(e=>e.over)?.over??u.place??[b.x,b.y],t=ue(w("image"),A.cells.network,i);w("image-control").hidden=!t}function Cn(i,t,e,n){let{region:r,point:s}=i.at(t,e),o=x.map(l=>l.hovered).join();for(let l of x)
l.over=s,l.hovered=l===i?r:s&&l.cells?l.cells.locate(s):-1,n&&(l===i||!E())&&l.tell(t,e);let a=E()?f.scale/200:1/b.zoom;w("where").textContent=s?s.map(l=>tt(l,a)).join(", "):"",o!==x.map(l=>l.hovered).
join()?V():ze()}function We(){for(let i of x)i.hovered=-1,i.over=null,i.quiet();w("where").textContent="",V()}function at(i){u.place=i,u.marked=null;for(let t of x)t.pinned=i&&t.cells?t.cells.locate(i):
-1;V()}function He(i){let t=A.cells,e=Le(i,f.inputs),n=e?null:Te(i,t.network.neurons),r=e?t.locate(e):n?t.table.find(n):-1;if(!n&&!e){let s=f.inputs===3?"three":"two";w("answer").textContent=`Type ${s}\
 numbers, or ${t.network.neurons} digits: the piece of every neuron.`}else if(r<0)w("answer").textContent=e?"This point is in no region of the list.":"No region has this pattern.";else{w("answer").textContent=
`Region ${r}`;let s=e??t.middle(r);at(s),u.marked=e&&f.inputs===2?e:null,De(A,r,s)}return r}async function Fn(i){let t=f.pictures[i];if(!zt[i]){let e=await Lt(`picture-${i}`,t.arrays);zt[i]=t.inputs===
3?new O(f,t,e):new I(f,t,e)}return zt[i]}async function kt(i){let t=!A.cells||u.layer===_(),e=await Promise.all(f.panes.map(async n=>{let r=n.at(Math.min(i,n.length-1));return r===void 0?null:Fn(r)}));
u.index=i,x.forEach((n,r)=>n.show(e[r])),u.layer=t?_():Math.min(u.layer,_()),A.cells&&(u.output=Math.min(u.output,A.cells.about.outputs-1)),qt(),Tt(),G(),V()}function Rn({depth:i,about:t}){return u.layer>=
i?t.regions:t.after[u.layer-1]}function qt(){let i=x.map(r=>r.cells).filter(r=>r!==null);if(w("time").setAttribute("aria-valuetext",i[0]?.about.label??""),T("time").value=String(u.index),!i.length){w(
"title").textContent=f.title;return}let t=i.map(r=>Rn(r).toLocaleString("en")),e=u.layer<_()?` after layer ${u.layer}`:"";w("title").textContent=`${t.join(" and ")} linear regions${e}`;let n=i.map(({about:r})=>`${r.
network} on ${r.domain}${r.complete?"":", not complete"}`);w("subtitle").textContent=n.join(" · "),w("time-label").textContent=i[0].about.label,x.forEach((r,s)=>{r.caption.hidden=x.length<2,r.caption.
replaceChildren(y("b",f.names[s]),` ${t[s]} regions`)})}function Tt(){let{cells:i}=A,t=(s,o)=>{w(s).hidden=!o};if(t("find",i!==null),t("controls",i!==null),t("mesh-control",f.meshes.length>0&&i!==null),
t("cut-control",f.inputs===3),t("apart-control",f.inputs===3&&i!==null),t("surface-control",f.inputs===2),t("svg",!E()),U("cut").value=String(u.cutAxis),T("cut-at").value=String(u.cutAt),T("apart").value=
String(u.apart),Ve(),!i)return;let e=Math.max(...x.map(s=>s.cells?.about.outputs??1)),n=_();T("layer").max=String(n),T("layer").value=String(u.layer),t("layer-control",n>1),Ge();let r=u.colour==="valu\
e"||u.colour==="gradient"||u.surface;if(t("output-control",e>1&&r),U("output").length!==e){let s=o=>new Option(`y${o+1}`,String(o));U("output").replaceChildren(...Array.from({length:e},(o,a)=>s(a)))}U(
"output").value=String(u.output),Ie("colour","bends",n>1),Ie("edges","layers",n>1&&!E()),E()&&u.edges==="layers"&&(u.edges="plain"),U("colour").value=u.colour,U("edges").value=u.edges,t("decision-cont\
rol",!E()&&Bn()),t("points-control",f.points.length>0&&!u.surface),T("decision").checked=u.decision,T("points").checked=u.points,T("mesh").checked=u.mesh}function Ie(i,t,e){let n=[...U(i).options].find(
r=>r.value===t);n.hidden=n.disabled=!e}function Bn(){return x.some(({picture:i})=>i?i.network.outputs>2||i.count>1e5||i.decisionBoundary.length>0:!1)}function Ge(){if(w("layer-label").textContent=`${u.
layer} of ${_()}`,!A.cells?.depth)return;let i=Math.min(u.layer,A.cells.depth);w("layer").setAttribute("aria-valuetext",`up to ${St(A.cells.about,i)}`)}function Ve(){w("cut-at").hidden=w("cut-label").
hidden=u.cutAxis<0,!(f.inputs!==3||u.cutAxis<0)&&(w("cut-label").textContent=tt(A.space.planeAt(),f.scale/100))}function Un(){u.playing?(clearInterval(u.playing),u.playing=null):u.playing=window.setInterval(
()=>{kt((u.index+1)%Ht)},700),w("play").textContent=u.playing?"❚❚":"▶",w("play").setAttribute("aria-label",u.playing?"pause":"play")}function je(i){u.dark=i,document.documentElement.classList.toggle(
"dark",i),w("theme").textContent=i?"Light":"Dark",!(!A.cells&&!f.meshes.length)&&(A.cells&&G(),Et.refresh(),V())}function jt(i){u.surface=i,w("plane-view").setAttribute("aria-pressed",String(!i)),w("s\
urface-view").setAttribute("aria-pressed",String(i)),We(),Tt(),G()}function Ye(i){u.panel=i,document.documentElement.classList.toggle("no-panel",!i),w("panel-toggle").setAttribute("aria-pressed",String(
i)),R()}function $n(){let i=()=>[A.canvas.clientWidth/2,A.canvas.clientHeight/2],t=(r,s,o)=>{w(r).addEventListener(s,o)},e=()=>{Tt(),G()},n=()=>{for(let r of x)r.space.showCut();Ve(),R()};t("colour","\
change",()=>{u.colour=U("colour").value,e()}),t("output","change",()=>{u.output=Number(U("output").value),e()}),t("edges","change",()=>{u.edges=U("edges").value,e()}),t("layer","input",()=>{u.layer=Math.
min(Number(T("layer").value),_()),Ge(),qt(),G(),V()}),t("decision","change",()=>{u.decision=T("decision").checked,Mt(),R()}),t("points","change",()=>{u.points=T("points").checked,Mt(),R()}),t("mesh","\
change",()=>{u.mesh=T("mesh").checked,qe()}),t("cut","change",()=>{u.cutAxis=Number(U("cut").value),n()}),t("cut-at","input",()=>{u.cutAt=Number(T("cut-at").value),n()}),t("apart","input",()=>{u.apart=
Number(T("apart").value),G()}),t("find","submit",r=>{r.preventDefault(),He(T("query").value)}),t("zoom-in","click",()=>Vt(A,...i(),1.5)),t("zoom-out","click",()=>Vt(A,...i(),1/1.5)),t("home","click",Gt),
t("plane-view","click",()=>jt(!1)),t("surface-view","click",()=>jt(!0)),t("panel-toggle","click",()=>Ye(!u.panel)),t("time","input",()=>{kt(Number(T("time").value))}),t("play","click",Un),t("theme","c\
lick",()=>je(!u.dark)),t("png","click",()=>Fe(x)),t("svg","click",()=>Re(A)),window.addEventListener("hashchange",()=>{Xe(location.hash.slice(1))}),document.addEventListener("keydown",r=>{r.key==="Esc\
ape"&&at(null)})}async function Xe(i){let t=Bt(i);Ye(u.panel),await kt(u.index),t!==null&&(u.layer=Math.min(t,_())),ae(i)&&(Q=!1),f.inputs===2&&jt(u.surface),qt(),Tt(),A.cells&&G(),V()}async function qe(){
for(let[i,t]of f.meshes.entries())u.mesh?A.space.addMesh(`mesh-${i}`,await Lt(`mesh-${i}`,t.arrays)):A.space.removeMesh(`mesh-${i}`);R()}async function In(){w("panes").append(...x.map(n=>n.figure)),w(
"panel").replaceChildren(...x.map(()=>y("section"))),Et=new vt(w("diagrams"),x.length,R),Et.show(0,null,null),w("film").hidden=Ht<2,T("time").max=String(Ht-1),U("cut").append(...f.axes.slice(0,f.inputs).
map((n,r)=>new Option(`across ${n}`,String(r)))),T("query").placeholder=`${f.inputs===3?"point 1, 0.5, −2":"point 1.5, −2"} or pattern 0110…`;for(let n of x)n.resize();Gt(),je(matchMedia("(prefe\
rs-color-scheme: dark)").matches);let i=new URLSearchParams(f.settings).toString();Bt(i),await Xe(location.hash.slice(1)||i),await qe();let t={home:Gt,hover:Cn,leave:We,move:_e,turn:Nn,pin:at,redraw:R,
zoomAt:Vt};for(let n of x)xe(n,t),Ae(n,t);$n();let e=new ResizeObserver($e);for(let n of x)e.observe(n.canvas);$e(),document.documentElement.dataset.ready="yes",Object.assign(window,{tropicell:{page:f,
state:u,view:b,panes:x,camera:M,find:He,show:kt,pin:at,paint:Yt,drawn:A.drawn,toScreen:n=>A.toScreen(n),toPlane:(n,r)=>A.toPlane(n,r),get picture(){return A.cells}}})}In().catch(i=>{throw w("title").textContent=
"The page could not be shown",w("subtitle").textContent=i.message,i});
